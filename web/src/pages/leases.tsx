/* SPDX-License-Identifier: Apache-2.0 */
import { useState } from "preact/hooks";
import type { Device, Lease, LeaseClass, Range } from "../api/types";
import { Problem } from "../api/problem";
import { joinCommand, keptRequest, type NewLease as Wanted, runCommand } from "../lib/command";
import { bytes, percent } from "../lib/format";
import { roomOn, shareable } from "../lib/model";
import { Dialog } from "../ui/dialog";
import { Code, RoomSlider, SelectField, TextField } from "../ui/field";
import { useMayChange, useScope, useSession } from "../ui/hooks";
import { Page } from "../ui/page";
import { usePicked } from "../ui/pick";
import { ShareField } from "../ui/share-field";
import { Loaded, Note } from "../ui/states";
import { useViews } from "../ui/views";
import { LeaseTable } from "./lease-table";
import { ReleaseAllDialog, ReleaseDialog, ResizeDialog } from "./lease-dialogs";

export const CLASSES: [LeaseClass, string][] = [
  ["latency", "Latency: served sooner"],
  ["normal", "Normal"],
  ["batch", "Batch: served later"],
];

const MIB = 2 ** 20;

interface Draft {
  /* Kept: it has an owner, and no process holds it. */
  isKept: boolean;
  user: string;
  name: string;
  device: string;
  share: number;
  range: Range | null;
  memory_bytes: number;
  class: LeaseClass;
  program: string;
}

/* What depends on the device. */
function pick({ device, share, range, memory_bytes }: Draft): Partial<Draft> {
  return { device, share, range, memory_bytes };
}

function start(devices: Device[], name?: string): Draft {
  const device = devices.find((each) => each.name === name) ??
    [...devices].sort((a, b) => roomOn(b).share - roomOn(a).share)[0]!;
  const room = roomOn(device);
  const share = Math.min(0.25, room.share);

  return {
    isKept: false, user: "", name: "", device: device.name, share, range: null, class: "normal",
    program: "python3 train.py",
    memory_bytes: Math.floor(Math.min(room.memory_bytes, share * device.memory_bytes) / MIB) * MIB,
  };
}

/* Creates the kept lease, and then shows how a program starts in it. */
function Keep({ wanted, user, onClose }: { wanted: Wanted; user: string; onClose: () => void }) {
  const session = useSession();
  const [made, setMade] = useState<Lease | null>(null);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const create = async () => {
    setBusy(true);
    setProblem("");
    try {
      setMade(await session.agent.ask<Lease>("/v1/leases",
        { method: "POST", json: keptRequest(wanted, Number(user)) }));
      await Promise.all([session.leases.refresh(), session.devices.refresh()]);
    } catch (cause) {
      setProblem(Problem.of(cause).message);
    }
    setBusy(false);
  };

  return (
    <>
      <div class="dialog-body">
        {made ? <p role="status">{made.name} of {made.tenant} is{" "}
          {made.state === "queued" ? "in the queue" : "created"}. On the node, this starts a program
          in it:</p> : <p>On the node, this starts a program in it:</p>}
        <Code what="the command" text={joinCommand(made?.name ?? (wanted.name || "NAME"), wanted.program)} />
        {problem && <p class="refusal" role="alert">{problem}</p>}
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button" onClick={onClose}>{made ? "Done" : "Cancel"}</button>
        {!made && <button type="button" class="button primary" onClick={() => void create()}
          disabled={isBusy || !/^\d+$/.test(user)}>Create</button>}
      </footer>
    </>
  );
}

const KINDS: [string, string][] = [
  ["run", "A program, and ends with it"],
  ["kept", "Nobody: it is kept until it is released"],
];

function NewLease({ devices, onClose }: { devices: Device[]; onClose: () => void }) {
  const [draft, setDraft] = useState(() => start(devices));
  const device = devices.find((each) => each.name === draft.device) ?? devices[0]!;
  const room = roomOn(device);
  const isFull = room.share <= 0;
  const isAdmin = useScope() === "admin";
  const set = (more: Partial<Draft>) => setDraft({ ...draft, ...more });
  const wanted = { ...draft, cap: null, wait: isFull, share: isFull ? 0.25 : draft.range ?? draft.share };

  return (
    <Dialog title="New lease" onClose={onClose} isWide>
      <div class="dialog-body">
        <div class="form">
          {isAdmin && <SelectField label="Held by" value={draft.isKept ? "kept" : "run"} options={KINDS}
            onChange={(kind) => set({ isKept: kind === "kept" })} />}
          {draft.isKept && <TextField label="User" value={draft.user} required
            onInput={(user) => set({ user })} hint="The uid of its owner on the node." />}
        </div>
        {!draft.isKept && <p>A lease that a program holds begins with a command on the machine. This
          makes the command.</p>}
        <div class="form">
          <SelectField label="Device" value={device.name}
            onChange={(value) => setDraft({ ...draft, ...pick(start(devices, value)) })}
            options={devices.map((each) => [each.name,
              `${each.name}: ${percent(roomOn(each).share)}, ${bytes(roomOn(each).memory_bytes)} free`])} />
          <TextField label="Name" value={draft.name} onInput={(name) => set({ name })}
            hint="If empty, the name is made from the program's." />
        </div>
        <ShareField value={draft} room={room.share} onChange={set} />
        <RoomSlider label="Memory" value={draft.memory_bytes} step={64 * MIB}
          whole={device.memory_bytes} most={room.memory_bytes} show={bytes}
          onInput={(memory_bytes) => set({ memory_bytes })} />
        <div class="form">
          <SelectField label="Class" value={draft.class} options={CLASSES}
            onChange={(value) => set({ class: value as LeaseClass })} />
          <TextField label="Program" value={draft.program} onInput={(program) => set({ program })} />
        </div>
        {isFull && <Note icon="wait" tone="warn" title="Nothing is free there now">
          The lease queues for it{!draft.isKept && <>, with <code>--wait</code></>}.</Note>}
        {!draft.isKept && <Code what="the command" text={runCommand(wanted)} />}
      </div>
      {draft.isKept && <Keep wanted={wanted} user={draft.user} onClose={onClose} />}
    </Dialog>
  );
}

interface Filter {
  text: string;
  state: string;
}

function matches(lease: Lease, filter: Filter): boolean {
  const all = `${lease.name} ${lease.tenant} ${lease.device} ${lease.command} ${lease.id}`;
  return (filter.state === "" || lease.state === filter.state) &&
    all.toLowerCase().includes(filter.text.toLowerCase());
}

function List({ leases, devices }: { leases: Lease[]; devices: Device[] }) {
  const [filter, setFilter] = useState<Filter>({ text: "", state: "" });
  const [resized, setResized] = useState<Lease | null>(null);
  const [released, setReleased] = useState<Lease | null>(null);
  const [isReleasing, setReleasing] = useState(false);
  const shown = leases.filter((lease) => matches(lease, filter));
  const picked = usePicked(shown, (lease) => lease.id, (lease) => lease.name);
  const mayChange = useMayChange();

  if (leases.length === 0)
    return <Note icon="leases" title="No leases">
      <p>One begins with <code>cleave run --share 0.3 -- PROGRAM</code>; “New lease” makes the
        command.</p>
    </Note>;
  return (
    <>
      <div class="filter">
        <TextField label="Filter" value={filter.text}
          onInput={(text) => setFilter({ ...filter, text })} />
        <SelectField label="State" value={filter.state}
          onChange={(state) => setFilter({ ...filter, state })}
          options={[["", "All"], ["active", "Active"], ["queued", "Queued"]]} />
        <p class="hint" role="status">{shown.length} of {leases.length}</p>
        {mayChange && <button type="button" class="button" disabled={picked.rows.length === 0}
          onClick={() => setReleasing(true)}>Release picked ({picked.rows.length})</button>}
      </div>
      <LeaseTable leases={shown} more={!mayChange ? [] : [picked.column, { head: "", cell: (lease) => (
        <span class="row-actions">
          <button type="button" class="button small" disabled={lease.state === "queued"}
            onClick={() => setResized(lease)}>Resize<span class="sr"> {lease.name}</span></button>
          <button type="button" class="button small" onClick={() => setReleased(lease)}>
            Release<span class="sr"> {lease.name}</span></button>
        </span>
      ) }]} />
      {resized && <ResizeDialog lease={resized} devices={devices} onClose={() => setResized(null)} />}
      {isReleasing && <ReleaseAllDialog leases={picked.rows} onClose={() => setReleasing(false)}
        onDone={picked.clear} />}
      {released && <ReleaseDialog lease={released} onClose={() => setReleased(null)} />}
    </>
  );
}

export function Leases() {
  const session = useSession();
  const state = useViews();
  const [isNew, setNew] = useState(false);
  const devices = state.phase === "ready" ? shareable(state.data.devices) : [];

  return (
    <Page title="Leases" actions={
      <button type="button" class="button primary" disabled={devices.length === 0}
        onClick={() => setNew(true)}>New lease</button>
    }>
      <Loaded state={state} rows={6} retry={() => session.wake()}>
        {(all) => <List leases={all.leases} devices={all.devices} />}
      </Loaded>
      {isNew && devices.length > 0 && <NewLease devices={devices} onClose={() => setNew(false)} />}
    </Page>
  );
}
