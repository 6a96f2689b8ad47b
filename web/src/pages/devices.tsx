/* SPDX-License-Identifier: Apache-2.0 */
/* The inventory: all devices, how each can be used, and why not. */
import { useState } from "preact/hooks";
import type { Device, Profile } from "../api/types";
import { byDraining } from "../lib/disturbed";
import { bytes, count, names, percent } from "../lib/format";
import { type DeviceView, promisedOf, STATUS_WORDS, type Status } from "../lib/model";
import { busy, celsius, codecs, watts } from "../lib/readings";
import { StatusBadge } from "../ui/badge";
import { Confirm } from "../ui/dialog";
import { TextField } from "../ui/field";
import { href, useData, useScope, useSession } from "../ui/hooks";
import { Page } from "../ui/page";
import { actOnAll, usePicked } from "../ui/pick";
import { Loaded, Note } from "../ui/states";
import { type Column, Table } from "../ui/table";
import { notify } from "../ui/toasts";
import { useViews } from "../ui/views";

/* The counts or profiles that are valid, shortest first. */
export function validOf(view: DeviceView, profiles: Profile[]): string {
  const own = profiles.filter((each) => each.device === view.name);
  const counts = own.filter((each) => each.scheme === "vf").map((each) => each.most);
  const others = own.filter((each) => each.scheme !== "vf").map((each) => each.profile);
  const parts = [];

  if (others.length > 0) parts.push(names(others, 7));
  if (counts.length > 0) parts.push(`${names(counts.map(String), 18)} functions`);
  return parts.join("; ");
}

function placeOf(view: DeviceView): string {
  const numa = view.numa_node === null || view.numa_node < 0 ? "" : `NUMA node ${view.numa_node}`;
  const vendor = view.model.includes(view.vendor) ? "" : view.vendor;
  return [vendor, numa].filter(Boolean).join(", ");
}

/* Columns for readings of drivers, where at least one driver reports them. */
function readings(views: DeviceView[]): Column<DeviceView>[] {
  const all: [string, (device: Device | null) => number | null | undefined,
    (value: number | null | undefined) => string | null][] = [
    ["Busy (driver)", (device) => device?.utilization, busy],
    ["Power", (device) => device?.power_watts, watts],
    ["Temp.", (device) => device?.temperature_celsius, celsius],
  ];
  return all.filter(([, of]) => views.some((view) => typeof of(view.device) === "number"))
    .map(([head, of, show]) => ({ head, isNumber: true, sort: (view) => of(view.device) ?? -1,
      cell: (view) => show(of(view.device)) ?? "–" }));
}

function columns(profiles: Profile[], views: DeviceView[]): Column<DeviceView>[] {
  return [
    { head: "Device", isHead: true, sort: (view) => view.name,
      cell: (view) => <a href={href("devices", view.name)}>{view.name}</a> },
    { head: "Status", sort: (view) => STATUS_WORDS[view.status], cell: (view) => (
      <>
        <StatusBadge status={view.status} />
        {/* Why it cannot be divided has a column of its own. */}
        {view.reason && view.status !== "fixed" && view.status !== "off" &&
          <span class="reason">{view.reason}</span>}
      </>
    ) },
    { head: "Model", sort: (view) => view.model, cell: (view) => (
      <span class="model">{view.model}<span class="beneath">{placeOf(view)}</span></span>
    ) },
    { head: "Memory", isNumber: true, sort: (view) => view.memory_bytes, cell: (view) => (
      <>{bytes(view.memory_bytes)}<span class="beneath">{count(view.compute_units, "unit")}</span></>
    ) },
    { head: "Enc / dec", isNumber: true, cell: (view) => codecs(view.engines), isMinor: true },
    { head: "Parts", isNumber: true, sort: (view) => view.slots.length,
      cell: (view) => view.slots.length || "–" },
    { head: "Promised", isNumber: true, sort: promisedOf,
      cell: (view) => percent(promisedOf(view)) },
    ...readings(views),
    { head: "Can be divided into", cell: (view) => (
      <span class="valid">{view.cannot_divide || validOf(view, profiles) || "–"}</span>
    ) },
  ];
}

function Counted({ views }: { views: DeviceView[] }) {
  const kinds = Object.keys(STATUS_WORDS) as Status[];
  return (
    <p class="counted">
      {kinds.map((status) => [status, views.filter((view) => view.status === status).length] as const)
        .filter(([, n]) => n > 0)
        .map(([status, n]) => (
          <span key={status}><strong>{n}</strong> {STATUS_WORDS[status].toLowerCase()}</span>
        ))}
    </p>
  );
}

/* Drains the picked devices. */
function DrainDialog({ views, onClose, onDone }: {
  views: DeviceView[]; onClose: () => void; onDone: () => void;
}) {
  const session = useSession();
  const [shown] = useState(views);
  const [reason, setReason] = useState("");
  const drain = (view: DeviceView) =>
    session.agent.ask(`/v1/devices/${encodeURIComponent(view.name)}/drain`,
      { method: "POST", json: reason ? { reason } : {} });
  const send = async () => {
    try {
      await actOnAll(shown, (view) => view.name, drain);
      notify(`${count(shown.length, "device")} being drained.`);
      onDone();
    } finally {
      await session.refreshNode();
    }
  };
  return (
    <Confirm title={`Drain ${count(shown.length, "device")}?`} isDanger onClose={onClose}
      onConfirm={send} action="Drain all" lines={byDraining(shown)}>
      <TextField label="Reason" value={reason} onInput={setReason}
        hint="Shown with each device and recorded in the audit." />
    </Confirm>
  );
}

function Inventory({ views }: { views: DeviceView[] }) {
  const session = useSession();
  const profiles = useData(session.profiles, []);
  const isAdmin = useScope() === "admin";
  const [isDraining, setDraining] = useState(false);
  const picked = usePicked(views, (view) => view.name, (view) => view.name);

  return (
    <>
      <div class="filter">
        <Counted views={views} />
        {isAdmin && <button type="button" class="button" disabled={picked.rows.length === 0}
          onClick={() => setDraining(true)}>Drain picked ({picked.rows.length})</button>}
      </div>
      <Table caption="Devices of this node" rows={views} keyOf={(view) => view.name}
        columns={[...columns(profiles, views), ...(isAdmin ? [picked.column] : [])]} />
      {isDraining && <DrainDialog views={picked.rows} onClose={() => setDraining(false)}
        onDone={picked.clear} />}
    </>
  );
}

export function Devices() {
  const session = useSession();
  const state = useViews();

  return (
    <Page title="Devices" actions={<a class="button primary" href={href("divide")}>Divide devices</a>}>
      <Loaded state={state} rows={8} retry={() => session.wake()}>
        {(all) => all.views.length === 0
          ? <Note icon="devices" title="No device was found">
            <code>cleave doctor</code> says why, and what to do.
          </Note>
          : <Inventory views={all.views} />}
      </Loaded>
    </Page>
  );
}
