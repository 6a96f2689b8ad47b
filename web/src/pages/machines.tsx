/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual machines that have partitions, the GPUs that can be assigned, and pools of whole GPUs.
 * cleave assign and cleave pool, which know libvirt and the cluster, change them. */
import type { StandingShare } from "../api/types";
import { bytes, count, names } from "../lib/format";
import {
  type Gpu, GPU_WORDS, gpusOf, type GpuState, type Machine, machinesOf, type Member, membersOf,
  type MemberState,
} from "../lib/machines";
import { Badge } from "../ui/badge";
import { href, useData, useSession } from "../ui/hooks";
import type { IconName } from "../ui/icons";
import { Page, Section } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { type Column, Table } from "../ui/table";
import { type All, useViews } from "../ui/views";

const memoryOf = (machine: Machine) =>
  machine.leases.reduce((sum, lease) => sum + lease.memory_bytes, 0);

const MACHINES: Column<Machine>[] = [
  { head: "Virtual machine", isHead: true, sort: (row) => row.name, cell: (row) => row.name },
  { head: "Has", cell: (row) => (
    <span class="holders">
      {row.leases.map((lease) =>
        <a key={lease.id} href={href("leases", lease.id)}>{lease.device}</a>)}
    </span>
  ) },
  { head: "Memory", isNumber: true, sort: memoryOf, cell: (row) => bytes(memoryOf(row)) },
  { head: "UUID", isMinor: true, cell: (row) => <span class="ids"><code>{row.uuid}</code></span> },
];

const GPU_LOOKS: Record<GpuState, [IconName, string]> = {
  assigned: ["user", "accent"],
  whole: ["ok", "good"],
  partitioned: ["half", "accent"],
  sriov_off: ["info", "warn"],
  none: ["info", "plain"],
};

function GpuStatus({ gpu }: { gpu: Gpu }) {
  const [icon, tone] = GPU_LOOKS[gpu.state] ?? ["info", "plain"];

  return (
    <>
      <Badge icon={icon} tone={tone}>{GPU_WORDS[gpu.state] ?? gpu.state}</Badge>
      {gpu.why && <span class="reason">{gpu.why}</span>}
      {gpu.lease && <span class="reason">
        <a href={href("leases", gpu.lease.id)}>{gpu.lease.command}</a>
      </span>}
    </>
  );
}

const GPUS: Column<Gpu>[] = [
  { head: "GPU", isHead: true, sort: (row) => row.name,
    cell: (row) => <a href={href("devices", row.name)}>{row.name}</a> },
  { head: "Status", sort: (row) => row.state, cell: (row) => <GpuStatus gpu={row} /> },
  { head: "Model", isMinor: true, sort: (row) => row.model, cell: (row) => row.model },
  { head: "Memory", isNumber: true, sort: (row) => row.memory_bytes, cell: (row) => bytes(row.memory_bytes) },
  { head: "Partitions", isNumber: true, sort: (row) => row.partitions, cell: (row) => row.partitions },
  { head: "Possible counts", isNumber: true, cell: (row) => row.counts || "–" },
  { head: "Encode", isNumber: true, isMinor: true, cell: (row) => row.engines?.encode ?? "–" },
  { head: "Decode", isNumber: true, isMinor: true, cell: (row) => row.engines?.decode ?? "–" },
];

const MEMBER_LOOKS: Record<MemberState, [IconName, string, string]> = {
  available: ["ok", "good", "Available"],
  assigned: ["user", "accent", "Assigned"],
  unavailable: ["stop", "warn", "Unavailable"],
};

function MemberStatus({ member }: { member: Member }) {
  const [icon, tone, word] = MEMBER_LOOKS[member.state];

  return (
    <>
      <Badge icon={icon} tone={tone}>{word}</Badge>
      {member.note && <span class="reason">{member.note}</span>}
    </>
  );
}

const MEMBERS: Column<Member>[] = [
  { head: "Pool", sort: (row) => row.pool, cell: (row) => row.pool },
  { head: "Member", isHead: true, sort: (row) => row.name, cell: (row) => row.name },
  { head: "State", sort: (row) => row.state, cell: (row) => <MemberStatus member={row} /> },
  { head: "Assigned to", cell: (row) => row.lease
    ? <a href={href("leases", row.lease.id)}>{row.lease.name}</a>
    : row.state === "assigned" ? "another tenant" : "" },
  { head: "Model", isMinor: true, sort: (row) => row.model, cell: (row) => row.model },
  { head: "Memory", isNumber: true, sort: (row) => row.memory_bytes, cell: (row) => bytes(row.memory_bytes) },
];

/* The names of the pools and how many members each has. */
function Pools({ members }: { members: Member[] }) {
  const pools = [...new Set(members.map((each) => each.pool))].sort();
  const free = (pool: string) =>
    members.filter((each) => each.pool === pool && each.state === "available").length;

  if (members.length === 0)
    return <Note icon="devices" title="No pools">
      <p>A pool has whole GPUs of one model, on several servers: <code>cleave pool create</code></p>
    </Note>;
  return (
    <>
      <p class="hint">{names(pools.map((pool) => `${pool}: ${free(pool)} available`), 8)}</p>
      <Table caption="Members of pools" rows={members} columns={MEMBERS}
        keyOf={(row) => `${row.name}/${row.pool}`} />
    </>
  );
}

function Content({ all, members }: { all: All; members: Member[] }) {
  const machines = machinesOf(all.leases);
  const gpus = gpusOf(all.node, all.devices, all.leases);

  return (
    <>
      <Section title={count(machines.length, "virtual machine")}>
        {machines.length === 0
          ? <Note icon="screen" title="No virtual machine has a partition">
            <p>On the server: <code>cleave assign --profile PROFILE VM</code></p>
          </Note>
          : <Table caption="Virtual machines with what they have" rows={machines} columns={MACHINES}
            keyOf={(row) => row.uuid} />}
      </Section>
      {gpus.length > 0 && <Section title="GPUs">
        <Table caption="GPUs, and whether they can be assigned" rows={gpus} columns={GPUS}
          keyOf={(row) => row.name} />
      </Section>}
      <Section title="Pools"><Pools members={members} /></Section>
    </>
  );
}

export function Machines() {
  const session = useSession();
  const state = useViews();
  const shares = useData(session.list<StandingShare>("/v1/shares"), []);

  return (
    <Page title="Virtual machines">
      <Loaded state={state} rows={6} retry={() => session.wake()}>
        {(all) => <Content all={all} members={membersOf(shares, all.devices, all.leases)} />}
      </Loaded>
    </Page>
  );
}
