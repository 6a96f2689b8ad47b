/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a device for the pages, from three lists: the node (how it is divided), the
 * devices (what is promised) and the leases. */
import type {
  Device, Engines, Health, Holder, Lease, Node, NodeDevice, Partition, Scheme,
} from "../api/types";
import { names } from "./format";
import { promiseOf } from "./share";

export type Status = "ready" | "divided" | "leased" | "held" | "cordoned" | "degraded" | "lost" |
  "off" | "fixed";

export interface Slot {
  name: string;
  profile: string;
  /* Its position in the device, as fractions of the device's width. */
  from: number;
  width: number;
  partition: Partition;
  device: Device | null;
  leases: Lease[];
}

export interface DeviceView {
  name: string;
  uuid: string;
  model: string;
  vendor: string;
  type: string;
  driver: string;
  memory_bytes: number;
  compute_units: number;
  pci_address: string;
  numa_node: number | null;
  hive: string;
  scheme: Scheme;
  cannot_divide: string;
  schemes: Scheme[];
  status: Status;
  reason: string;
  slots: Slot[];
  leases: Lease[];
  queued: Lease[];
  holders: Holder[];
  device: Device | null;
  node: NodeDevice | null;
  engines: Engines | null;
  health: Health | null;
}

export const STATUS_WORDS: Record<Status, string> = {
  ready: "Ready",
  divided: "Divided",
  leased: "Leased",
  held: "In use",
  cordoned: "Cordoned",
  degraded: "Degraded",
  lost: "Lost",
  off: "Capable, SR-IOV off",
  fixed: "Cannot be divided",
};

/* Drivers write vendors in different ways; layouts and pages use one word for each. */
export function vendorName(vendor: string): string {
  const known: [RegExp, string][] = [
    [/nvidia/i, "NVIDIA"],
    [/intel$|genuineintel/i, "Intel"],
    [/authenticamd/i, "AMD"],
    [/amd|advanced micro/i, "AMD"],
  ];
  return known.find(([pattern]) => pattern.test(vendor))?.[1] ?? vendor;
}

export function schemesOf(device: NodeDevice | null): Scheme[] {
  if (!device || device.cannot_divide) return [];
  const schemes: Scheme[] = [];
  if (device.mig) schemes.push("mig");
  if (device.xcp) schemes.push("xcp");
  if (device.vf?.capable) schemes.push("vf");
  if (device.cores) schemes.push("cores");
  return schemes;
}

function isPartOf(name: string, device: string): boolean {
  return name.startsWith(`${device}/`);
}

/* MIG gives the position of an instance; other partitions are as wide as their compute or
 * memory. */
function widthOf(partition: Partition, device: NodeDevice): number {
  if (device.scheme === "mig" && device.mig?.model?.grid)
    return partition.size / device.mig.model.grid;
  if (device.scheme === "xcp" || device.scheme === "vf")
    return 1 / Math.max(1, device.partitions.length);
  return device.compute_units > 0 ? partition.compute_units / device.compute_units : 0;
}

export function slotsOf(device: NodeDevice, devices: Device[], leases: Lease[]): Slot[] {
  const sorted = [...device.partitions].sort((a, b) => a.start - b.start);
  const grid = device.scheme === "mig" ? device.mig?.model?.grid : undefined;
  let end = 0;

  return sorted.map((partition) => {
    const width = widthOf(partition, device);
    const from = grid ? partition.start / grid : end;
    end = from + width;
    return {
      name: partition.name,
      profile: partition.profile,
      from,
      width,
      partition,
      device: devices.find((each) => each.name === partition.name) ?? null,
      /* A lease may be on a part of the partition: a compute instance. */
      leases: leases.filter((lease) => lease.state === "active" &&
        (lease.device === partition.name || isPartOf(lease.device, partition.name))),
    };
  });
}

/* The holders of a device other than the leases that are shown on it and their processes. */
function othersOf(holders: Holder[], device: Device | null, leases: Lease[]): string[] {
  const inLeases = new Set((device?.processes ?? []).filter((each) => each.has_lease_here)
    .map((each) => each.pid));
  return holders.filter((each) => !leases.some((lease) => lease.id === each.lease) && !inLeases.has(each.pid))
    .map((each) => each.text);
}

/* The GPU has virtual functions, and its driver or firmware does not create them now. */
function hasFunctionsOff(node: NodeDevice): boolean {
  return node.vf !== null && !node.vf.capable && node.vf.total > 0;
}

function statusOf(view: {
  device: Device | null; node: NodeDevice | null; leases: Lease[]; holders: Holder[];
}): { status: Status; reason: string } {
  const { device, node } = view;
  const health = device?.health;

  if (health && health.state !== "ok")
    return { status: health.state, reason: health.reasons.join("; ") };
  if (device?.cordoned)
    return { status: "cordoned", reason: device.cordon_reason || "takes no new leases" };
  if (node && node.scheme !== "none")
    return { status: "divided", reason: node.partitions.length > 0 ? "" : "without partitions" };
  if (view.leases.length > 0 || view.holders.length > 0)
    return {
      status: view.leases.length > 0 ? "leased" : "held",
      reason: names(othersOf(view.holders, device, view.leases), 4),
    };
  if (node?.cannot_divide)
    return { status: hasFunctionsOff(node) ? "off" : "fixed", reason: node.cannot_divide };
  return { status: "ready", reason: "" };
}

function viewOf(name: string, node: NodeDevice | null, devices: Device[], leases: Lease[]): DeviceView {
  const device = devices.find((each) => each.name === name) ?? null;
  const from = node ?? device!;
  const own = leases.filter((lease) => lease.device === name && lease.state === "active");
  const holders = node?.holders ?? [];

  return {
    name,
    uuid: from.uuid,
    model: from.model,
    vendor: vendorName(from.vendor),
    type: from.type,
    driver: from.driver,
    memory_bytes: from.memory_bytes,
    compute_units: from.compute_units,
    pci_address: node?.pci_address ?? "",
    numa_node: from.numa_node ?? null,
    hive: node?.hive ?? "",
    scheme: node?.scheme ?? "none",
    cannot_divide: node?.cannot_divide ?? "",
    schemes: schemesOf(node),
    ...statusOf({ device, node, leases: own, holders }),
    slots: node ? slotsOf(node, devices, leases) : [],
    leases: own,
    queued: leases.filter((lease) => lease.state === "queued" &&
      (lease.device === name || isPartOf(lease.device, name))),
    holders,
    device,
    node,
    engines: node?.engines ?? null,
    health: device?.health ?? null,
  };
}

/* Physical devices, in the node's order; the agent lists partitions as devices with a
 * parent.  Without a node (an old agent, or drivers that hang) the devices alone are used. */
export function viewsOf(node: Node | null, devices: Device[], leases: Lease[]): DeviceView[] {
  const nodes = new Map((node?.devices ?? []).map((each) => [each.name, each]));
  const known = [...nodes.keys()];
  const more = devices.filter((each) => !each.parent && !nodes.has(each.name));

  return [...known, ...more.map((each) => each.name)].map((name) =>
    viewOf(name, nodes.get(name) ?? null, devices, leases));
}

export interface Totals {
  devices: number;
  divided: number;
  partitions: number;
  active: number;
  queued: number;
  /* Sum over all devices; 1 is one whole device. */
  promised: number;
  used: number;
  memory_bytes: number;
  memory_promised_bytes: number;
  memory_used_bytes: number;
}

export function totalsOf(views: DeviceView[], leases: Lease[], devices: Device[]): Totals {
  const active = leases.filter((lease) => lease.state === "active");
  const sum = (list: number[]) => list.reduce((a, b) => a + b, 0);

  return {
    devices: views.length,
    divided: views.filter((view) => view.scheme !== "none").length,
    partitions: sum(views.map((view) => view.slots.length)),
    active: active.length,
    queued: leases.length - active.length,
    promised: sum(views.map(promisedOf)),
    used: sum(views.map(usedOf)),
    memory_bytes: sum(views.map((view) => view.memory_bytes)),
    memory_promised_bytes: sum(devices.map((each) => each.memory_promised_bytes)),
    memory_used_bytes: sum(active.map((lease) => lease.memory_used_bytes)),
  };
}

/* Of several nodes; promised and free are parts of all their compute. */
export function fleetOf(nodes: Totals[]): {
  devices: number; promised: number; free: number; leases: number;
} {
  const sum = (of: (node: Totals) => number) => nodes.reduce((total, node) => total + of(node), 0);
  const devices = sum((node) => node.devices);
  const promised = devices > 0 ? sum((node) => node.promised) / devices : 0;

  return { devices, promised, free: devices > 0 ? Math.max(0, 1 - promised) : 0,
    leases: sum((node) => node.active) };
}

/* The promised part of the whole device, with its partitions weighted by their width. */
export function promisedOf(view: DeviceView): number {
  if (view.slots.length === 0) return view.device?.share_promised ?? 0;
  return view.slots.reduce((sum, slot) => sum + slot.width * (slot.device?.share_promised ?? 0), 0);
}

export function usedOf(view: DeviceView): number {
  const used = (leases: Lease[]) => leases.reduce((sum, lease) => sum + lease.share_used, 0);
  if (view.slots.length === 0) return used(view.leases);
  return view.slots.reduce((sum, slot) => sum + slot.width * used(slot.leases), 0);
}

export function memoryPromisedOf(view: DeviceView): number {
  if (view.slots.length === 0) return view.device?.memory_promised_bytes ?? 0;
  return view.slots.reduce((sum, slot) => sum + (slot.device?.memory_promised_bytes ?? 0), 0);
}

export function memoryUsedOf(view: DeviceView): number {
  const leases = view.slots.length > 0 ? view.slots.flatMap((slot) => slot.leases) : view.leases;
  return leases.reduce((sum, lease) => sum + lease.memory_used_bytes, 0);
}

export interface Room {
  share: number;
  memory_bytes: number;
}

/* The most that a lease can grow to, or a new one can have: all that others were not promised. */
export function roomOn(device: Device, own?: Lease): Room {
  const share = 1 - device.share_promised + (own ? promiseOf(own) : 0);
  const memory = device.memory_bytes - device.memory_promised_bytes + (own?.memory_bytes ?? 0);

  return {
    share: Math.max(0, Math.min(1, Math.floor(share * 1000 + 1e-6) / 1000)),
    memory_bytes: Math.max(0, Math.min(device.memory_bytes, memory)),
  };
}

/* Devices on which a program can get a share: neither divided, nor cordoned, nor lost. */
export function shareable(devices: Device[]): Device[] {
  return devices.filter((each) => !each.divided && !each.cordoned && each.health?.state !== "lost");
}
