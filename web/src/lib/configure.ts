/* SPDX-License-Identifier: Apache-2.0 */
/* Dividing a set of devices: which can be chosen together, what each part gets, and the
 * resulting layout. */
import type { DeviceView } from "./model";
import type { Engines, Profile, Scheme } from "../api/types";

/* Devices of one kind can follow one rule: same model, same memory, same ways to divide. */
export function kindOf(view: DeviceView): string {
  return [view.model, view.memory_bytes, view.schemes.join("+")].join("|");
}

export function kindsOf(views: DeviceView[]): Map<string, DeviceView[]> {
  const kinds = new Map<string, DeviceView[]>();
  for (const view of views) {
    if (view.schemes.length === 0) continue;
    kinds.set(kindOf(view), [...(kinds.get(kindOf(view)) ?? []), view]);
  }
  return kinds;
}

function isUsed(view: DeviceView): boolean {
  const inside = view.slots.some((slot) =>
    slot.leases.length > 0 || slot.partition.holders.length > 0);
  return inside || (view.status !== "ready" && view.status !== "divided");
}

/* Preselected devices: the largest set of one kind, without those that are in use or must not
 * be changed; only one device if the page was opened for it. */
export function preselect(views: DeviceView[], wanted?: string): string[] {
  const asked = views.find((view) => view.name === wanted && view.schemes.length > 0);
  if (asked) return [asked.name];
  const sets = [...kindsOf(views).values()].sort((a, b) => b.length - a.length);
  const set = sets[0] ?? [];
  const free = set.filter((view) => !isUsed(view));
  return (free.length > 0 ? free : set).map((view) => view.name);
}

/* Why a device cannot be chosen in addition to the chosen ones; "" if it can. */
export function whyNot(view: DeviceView, chosen: DeviceView[]): string {
  if (view.cannot_divide) return view.cannot_divide;
  if (view.schemes.length === 0) return "no driver reports how it could be divided";
  if (view.status === "lost") return view.reason || "it is lost";
  const first = chosen[0];
  if (first && kindOf(first) !== kindOf(view))
    return `not of the same kind as ${first.name}: another model, memory or way to divide`;
  return "";
}

export interface Choice {
  profile: string;
  scheme: Scheme;
  memory_bytes: number;
  compute_units: number;
  /* The minimum over the chosen devices. */
  most: number;
  fits: number;
  note: string;
  engines: Engines | null;
}

/* Profiles that every chosen device has. */
export function choicesOf(profiles: Profile[], chosen: string[]): Choice[] {
  const rows = new Map<string, Profile[]>();
  for (const each of profiles) {
    if (!chosen.includes(each.device)) continue;
    const key = `${each.scheme} ${each.profile}`;
    rows.set(key, [...(rows.get(key) ?? []), each]);
  }
  return [...rows.values()].filter((list) => list.length === chosen.length).map((list) => {
    const first = list[0]!;
    const notes = new Set(list.map((each) => each.note));
    return {
      profile: first.profile,
      scheme: first.scheme,
      memory_bytes: first.memory_bytes,
      compute_units: first.compute_units,
      most: Math.min(...list.map((each) => each.most)),
      fits: Math.min(...list.map((each) => each.fits)),
      note: notes.size === 1 ? [...notes][0]! : "",
      engines: first.engines ?? null,
    };
  });
}

/* MIG and sets of processors are counted by profile and may be mixed; a mode or a number
 * of functions divides the whole device. */
export function isMixed(scheme: Scheme): boolean {
  return scheme === "mig" || scheme === "cores";
}

export interface Wish {
  devices: string[];
  scheme: Scheme;
  /* The number of each profile, on each device.  Without any the device is not divided. */
  counts: Record<string, number>;
  /* Equal shares that are set aside in each partition; 0: none. */
  shares: number;
  preserve: boolean;
  vgpu_type: string;
  on_busy: "fail" | "wait";
  /* Ways in which the devices are divided now, and which have to be removed first. */
  leaving: Scheme[];
}

const q = (text: string) => JSON.stringify(text);

function whole(scheme: Scheme): string[] {
  switch (scheme) {
  case "mig": return ["mig: off"];
  case "xcp": return ["compute-mode: SPX", "memory-mode: NPS1"];
  case "vf": return ["vf: {count: 0}"];
  case "cores": return ["partitions: []"];
  case "none": return [];
  }
}

function partitionLine(profile: string, count: number, wish: Wish): string {
  const parts = [`profile: ${q(profile)}`];
  if (isMixed(wish.scheme)) parts.push(`count: ${count}`);
  if (wish.shares > 0) parts.push(`shares: ${wish.shares}`);
  return `  - {${parts.join(", ")}}`;
}

function divided(wish: Wish, picked: [string, number][]): string[] {
  const first = picked[0]![0];
  const lines = wish.scheme === "mig" ? ["mig: on"] : [];

  if (wish.scheme === "vf" && wish.vgpu_type)
    return [`vf: {count: ${Number(first.split(":")[1])}, type: ${q(wish.vgpu_type)}}`];
  return [...lines, "partitions:",
    ...picked.map(([profile, count]) => partitionLine(profile, count, wish))];
}

export function picksOf(wish: Pick<Wish, "counts">): [string, number][] {
  return Object.entries(wish.counts).filter(([, count]) => count > 0);
}

/* The text of a layout (docs/layout.md) that declares exactly this. */
export function layoutText(wish: Wish): string {
  const picked = picksOf(wish);
  const rule = picked.length > 0 ? divided(wish, picked) : whole(wish.scheme);
  const leaving = wish.leaving.filter((each) => each !== wish.scheme).flatMap(whole);
  /* A rule has one key "partitions": that of the new ones also removes the old ones. */
  const first = leaving.filter((line) => line !== "partitions: []");
  const lines = [`select: {name: [${wish.devices.map(q).join(", ")}]}`,
    ...(wish.preserve ? ["preserve: true"] : []), ...first, ...rule];

  return ["version: 1", `on-busy: ${wish.on_busy}`, "devices:",
    ...lines.map((line, at) => (at === 0 ? "  - " : "    ") + line), ""].join("\n");
}
