/* SPDX-License-Identifier: Apache-2.0 */
/* One device: its properties, its parts, its processes, and cordon and drain. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Device as DeviceObject, Lease } from "../api/types";
import { bytes, count, names, percent } from "../lib/format";
import { holderText } from "../lib/machines";
import { type DeviceView, memoryPromisedOf, promisedOf, usedOf } from "../lib/model";
import { choicesOf } from "../lib/configure";
import { celsius, energy, enginesLine, watts } from "../lib/readings";
import { Seen } from "../lib/series";
import { canForget } from "../lib/troubles";
import { StatusBadge } from "../ui/badge";
import { DeviceBar } from "../ui/bar";
import { Confirm } from "../ui/dialog";
import { TextField } from "../ui/field";
import { HistorySection } from "../ui/history";
import { href, useData, useScope, useSession } from "../ui/hooks";
import { Facts, Page, Section } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { Table } from "../ui/table";
import { notify } from "../ui/toasts";
import { useViews } from "../ui/views";
import { DeviceProcesses } from "./device-processes";
import { DriverGauges, HealthNote } from "./device-readings";
import { LeaseTable } from "./lease-table";
import { PartitionTable } from "./partition-table";

type Act = "cordon" | "uncordon" | "drain" | "forget";

const WORDS: Record<Act, { title: string; done: string; lines: (view: DeviceView) => string[] }> = {
  cordon: {
    title: "Cordon", done: "is cordoned: it takes no new leases.",
    lines: (view) => [`${view.name} takes no new leases.`, "Programs on it continue."],
  },
  uncordon: {
    title: "Uncordon", done: "takes leases again.",
    lines: (view) => [`${view.name} takes leases again, and its queue moves.`],
  },
  drain: {
    title: "Drain", done: "is being drained.",
    lines: (view) => [`${view.name} takes no new leases. Its leases may end by themselves.`,
      view.leases.length + view.slots.flatMap((slot) => slot.leases).length > 0
        ? `On it now: ${names([...view.leases, ...view.slots.flatMap((slot) => slot.leases)]
          .map(holderText))}.`
        : "No lease is on it now."],
  },
  forget: {
    title: "Acknowledge", done: "is acknowledged: earlier errors no longer count.",
    lines: (view) => [`Errors that the driver of ${view.name} reported once no longer count.`,
      "Errors that it still reports remain."],
  },
};

function ServiceDialog({ act, view, onClose }: { act: Act; view: DeviceView; onClose: () => void }) {
  const session = useSession();
  const [reason, setReason] = useState("");
  const words = WORDS[act];
  const takesReason = act === "cordon" || act === "drain";
  const send = async () => {
    await session.agent.ask<DeviceObject>(
      `/v1/devices/${encodeURIComponent(view.name)}/${act === "forget" ? "uncordon" : act}`,
      { method: "POST", json: reason && takesReason ? { reason } : {} });
    notify(`${view.name} ${words.done}`);
    await session.refreshNode();
  };
  return (
    <Confirm title={`${words.title} ${view.name}`} lines={words.lines(view)} action={words.title}
      isDanger={act === "drain"} onClose={onClose} onConfirm={send}>
      {takesReason && <TextField label="Reason" value={reason} onInput={setReason}
        hint="Shown with the device and recorded in the audit." />}
    </Confirm>
  );
}

function Actions({ view }: { view: DeviceView }) {
  const [act, setAct] = useState<Act | null>(null);
  const isAdmin = useScope() === "admin";
  const isOut = view.device?.cordoned === true;
  /* An agent that supports cordons has the field for each device. */
  const canCordon = isAdmin && view.device?.cordoned !== undefined;

  return (
    <>
      {canCordon && !isOut && canForget(view.device) &&
        <button type="button" class="button" onClick={() => setAct("forget")}>Acknowledge errors</button>}
      {canCordon && !isOut &&
        <button type="button" class="button" onClick={() => setAct("cordon")}>Cordon</button>}
      {canCordon && !isOut &&
        <button type="button" class="button" onClick={() => setAct("drain")}>Drain</button>}
      {canCordon && isOut &&
        <button type="button" class="button" onClick={() => setAct("uncordon")}>Uncordon</button>}
      {view.schemes.length > 0 && <a class="button primary"
        href={href("divide", "", { device: view.name })}>Divide</a>}
      {act && <ServiceDialog act={act} view={view} onClose={() => setAct(null)} />}
    </>
  );
}

const NOT_SAID = "not said";

function factsOf(view: DeviceView): [string, string][] {
  const device = view.device;
  const facts: [string, string][] = [
    ["Model", view.model],
    ["Vendor", view.vendor],
    ["Driver", view.driver],
    ["UUID", view.uuid],
    ["Address", view.pci_address || "–"],
    ["NUMA node", view.numa_node === null || view.numa_node < 0 ? "–" : String(view.numa_node)],
    ["Memory", bytes(view.memory_bytes)],
    ["Compute units", String(view.compute_units)],
    ["Engines", enginesLine(view.engines)],
    ["Promised", `${percent(promisedOf(view))}, ${bytes(memoryPromisedOf(view))}`],
    ["Used in leases now", percent(usedOf(view))],
    ["Power", watts(device?.power_watts) ?? NOT_SAID],
    ["Temperature", celsius(device?.temperature_celsius) ?? NOT_SAID],
    ["Energy", energy(device?.energy_joules) ?? NOT_SAID],
  ];
  if (view.hive) facts.push(["Hive", view.hive]);
  return facts;
}

function Valid({ view }: { view: DeviceView }) {
  const session = useSession();
  const choices = choicesOf(useData(session.profiles, []), [view.name]);

  if (view.cannot_divide)
    return <Note icon="info" title="Cannot be divided">{view.cannot_divide}</Note>;
  if (choices.length === 0) return <p class="quiet-line">No driver reports how it can be divided.</p>;
  return (
    <Table caption={`What ${view.name} can be divided into`} rows={choices}
      keyOf={(each) => each.profile} columns={[
        { head: "Profile", isHead: true, cell: (each) => <code>{each.profile}</code> },
        { head: "Each gets", isNumber: true, sort: (each) => each.memory_bytes,
          cell: (each) => bytes(each.memory_bytes) },
        { head: "Units", isNumber: true, cell: (each) => each.compute_units || "–" },
        { head: "Engines", isMinor: true, cell: (each) => enginesLine(each.engines) },
        { head: "At most", isNumber: true, cell: (each) => each.most },
        { head: "Fit now", isNumber: true, cell: (each) => each.fits },
        { head: "Note", cell: (each) => each.note || "–", isMinor: true },
      ]} />
  );
}

function useSeen(view: DeviceView | undefined): Seen {
  const seen = useMemo(() => new Seen(3600), [view?.name]);
  useEffect(() => {
    if (view) seen.add(Math.round(Date.now() / 1000), {
      share_used: usedOf(view),
      share_promised: promisedOf(view),
      memory_used_bytes: view.leases.reduce((sum, lease) => sum + lease.memory_used_bytes, 0),
      memory_quota_bytes: memoryPromisedOf(view),
    });
  });
  return seen;
}

function Processes({ device, leases }: { device: DeviceObject; leases: Lease[] }) {
  const seen = count(device.processes?.length ?? 0, "process", "processes");
  return <Section title={`${seen} seen on it`}><DeviceProcesses device={device} leases={leases} /></Section>;
}

function Body({ view }: { view: DeviceView }) {
  const seen = useSeen(view);
  const isSick = view.health !== null && view.health.state !== "ok";
  const leases = [...view.leases, ...view.slots.flatMap((slot) => slot.leases), ...view.queued];

  return (
    <>
      <div class="device-top">
        <StatusBadge status={view.status} />
        {view.status !== "cordoned" && view.device?.cordoned && <StatusBadge status="cordoned" />}
        {view.reason && !isSick && <span class="reason">{view.reason}</span>}
      </div>
      <HealthNote view={view} />
      <DeviceBar view={view} />
      <Facts items={factsOf(view)} />
      <Section title="As the driver reports"><DriverGauges view={view} /></Section>
      {view.slots.length > 0 && (
        <Section title={count(view.slots.length, "partition")}>
          <PartitionTable views={[view]} />
        </Section>
      )}
      <Section title={count(leases.length, "lease")}>
        {leases.length > 0 ? <LeaseTable leases={leases} />
          : <p class="quiet-line">No lease is on it.</p>}
      </Section>
      {view.device && <Processes device={view.device} leases={leases} />}
      <Section title="Can be divided into"><Valid view={view} /></Section>
      <HistorySection of={`device:${view.name}`} seen={seen} />
    </>
  );
}

export function DevicePage({ name }: { name: string }) {
  const session = useSession();
  const state = useViews();
  const view = state.phase === "ready"
    ? state.data.views.find((each) => each.name === name) : undefined;

  return (
    <Page title={name} actions={view && <Actions view={view} />}>
      <Loaded state={state} rows={8} retry={() => session.wake()}>
        {() => view ? <Body view={view} />
          : <Note icon="devices" title={`There is no device ${name}`}>
            <a href={href("devices")}>All devices</a>
          </Note>}
      </Loaded>
    </Page>
  );
}
