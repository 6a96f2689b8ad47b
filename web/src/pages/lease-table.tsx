/* SPDX-License-Identifier: Apache-2.0 */
import type { Lease } from "../api/types";
import { bytes, bytesOf, percent, since } from "../lib/format";
import { rangeText } from "../lib/share";
import { findingsOf } from "../lib/troubles";
import { Badge } from "../ui/badge";
import { Meter } from "../ui/bar";
import { href } from "../ui/hooks";
import { type Column, Table } from "../ui/table";

export function LeaseState({ lease }: { lease: Lease }) {
  if (lease.state === "queued")
    return <Badge icon="wait" tone="warn">{`Queued, place ${lease.queue_position ?? "?"}`}</Badge>;
  if (lease.holder) return <Badge icon="screen" tone="accent">Virtual machine</Badge>;
  /* A lease that is alone holds the device all the time, computing or not. */
  if (lease.holding && lease.share_used > 0.005)
    return <Badge icon="ok" tone="good">Working</Badge>;
  if (lease.waiting) return <Badge icon="wait" tone="accent">In line</Badge>;
  return <Badge>Idle</Badge>;
}

/* The watchdog's findings about the lease. */
export function Findings({ lease }: { lease: Lease }) {
  return (
    <>
      {findingsOf(lease).map((each) => (
        <Badge key={each.words} tone={each.tone} icon="warn" title={each.text}>{each.words}</Badge>
      ))}
    </>
  );
}

/* The ledger counts what passes a gate; the driver may report more. */
function MemoryCell({ lease }: { lease: Lease }) {
  const driver = lease.driver_memory_bytes;
  return (
    <>
      <span class="with-meter">
        <Meter whole={lease.memory_bytes} promised={lease.memory_bytes} used={lease.memory_used_bytes}
          label={`${bytes(lease.memory_used_bytes)} used of ${bytes(lease.memory_bytes)}`} />
        {bytesOf(lease.memory_used_bytes, lease.memory_bytes)}
      </span>
      {typeof driver === "number" && <span class="beneath">{bytes(driver)} by its driver</span>}
    </>
  );
}

const COLUMNS: Column<Lease>[] = [
  { head: "Lease", isHead: true, sort: (lease) => lease.name, cell: (lease) => (
    <a href={href("leases", lease.id)} title={lease.command}>{lease.name}</a>
  ) },
  { head: "Tenant", sort: (lease) => lease.tenant, cell: (lease) => lease.tenant },
  { head: "Device", sort: (lease) => lease.device, cell: (lease) => lease.device },
  { head: "State", sort: (lease) => lease.state, cell: (lease) => (
    <span class="badges"><LeaseState lease={lease} /><Findings lease={lease} /></span>
  ) },
  { head: "Share", isNumber: true, sort: (lease) => lease.share, cell: (lease) => (
    <>
      {percent(lease.share)}
      {lease.share_range && <span class="beneath">{rangeText(lease.share_range)}</span>}
    </>
  ) },
  { head: "Used", isNumber: true, sort: (lease) => lease.share_used, cell: (lease) => (
    <span class="with-meter">
      <Meter whole={Math.max(lease.share, lease.share_used)} promised={lease.share}
        used={lease.share_used}
        label={`${percent(lease.share_used)} used of ${percent(lease.share)}`} />
      {percent(lease.share_used)}
    </span>
  ) },
  { head: "Memory", isNumber: true, sort: (lease) => lease.memory_used_bytes,
    cell: (lease) => <MemoryCell lease={lease} /> },
  { head: "Class", cell: (lease) => lease.class, isMinor: true },
  { head: "Age", isNumber: true, sort: (lease) => -Date.parse(lease.created_at), isMinor: true,
    cell: (lease) => since(lease.created_at) },
];

export function LeaseTable({ leases, more = [] }: { leases: Lease[]; more?: Column<Lease>[] }) {
  return (
    <Table caption="Leases" columns={[...COLUMNS, ...more]} rows={leases}
      keyOf={(lease) => lease.id} />
  );
}
