/* SPDX-License-Identifier: Apache-2.0 */
/* One lease: its promise, its use, its processes. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Device, Lease } from "../api/types";
import { bytes, bytesOf, clock, count, date, duration, percent, since } from "../lib/format";
import { machineText } from "../lib/machines";
import { Seen } from "../lib/series";
import { rangeText } from "../lib/share";
import { findingsOf } from "../lib/troubles";
import { Badge } from "../ui/badge";
import { Gauge } from "../ui/gauge";
import { HistorySection } from "../ui/history";
import { href, useMayChange, useSession } from "../ui/hooks";
import { Facts, Page, Section } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { Table } from "../ui/table";
import { useViews } from "../ui/views";
import { ReleaseDialog, ResizeDialog } from "./lease-dialogs";
import { Findings, LeaseState } from "./lease-table";

function factsOf(lease: Lease): [string, string][] {
  const facts: [string, string][] = [
    ["Id", lease.id],
    ["Tenant", lease.tenant],
    ["Device", lease.devices.map((each) => each.name).join(", ") || lease.device],
    ["Program", lease.holder ? machineText(lease)
      : lease.kept ? "kept until it is released" : `${lease.command}, pid ${lease.holder_pid}`],
    ["Class", lease.class],
    ["Cap", lease.cap === null ? "none" : percent(lease.cap)],
    ["Began", `${clock(lease.created_at)}, ${since(lease.created_at)} ago`],
    ["Held", duration(lease.held_seconds)],
    ["Waited", duration(lease.waited_seconds)],
    ["Throttled", duration(lease.throttled_seconds)],
    ["Turns", String(lease.turns)],
    ["Memory refused", count(lease.refusals, "time")],
  ];
  if (lease.in) facts.push(["Standing share", lease.in]);
  if (lease.partition) facts.push(["Partition", `${lease.partition.profile} ${lease.partition.uuid}`]);
  if (lease.share_range)
    facts.push(["Share", `${percent(lease.share)} now, ${rangeText(lease.share_range)} by demand`]);
  if (lease.expires_at) facts.push(["Ends", date(lease.expires_at)]);
  return facts;
}

/* The driver's figures include contexts and loaded code, which no gate sees. */
function Gauges({ lease }: { lease: Lease }) {
  const driver = lease.driver_memory_bytes;
  return (
    <div class="gauges">
      <Gauge name="Compute" used={lease.share_used} promised={lease.share}
        text={`${percent(lease.share_used)} in use, ${percent(lease.share)} ${
          lease.share_range ? "now" : "promised"}`} />
      <Gauge name="Memory" used={lease.memory_used_bytes} promised={lease.memory_bytes}
        text={`${bytesOf(lease.memory_used_bytes, lease.memory_bytes)} in use`} />
      {typeof driver === "number" && <Gauge name="By its driver" used={driver}
        promised={lease.memory_bytes} text={`${bytesOf(driver, lease.memory_bytes)} in use`} />}
    </div>
  );
}

function Found({ lease }: { lease: Lease }) {
  const findings = findingsOf(lease);
  if (findings.length === 0) return null;
  return (
    <Note icon="warn" title="It exceeds its promise"
      tone={findings.some((each) => each.tone === "bad") ? "bad" : "warn"}>
      <ul>{findings.map((each) => <li key={each.words}>{each.words}: {each.text}.</li>)}</ul>
    </Note>
  );
}

function Processes({ lease }: { lease: Lease }) {
  if (lease.processes.length === 0)
    return <p class="quiet-line">No process has opened the device yet.</p>;
  return (
    <Table caption="Processes of the lease" rows={lease.processes} keyOf={(each) => each.pid}
      columns={[
        { head: "Process", isHead: true, cell: (each) => each.pid },
        { head: "Memory", isNumber: true, cell: (each) => bytes(each.memory_used_bytes) },
        { head: "Attached", isNumber: true, cell: (each) => clock(each.attached_at) },
      ]} />
  );
}

function Body({ lease }: { lease: Lease }) {
  const seen = useMemo(() => new Seen(3600), [lease.id]);
  useEffect(() => seen.add(Math.round(Date.now() / 1000), {
    share_used: lease.share_used, share_promised: lease.share,
    memory_used_bytes: lease.memory_used_bytes, memory_quota_bytes: lease.memory_bytes,
  }));

  return (
    <>
      <div class="device-top">
        <LeaseState lease={lease} />
        {lease.overcommit && <Badge tone="warn" icon="warn">Overcommitted</Badge>}
        <Findings lease={lease} />
      </div>
      <Found lease={lease} />
      <Gauges lease={lease} />
      <Facts items={factsOf(lease)} />
      <Section title={count(lease.processes.length, "process", "processes")}>
        <Processes lease={lease} />
      </Section>
      <HistorySection of={`lease:${lease.id}`} seen={seen} />
    </>
  );
}

function Actions({ lease, devices }: { lease: Lease; devices: Device[] }) {
  const [open, setOpen] = useState<"resize" | "release" | null>(null);
  const close = () => setOpen(null);

  if (!useMayChange()) return null;
  return (
    <>
      <button type="button" class="button" disabled={lease.state === "queued"}
        onClick={() => setOpen("resize")}>Resize</button>
      <button type="button" class="button danger" onClick={() => setOpen("release")}>Release</button>
      {open === "resize" && <ResizeDialog lease={lease} devices={devices} onClose={close} />}
      {open === "release" && <ReleaseDialog lease={lease} onClose={close}
        onDone={() => { location.hash = href("leases"); }} />}
    </>
  );
}

export function LeasePage({ id }: { id: string }) {
  const session = useSession();
  const state = useViews();
  const lease = state.phase === "ready"
    ? state.data.leases.find((each) => each.id === id) : undefined;

  return (
    <Page title={lease?.name ?? "Lease"} actions={lease && state.phase === "ready" &&
      <Actions lease={lease} devices={state.data.devices} />}>
      <Loaded state={state} rows={6} retry={() => session.wake()}>
        {() => lease ? <Body lease={lease} />
          : <Note icon="leases" title="This lease has ended">
            <a href={href("leases")}>All leases</a>, or its events in the{" "}
            <a href={href("events", "", { text: id })}>events</a>.
          </Note>}
      </Loaded>
    </Page>
  );
}
