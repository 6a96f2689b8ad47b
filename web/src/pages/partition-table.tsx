/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions with their holders, and the action that destroys one. */
import { useState } from "preact/hooks";
import type { Operation } from "../api/types";
import { byDestroying, holdersOf } from "../lib/disturbed";
import { bytes } from "../lib/format";
import { holderText } from "../lib/machines";
import type { DeviceView, Slot } from "../lib/model";
import { Badge } from "../ui/badge";
import { Confirm } from "../ui/dialog";
import { href, useScope, useSession } from "../ui/hooks";
import { follow } from "../ui/operation";
import { type Column, Table } from "../ui/table";
import { notify } from "../ui/toasts";

interface Row {
  view: DeviceView;
  slot: Slot;
}

function Holders({ slot }: { slot: Slot }) {
  const held = holdersOf(slot.partition).filter((holder) =>
    !slot.leases.some((lease) => lease.id === holder.lease));

  if (slot.leases.length + held.length === 0 && slot.partition.half_made)
    return <Badge icon="warn" tone="warn">Incomplete</Badge>;
  if (slot.leases.length + held.length === 0)
    return <span class="free">{(slot.device?.share_promised ?? 0) > 0.005
      ? "free; set aside as standing shares" : "free"}</span>;
  return (
    <span class="holders">
      {slot.leases.map((lease) => (
        <a key={lease.id} href={href("leases", lease.id)}>{holderText(lease)}</a>
      ))}
      {held.map((holder) => <span key={holder.text}>{holder.text}</span>)}
    </span>
  );
}

function columns(destroy: ((row: Row) => void) | null): Column<Row>[] {
  const all: Column<Row>[] = [
    { head: "Partition", isHead: true, sort: (row) => row.slot.name, cell: (row) => row.slot.name },
    { head: "Profile", sort: (row) => row.slot.profile, cell: (row) => <code>{row.slot.profile}</code> },
    { head: "Holder", cell: (row) => <Holders slot={row.slot} /> },
    { head: "Id or path", cell: (row) => (
      <span class="ids">
        {row.slot.partition.uuid && <code>{row.slot.partition.uuid}</code>}
        {row.slot.partition.address && <code>{row.slot.partition.address}</code>}
      </span>
    ) },
    { head: "Memory", isNumber: true, sort: (row) => row.slot.partition.memory_bytes,
      cell: (row) => bytes(row.slot.partition.memory_bytes) },
    { head: "Units", isNumber: true, cell: (row) => row.slot.partition.compute_units || "–" },
    { head: "Encode", isNumber: true, isMinor: true,
      cell: (row) => row.slot.partition.engines?.encode ?? "–" },
    { head: "Decode", isNumber: true, isMinor: true,
      cell: (row) => row.slot.partition.engines?.decode ?? "–" },
  ];
  if (!destroy) return all;
  return [...all, { head: "", cell: (row) => (
    <button type="button" class="button small" onClick={() => destroy(row)}>
      Destroy<span class="sr"> {row.slot.name}</span>
    </button>
  ) }];
}

export function PartitionTable({ views }: { views: DeviceView[] }) {
  const session = useSession();
  const isAdmin = useScope() === "admin";
  const [doomed, setDoomed] = useState<Row | null>(null);
  const rows = views.flatMap((view) => view.slots.map((slot) => ({ view, slot })));
  const destroy = async () => {
    const name = doomed!.slot.name;
    const operation = await session.agent.ask<Operation>(
      `/v1/partitions?name=${encodeURIComponent(name)}`, { method: "DELETE" });
    const ended = await follow(session, operation);
    if (ended.state !== "done") throw new Error(ended.error?.detail ?? `It ended as ${ended.state}`);
    notify(`Destroyed ${name}.`);
    await session.refreshNode();
  };

  return (
    <>
      <Table caption="Partitions" rows={rows} keyOf={(row) => row.slot.name}
        columns={columns(isAdmin ? setDoomed : null)} />
      {doomed && (
        <Confirm title={`Destroy ${doomed.slot.name}?`} action="Destroy" isDanger
          lines={byDestroying(doomed.slot.partition, doomed.slot.leases)}
          onClose={() => setDoomed(null)} onConfirm={destroy} />
      )}
    </>
  );
}
