/* SPDX-License-Identifier: Apache-2.0 */
/* Changing a lease that runs, and ending it. */
import { useState } from "preact/hooks";
import { Problem } from "../api/problem";
import type { Device, Lease, LeaseClass } from "../api/types";
import { byReleasing } from "../lib/disturbed";
import { bytes, percent } from "../lib/format";
import { roomOn } from "../lib/model";
import { Confirm, Dialog } from "../ui/dialog";
import { RoomSlider, SelectField } from "../ui/field";
import { useSession } from "../ui/hooks";
import { notify } from "../ui/toasts";

const MIB = 2 ** 20;

export interface Size {
  share: number;
  memory_bytes: number;
  class: LeaseClass;
  cap: number | null;
}

const CLASSES: [LeaseClass, string][] = [
  ["latency", "Latency: served sooner"], ["normal", "Normal"], ["batch", "Batch: served later"],
];

/* Tenths from the share on, and what it is now: a cap below the share makes no sense. */
function capsOf(lease: Lease, size: Size): [string, string][] {
  const tenths = Array.from({ length: 10 }, (_, n) => (n + 1) / 10);
  const known = [...tenths, ...(lease.cap === null ? [] : [lease.cap])];
  const caps = [...new Set(known)].filter((cap) => cap >= size.share || cap === size.cap);
  return [["", "None"], ...caps.sort((a, b) => a - b).map((cap): [string, string] =>
    [String(cap), `At most ${percent(cap)}`])];
}

function changesOf(lease: Lease, size: Size): Partial<Size> {
  const changes: Partial<Size> = {};
  if (Math.abs(size.share - lease.share) > 1e-6) changes.share = size.share;
  if (size.memory_bytes !== lease.memory_bytes) changes.memory_bytes = size.memory_bytes;
  if (size.class !== lease.class) changes.class = size.class;
  if (size.cap !== lease.cap) changes.cap = size.cap;
  return changes;
}

export function ResizeDialog({ lease, devices, proposed, onClose }: {
  lease: Lease; devices: Device[]; proposed?: Omit<Size, "cap">; onClose: () => void;
}) {
  const session = useSession();
  const device = devices.find((each) => each.name === lease.device);
  const [size, setSize] = useState<Size>(() => {
    const { share, memory_bytes, class: kind } = proposed ?? lease;
    return { share, memory_bytes, class: kind, cap: lease.cap };
  });
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const room = device ? roomOn(device, lease) : { share: 1, memory_bytes: lease.memory_bytes };
  const changes = changesOf(lease, size);
  const send = async () => {
    setBusy(true);
    try {
      await session.agent.ask(`/v1/leases/${encodeURIComponent(lease.id)}`,
        { method: "PATCH", json: changes });
      notify(`${lease.name} now has ${percent(size.share)} and ${bytes(size.memory_bytes)}.`);
      await session.leases.refresh();
      onClose();
    } catch (cause) {
      setProblem(Problem.of(cause).message);
      setBusy(false);
    }
  };

  return (
    <Dialog title={`Resize ${lease.name}`} onClose={onClose} isWide>
      <div class="dialog-body">
        <p>{lease.name} of {lease.tenant} on {lease.device} has {percent(lease.share)} and{" "}
          {bytes(lease.memory_bytes)}. Its programs run on.</p>
        <RoomSlider label="Share of the compute" value={size.share} step={0.01} whole={1}
          most={room.share} show={(value) => percent(value)}
          onInput={(share) => setSize({ ...size, share })} />
        <RoomSlider label="Memory" value={size.memory_bytes} step={16 * MIB}
          whole={device?.memory_bytes ?? lease.memory_bytes} most={room.memory_bytes} show={bytes}
          onInput={(memory_bytes) => setSize({ ...size, memory_bytes })} />
        {size.memory_bytes < lease.memory_used_bytes && <p class="hint">It uses{" "}
          {bytes(lease.memory_used_bytes)} now: that stays, and nothing more is let in.</p>}
        <div class="form">
          <SelectField label="Class" value={size.class} options={CLASSES}
            onChange={(value) => setSize({ ...size, class: value as LeaseClass })} />
          <SelectField label="Cap" value={size.cap === null ? "" : String(size.cap)}
            options={capsOf(lease, size)} hint="Even when the device is idle."
            onChange={(value) => setSize({ ...size, cap: value === "" ? null : Number(value) })} />
        </div>
        {problem && <p class="refusal" role="alert">{problem}</p>}
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button" onClick={onClose}>Cancel</button>
        <button type="button" class="button primary" onClick={() => void send()}
          disabled={isBusy || Object.keys(changes).length === 0}>Resize</button>
      </footer>
    </Dialog>
  );
}

export function ReleaseDialog({ lease, onClose, onDone }: {
  lease: Lease; onClose: () => void; onDone?: () => void;
}) {
  const session = useSession();
  const hasProcesses = lease.processes.length > 0;
  const release = async () => {
    await session.agent.ask(
      `/v1/leases/${encodeURIComponent(lease.id)}${hasProcesses ? "?force=true" : ""}`,
      { method: "DELETE" });
    notify(`Released ${lease.name}.`);
    await Promise.all([session.leases.refresh(), session.devices.refresh()]);
    onDone?.();
  };
  return (
    <Confirm title={`Release ${lease.name}?`} isDanger onClose={onClose} onConfirm={release}
      action={hasProcesses ? "End its processes" : "Release"} lines={byReleasing(lease)} />
  );
}
