/* SPDX-License-Identifier: Apache-2.0 */
/* Services of compose files: their state and load, their replicas in devices, and what their
 * supervisors decided.  The supervisors publish this, and take actions. */
import { useState } from "preact/hooks";
import { pace } from "../api/session";
import type { Decision, Lease, Project } from "../api/types";
import { clock, count, percent } from "../lib/format";
import {
  findProject, leftOut, projectKey, reasonOf, type ReplicaRow, replicasOf, replicasText, rowsOf,
  type ServiceRow, stateWords, type Tone, toneOf,
} from "../lib/services";
import { Badge } from "../ui/badge";
import { Meter } from "../ui/bar";
import { href, useData, useMayChange, useResource, useSession } from "../ui/hooks";
import type { IconName } from "../ui/icons";
import { Page, Section } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { type Column, Table } from "../ui/table";
import { logsColumn, LogsDialog, STEPS } from "./service-actions";

const ICONS: Record<Tone, IconName> = {
  good: "ok", accent: "wait", warn: "warn", bad: "stop", plain: "info",
};

const NO_LEASES: Lease[] = [];

function State({ state, replace }: { state: string; replace?: IconName }) {
  const tone = toneOf(state);
  return <Badge icon={replace ?? ICONS[tone]} tone={tone}>{stateWords(state)}</Badge>;
}

function Use({ use }: { use: number }) {
  return (
    <span class="with-meter">
      <Meter whole={1} promised={1} used={use} label={`${percent(use)} of its promised compute used`} />
      {percent(use)}
    </span>
  );
}

const hasLease = ({ service }: ServiceRow) => service.replicas.some((each) => each.lease);

const SERVICE: Column<ServiceRow>[] = [
  { head: "Service", isHead: true, sort: (row) => row.service.name, cell: (row) => row.service.name },
  { head: "State", sort: (row) => row.service.state, cell: (row) => (
    <>
      <State state={row.service.state} replace={row.service.state === "asleep" ? "moon" : undefined} />
      <span class="reason">{reasonOf(row.service)}</span>
    </>
  ) },
  { head: "Replicas", isNumber: true, sort: (row) => row.service.ready,
    cell: (row) => replicasText(row.service) },
  { head: "Used", isNumber: true, sort: (row) => row.service.use,
    cell: (row) => (hasLease(row) ? <Use use={row.service.use} /> : "–") },
  { head: "In flight", isNumber: true, sort: (row) => row.service.in_flight,
    cell: (row) => row.service.in_flight },
  { head: "Requests", isNumber: true, isMinor: true, sort: (row) => row.service.requests,
    cell: (row) => row.service.requests },
  { head: "Ports", isMinor: true, cell: (row) => row.service.ports.join(", ") || "–" },
];

const PROJECT: Column<ServiceRow> = {
  head: "Project", sort: (row) => projectKey(row.project), cell: (row) => (
    <>
      <a href={href("services", projectKey(row.project))}>{row.project.name}</a>
      <span class="beneath">{row.project.tenant}</span>
    </>
  ),
};

const REPLICA: Column<ReplicaRow>[] = [
  { head: "Replica", isHead: true, sort: (row) => row.replica.name, cell: (row) => row.lease
    ? <a href={href("leases", row.lease.id)}>{row.replica.name}</a> : row.replica.name },
  { head: "Service", sort: (row) => row.service.name, cell: (row) => row.service.name },
  { head: "State", sort: (row) => row.replica.state, cell: (row) => (
    <>
      <State state={row.replica.state} />
      {row.replica.why && <span class="reason">{row.replica.why}</span>}
    </>
  ) },
  { head: "Device", sort: (row) => row.lease?.device ?? "", cell: (row) => row.lease?.state === "active"
    ? <a href={href("devices", row.lease.device.split("/")[0])}>{row.lease.device}</a>
    : row.replica.lease ? "none yet" : "–" },
  { head: "Share", isNumber: true, sort: (row) => row.lease?.share ?? 0,
    cell: (row) => (row.lease ? percent(row.lease.share) : "–") },
  { head: "Used", isNumber: true, sort: (row) => row.lease?.share_used ?? 0, cell: (row) => row.lease ? (
    <span class="with-meter">
      <Meter whole={Math.max(row.lease.share, row.lease.share_used)} promised={row.lease.share}
        used={row.lease.share_used}
        label={`${percent(row.lease.share_used)} used of ${percent(row.lease.share)}`} />
      {percent(row.lease.share_used)}
    </span>
  ) : "–" },
  { head: "In flight", isNumber: true, sort: (row) => row.replica.in_flight,
    cell: (row) => row.replica.in_flight },
];

const DECISION: Column<Decision>[] = [
  { head: "Time", isNumber: true, sort: (row) => row.id, cell: (row) => clock(row.time) },
  { head: "Service", sort: (row) => row.service, cell: (row) => row.service || "the project" },
  { head: "What", isHead: true, cell: (row) => row.what },
  { head: "Why", cell: (row) => row.why },
];

function useProjects() {
  return useResource(useSession().list<Project>("/v1/projects", () => pace.ms));
}

function Body({ project }: { project: Project }) {
  const leases = useData(useSession().leases, NO_LEASES);
  const replicas = replicasOf(project, leases);
  const left = leftOut(project);
  const mayChange = useMayChange();
  /* Open also when the replica has ended. */
  const [read, setRead] = useState("");

  return (
    <>
      <Section title={count(project.services.length, "service")}>
        <Table caption="Services" columns={mayChange ? [...SERVICE, STEPS] : SERVICE}
          rows={rowsOf([project])}
          keyOf={(row) => row.service.name} />
      </Section>
      <Section title={count(replicas.length + left, "replica")}>
        {replicas.length === 0 ? <p class="quiet-line">No replica runs.</p>
          : <Table caption="Replicas in their devices" rows={replicas}
            columns={mayChange ? [...REPLICA, logsColumn(setRead)] : REPLICA}
            keyOf={(row) => row.replica.name} />}
        {left > 0 && <p class="hint">{count(left, "replica is", "replicas are")} not shown.</p>}
      </Section>
      <Section title="Decisions">
        <Table caption="Decisions of the supervisor" columns={DECISION}
          rows={[...project.decisions].reverse()} keyOf={(row) => row.id} />
      </Section>
      {read && <LogsDialog project={project} replica={read} onClose={() => setRead("")} />}
    </>
  );
}

/* A project that is gone has no supervisor any more: its services may still run. */
export function ProjectPage({ name }: { name: string }) {
  const session = useSession();
  const state = useProjects();
  const project = state.phase === "ready" ? findProject(state.data, name) : undefined;

  return (
    <Page title={project?.name ?? "Project"}
      actions={<a class="button" href={href("services")}>All services</a>}>
      <Loaded state={state} rows={6} retry={() => session.wake()}>
        {() => project ? <Body project={project} />
          : <Note icon="services" title="No supervisor of this project runs">
            <p>On the server: <code>cleave up</code> starts it again.</p>
          </Note>}
      </Loaded>
    </Page>
  );
}

export function Services() {
  const session = useSession();
  const state = useProjects();
  const mayChange = useMayChange();
  const columns = [SERVICE[0]!, PROJECT, ...SERVICE.slice(1), ...(mayChange ? [STEPS] : [])];

  return (
    <Page title="Services">
      <Loaded state={state} rows={6} retry={() => session.wake()}>
        {(projects) => projects.length === 0
          ? <Note icon="services" title="No services">
            <p>On the server: <code>cleave up</code> starts those of a compose file.</p>
          </Note>
          : <Table caption="Services" columns={columns}
            rows={rowsOf(projects)} keyOf={(row) => `${projectKey(row.project)}/${row.service.name}`} />}
      </Loaded>
    </Page>
  );
}
