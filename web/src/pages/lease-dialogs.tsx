/* SPDX-License-Identifier: Apache-2.0 */
/* Dialogs that resize and release a running lease. */
import { useState } from "preact/hooks";
import { Problem } from "../api/problem";
import type { Session } from "../api/session";
import type { Device, Lease, LeaseClass } from "../api/types";
import { byReleasing, byReleasingAll } from "../lib/disturbed";
import { bytes, count, percent } from "../lib/format";
import { roomOn } from "../lib/model";
import { changesOf, rangeText, type Size, sizeOf } from "../lib/share";
import { Confirm, Dialog } from "../ui/dialog";
import { RoomSlider, SelectField } from "../ui/field";
import { useSession } from "../ui/hooks";
import { actOnAll } from "../ui/pick";
import { ShareField } from "../ui/share-field";
import { notify } from "../ui/toasts";

const MIB = 2 ** 20;

const CLASSES: [LeaseClass, string][] = [
  ["latency", "Latency: served sooner"], ["normal", "Normal"], ["batch", "Batch: served later"],
];

/* Tenths from the share up, and the current cap: a cap below the share is useless. */
function capsOf(lease: Lease, size: Size): [string, string][] {
  const least = size.range?.most ?? size.share;
  const tenths = Array.from({ length: 10 }, (_, n) => (n + 1) / 10);
  const known = [...tenths, ...(lease.cap === null ? [] : [lease.cap])];
  const caps = [...new Set(known)].filter((cap) => cap >= least || cap === size.cap);
  return [["", "None"], ...caps.sort((a, b) => a - b).map((cap): [string, string] =>
    [String(cap), `At most ${percent(cap)}`])];
}

function shareText(size: Size): string {
  return size.range ? rangeText(size.range) : percent(size.share);
}

export async function resize(session: Session, lease: Lease, to: Size): Promise<void> {
  await session.agent.ask(`/v1/leases/${encodeURIComponent(lease.id)}`,
    { method: "PATCH", json: changesOf(sizeOf(lease), to) });
  notify(`${lease.name} now has ${shareText(to)} and ${bytes(to.memory_bytes)}.`);
  await Promise.all([session.leases.refresh(), session.devices.refresh()]);
}

export function ResizeDialog({ lease, devices, proposed, onClose }: {
  lease: Lease; devices: Device[]; proposed?: Size; onClose: () => void;
}) {
  const session = useSession();
  const device = devices.find((each) => each.name === lease.device);
  const [size, setSize] = useState<Size>(() => proposed ?? sizeOf(lease));
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const room = device ? roomOn(device, lease) : { share: 1, memory_bytes: lease.memory_bytes };
  const changes = changesOf(sizeOf(lease), size);
  const send = async () => {
    setBusy(true);
    try {
      await resize(session, lease, size);
      onClose();
    } catch (cause) {
      setProblem(Problem.of(cause).message);
      setBusy(false);
    }
  };

  return (
    <Dialog title={`Resize ${lease.name}`} onClose={onClose} isWide>
      <div class="dialog-body">
        <p>{lease.name} of {lease.tenant} on {lease.device} has {shareText(sizeOf(lease))} and{" "}
          {bytes(lease.memory_bytes)}. Its programs run on.</p>
        <ShareField value={size} room={room.share} onChange={(value) => setSize({ ...size, ...value })} />
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

export async function release(session: Session, lease: Lease): Promise<void> {
  const force = lease.processes.length > 0 ? "?force=true" : "";
  await session.agent.ask(`/v1/leases/${encodeURIComponent(lease.id)}${force}`, { method: "DELETE" });
}

export function ReleaseAllDialog({ leases, onClose, onDone }: {
  leases: Lease[]; onClose: () => void; onDone: () => void;
}) {
  const session = useSession();
  /* Those of the moment at which they were confirmed. */
  const [shown] = useState(leases);
  const send = async () => {
    try {
      await actOnAll(shown, (lease) => lease.name, (lease) => release(session, lease));
      notify(`Released ${count(shown.length, "lease")}.`);
      onDone();
    } finally {
      await Promise.all([session.leases.refresh(), session.devices.refresh()]);
    }
  };
  return (
    <Confirm title={`Release ${count(shown.length, "lease")}?`} isDanger onClose={onClose}
      onConfirm={send} action="Release all" lines={byReleasingAll(shown)} />
  );
}

export function ReleaseDialog({ lease, onClose, onDone }: {
  lease: Lease; onClose: () => void; onDone?: () => void;
}) {
  const session = useSession();
  const hasProcesses = lease.processes.length > 0;
  const send = async () => {
    await release(session, lease);
    notify(`Released ${lease.name}.`);
    await Promise.all([session.leases.refresh(), session.devices.refresh()]);
    onDone?.();
  };
  return (
    <Confirm title={`Release ${lease.name}?`} isDanger onClose={onClose} onConfirm={send}
      action={hasProcesses ? "End its processes" : "Release"} lines={byReleasing(lease)} />
  );
}
