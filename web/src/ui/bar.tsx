/* SPDX-License-Identifier: Apache-2.0 */
/* A device as a bar.  The width is the whole device; a partition is at its position in the
 * device, a share is as wide as its promise, and its current use fills it from the left.
 * Compute that is not promised stays empty. */
import type { Lease } from "../api/types";
import type { DeviceView, Slot } from "../lib/model";
import { beyondOf } from "../lib/beyond";
import { percent } from "../lib/format";
import { promiseOf, rangeText } from "../lib/share";

const HUES = 6;

function hueOf(id: string): number {
  let hash = 0;
  for (const letter of id) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  return hash % HUES;
}

/* A lease has the same colour on all pages, unless the lease beside it has that colour. */
function huesOf(leases: Lease[]): number[] {
  const hues: number[] = [];
  for (const lease of leases) {
    const own = hueOf(lease.id);
    hues.push(own === hues.at(-1) ? (own + 1) % HUES : own);
  }
  return hues;
}

const share = (fraction: number) => `${Math.max(0, Math.min(1, fraction)) * 100}%`;

function Share({ lease, hue, from }: { lease: Lease; hue: number; from: number }) {
  const filled = lease.share > 0 ? lease.share_used / lease.share : 0;
  const range = lease.share_range ? ` now, ${rangeText(lease.share_range)} by demand` : " promised";
  const text = `${lease.name}: ${percent(lease.share_used)} used of ${percent(lease.share)}${range}`;

  return (
    <span class={`share hue-${hue}`} title={text}
      style={{ left: share(from), width: share(lease.share) }}>
      <span class={filled > 1.02 ? "use over" : "use"} style={{ width: share(filled) }} />
      <span class="share-label">{lease.name}</span>
    </span>
  );
}

/* The use of leases beyond their shares, drawn lower. */
function Beyond({ leases, hues, end }: { leases: Lease[]; hues: number[]; end: number }) {
  return (
    <>
      {beyondOf(leases, end).map(({ lease, from, width, more }) => (
        <span key={`${lease.id} ${from}`} class={`beyond hue-${hues[leases.indexOf(lease)]}`}
          style={{ left: share(from), width: share(width) }}
          title={`${lease.name}: ${percent(more)} beyond its share, which others leave idle`} />
      ))}
    </>
  );
}

function Shares({ leases, setAside }: { leases: Lease[]; setAside: number }) {
  const hues = huesOf(leases);
  let from = 0;
  const drawn = leases.map((lease, at) => {
    const begin = from;
    from += lease.share;
    return <Share key={lease.id} lease={lease} hue={hues[at]!} from={begin} />;
  });
  return (
    <>
      {drawn}
      {setAside > 0.005 && (
        <span class="aside" style={{ left: share(from), width: share(setAside) }}
          title={`${percent(setAside)} set aside as standing shares`} />
      )}
      <Beyond leases={leases} hues={hues} end={from + setAside} />
    </>
  );
}

/* Promised compute without a lease: standing shares that are free. */
function asideOf(promised: number | undefined, leases: Lease[]): number {
  const held = leases.reduce((sum, lease) => sum + promiseOf(lease), 0);
  return Math.max(0, (promised ?? 0) - held);
}

function Slot({ slot }: { slot: Slot }) {
  const holders = slot.partition.holders.length;
  const isHeld = slot.leases.length === 0 && holders > 0;

  return (
    <span class={isHeld ? "slot held" : "slot"} title={slot.name}
      style={{ left: share(slot.from), width: share(slot.width) }}>
      <Shares leases={slot.leases} setAside={asideOf(slot.device?.share_promised, slot.leases)} />
      <span class="slot-label">{slot.profile}</span>
    </span>
  );
}

function saidOf(view: DeviceView): string {
  const leases = (list: Lease[]) => list.map((lease) =>
    `${lease.name} ${percent(lease.share_used)} of ${percent(lease.share)}`).join(", ");

  if (view.slots.length > 0)
    return `${view.name}: ${view.slots.map((slot) => slot.leases.length > 0
      ? `${slot.profile} with ${leases(slot.leases)}` : slot.profile).join("; ")}`;
  if (view.leases.length > 0) return `${view.name}: ${leases(view.leases)}`;
  if (view.scheme !== "none") return `${view.name}: no partitions`;
  if (view.holders.length > 0) return `${view.name}: held by ${view.holders[0]!.text}`;
  return `${view.name}: nothing promised`;
}

export function DeviceBar({ view }: { view: DeviceView }) {
  const isHeld = view.slots.length === 0 && view.leases.length === 0 && view.holders.length > 0;

  return (
    <div class={`bar ${isHeld ? "held" : ""}`} role="img" aria-label={saidOf(view)}>
      {view.slots.length > 0
        ? view.slots.map((slot) => <Slot key={slot.name} slot={slot} />)
        : <Shares leases={view.leases}
          setAside={asideOf(view.device?.share_promised, view.leases)} />}
      {view.scheme !== "none" && view.slots.length === 0 &&
        <span class="slot-label">no partitions</span>}
      {isHeld && <span class="held-label">{view.holders[0]!.text}</span>}
    </div>
  );
}

/* A thin bar for memory, or another resource with a promised and a used part. */
export function Meter({ label, promised, used, whole }: {
  label: string; promised: number; used: number; whole: number;
}) {
  const of = (n: number) => (whole > 0 ? n / whole : 0);
  return (
    <div class="meter" role="img" aria-label={label} title={label}>
      <span class="meter-promised" style={{ width: share(of(promised)) }} />
      <span class="meter-used" style={{ width: share(of(used)) }} />
      {used > promised && <span class="meter-mark" style={{ left: share(of(promised)) }} />}
    </div>
  );
}
