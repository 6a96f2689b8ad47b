/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as the agent sends them, with what a test wants to say. */
import type { Device, Lease, Node, NodeDevice, Partition, Profile } from "../../src/api/types";

export const GIB = 2 ** 30;

export const device = (name: string, more: Partial<Device> = {}): Device => ({
  name, uuid: `GPU-${name}`, model: "A100", vendor: "NVIDIA", driver: "1", type: "gpu",
  backend: "sim", executor: "none", compute_units: 98, memory_bytes: 40 * GIB, share_promised: 0,
  memory_promised_bytes: 0, memory_used_bytes: 0, leases: 0, queued: 0, parent: null,
  partition: null, divided: false, numa_node: null, ...more,
});

export const lease = (name: string, on: string, more: Partial<Lease> = {}): Lease => ({
  id: `l${name}`, name, tenant: "bob", uid: 1000, device: on, state: "active", share: 0.5,
  cap: null, memory_bytes: 10 * GIB, class: "normal", overcommit: false, queue_position: null,
  created_at: "2026-01-31T12:00:00.000Z", holder_pid: 42, kept: false, command: "python3", share_used: 0,
  held_seconds: 0, busy_seconds: 0, throttled_seconds: 0, waited_seconds: 0, turns: 0,
  revocations: 0, memory_used_bytes: 0, refusals: 0, waiting: false, holding: false, in: null,
  partition: null, devices: [{ name: on }], processes: [], ...more,
});

export const partition = (name: string, more: Partial<Partition> = {}): Partition => ({
  name, profile: name.split("/")[1]!.split("@")[0]!, uuid: `MIG-${name}`, address: "",
  start: Number(name.split("@")[1]), size: 1, compute_units: 14, memory_bytes: 5 * GIB,
  half_made: false, holders: [], parts: [], ...more,
});

export const nodeDevice = (name: string, more: Partial<NodeDevice> = {}): NodeDevice => ({
  name, uuid: `GPU-${name}`, model: "A100", vendor: "NVIDIA", driver: "1", type: "gpu",
  memory_bytes: 40 * GIB, compute_units: 98, pci_address: "", hive: "", numa_node: 0,
  cannot_divide: "", scheme: "none",
  mig: { on: false, pending: false, needs_reset: true, model: { grid: 8, slices: 7 } },
  xcp: null, vf: { capable: false, why_not: "", total: 0 }, cores: null, partitions: [], holders: [],
  ...more,
});

export const node = (...devices: NodeDevice[]): Node => ({ name: "lab", devices, problems: [] });

export const profile = (on: string, name: string, more: Partial<Profile> = {}): Profile => ({
  device: on, scheme: "mig", profile: name, memory_bytes: 5 * GIB, compute_units: 14, fits: 7,
  most: 7, starts: [], note: "", ...more,
});
