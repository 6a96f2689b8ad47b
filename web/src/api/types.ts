/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the agent's API (docs/api.md).  What an older agent does not say yet is
 * optional here, so that the compiler makes every page think of its absence.  The test
 * test_fields holds most of them to /openapi.json, and writes them anew. */

export interface ListOf<T> {
  items: T[];
  next?: string | number | null;
}

export interface ProblemDocument {
  title?: string;
  status?: number;
  code?: string;
  detail?: string;
}

export interface Health {
  /* lost: nothing runs on it; degraded: a lease is placed on it only by name */
  state: "ok" | "degraded" | "lost";
  /* what is wrong and what would help, a line each */
  reasons: string[];
  /* null: since the agent started */
  since?: string | null;
}

/* null: only a driver would know. */
export interface Engines {
  /* null: not known without the driver */
  copy?: number | null;
  decode: number | null;
  encode: number | null;
  jpeg?: number | null;
  optical_flow?: number | null;
}

/* Whom a device's driver sees on it. */
export interface DriverProcess {
  pid: number;
  command: string;
  uid: number | null;
  /* null: it is in no lease */
  lease: string | null;
  /* the lease is on this device, and has not ended */
  has_lease_here: boolean;
  /* reported as a process that has no lease here */
  reported?: boolean;
  /* as the driver reports it */
  memory_bytes: number | null;
  /* the driver's utilization of the device by it, 0 to 1 */
  utilization?: number | null;
}

export interface Range {
  /* promised */
  least: number;
  most: number;
}

export interface PartitionOf {
  scheme: "mig" | "xcp" | "vf" | "cores";
  profile: string;
  /* as the vendor's runtime knows it */
  uuid: string;
  /* processors, a PCI address, a device node, or numbers of MIG instances */
  address: string;
}

export interface Device {
  name: string;
  uuid: string;
  model: string;
  vendor: string;
  /* its version */
  driver: string;
  /* gpu, cpu or accelerator */
  type: string;
  backend: string;
  /* what holds shares of it */
  executor: "gate" | "hardware" | "cpu" | "none";
  platform?: string;
  compute_units: number;
  memory_bytes: number;
  max_allocation_bytes?: number;
  share_promised: number;
  memory_promised_bytes: number;
  memory_used_bytes: number;
  leases: number;
  queued: number;
  /* that tenants owe of leases that ended */
  debt_seconds?: number;
  /* why it is the one or the other, where it was tried */
  executor_reason?: string | null;
  /* from the end of one lease's work to the begin of the next's; null: none was seen */
  hand_over_seconds?: number | null;
  /* how long a turn of the class normal is, longer where hand-overs are */
  turn_seconds?: number | null;
  /* of a partition: the device that it is a part of */
  parent?: string | null;
  partition?: PartitionOf | null;
  /* it takes no new lease */
  cordoned?: boolean;
  cordon_reason?: string | null;
  /* its partitions are leased, not the whole */
  divided?: boolean;
  numa_node?: number | null;
  health?: Health;
  /* as its driver says; null: it does not */
  power_watts?: number | null;
  temperature_celsius?: number | null;
  /* since its driver was loaded */
  energy_joules?: number | null;
  /* part of the last moments with work on it */
  utilization?: number | null;
  encoder_utilization?: number | null;
  decoder_utilization?: number | null;
  /* by whomever */
  driver_memory_used_bytes?: number | null;
  /* whom its driver sees on it; to tenants, their own */
  processes?: DriverProcess[];
}

export interface Devices extends ListOf<Device> {
  problems?: string[];
}

export type LeaseClass = "latency" | "normal" | "batch";

export interface LeaseDevice {
  name: string;
  uuid?: string;
  /* of the device that it is a partition of, or its own */
  root_uuid?: string;
  /* of that device; empty where it has none */
  pci_address?: string;
  /* what selects it in its vendor's runtime */
  visible?: string;
  backend?: string;
  vendor?: string;
  numa_node?: number | null;
  partition?: PartitionOf | null;
}

export interface LeaseProcess {
  pid: number;
  memory_used_bytes: number;
  attached_at: string;
}

export interface SmLimit {
  /* of the device's multiprocessors or compute units, at once */
  fraction: number;
  /* the same as a number of them */
  count?: number | null;
  /* the first of them, where the agent places them */
  first?: number | null;
  /* null: not known of any process yet */
  held_by?: "mps" | "green_contexts" | "masks" | "nothing" | null;
  /* why nothing enforces it */
  reason?: string | null;
}

export interface Lease {
  id: string;
  name: string;
  tenant: string;
  uid: number;
  /* the first of devices */
  device: string;
  state: "queued" | "active";
  /* at present, of one with a range */
  share: number;
  /* never more than this; null: no cap */
  cap: number | null;
  /* the quota */
  memory_bytes: number;
  class: LeaseClass;
  /* it did not have to fit what is promised */
  overcommit: boolean;
  /* 1 is next */
  queue_position: number | null;
  created_at: string;
  /* when it is ended; null: never */
  expires_at?: string | null;
  /* who asked for it; null: it is kept */
  holder_pid: number | null;
  /* it ends when it is released, not with a process */
  kept: boolean;
  /* who may attach: who holds it and what they start, or whoever reaches its socket */
  admit?: "holders" | "socket";
  command: string;
  /* between these the agent moves it */
  share_range?: Range | null;
  /* of the host's memory that it may have beyond it */
  spill_bytes?: number;
  /* how much of the device it may use at once; null: all */
  sm?: SmLimit | null;
  /* who holds the quota: the kernel or the driver as well, or the gate alone */
  memory_held_by?: "kernel" | "gate";
  /* of the last second */
  share_used: number;
  /* for which it had the device, which it pays for */
  held_seconds: number;
  /* for which its programs say that work ran */
  busy_seconds: number;
  /* kept back by its own cap, with work waiting */
  throttled_seconds: number;
  /* for which its programs stood in line */
  waited_seconds: number;
  /* that it had */
  turns: number;
  /* turns that ended early for another lease */
  revocations: number;
  /* that its programs asked for, and the overhead */
  memory_used_bytes: number;
  /* that its programs asked for and have in the host's memory */
  spilled_bytes?: number;
  /* that only its driver shows: contexts, loaded code */
  memory_overhead_bytes?: number;
  /* allocations beyond the quota */
  refusals: number;
  /* it has work and no turn */
  waiting: boolean;
  /* it has the turn now */
  holding: boolean;
  /* time on the device that it is owed; below 0: that it owes */
  lag_seconds?: number;
  /* times that its work did not end in time */
  overdue?: number;
  /* that its tenant owes there, of leases that are and that ended */
  tenant_debt_seconds?: number;
  /* the standing share */
  in: string | null;
  /* what its first device is, of a partition */
  partition: PartitionOf | null;
  devices: LeaseDevice[];
  processes: LeaseProcess[];
  /* that the driver says its processes hold */
  driver_memory_bytes?: number | null;
  /* part of the device that its processes compute on, as the driver says */
  driver_utilization?: number | null;
  /* its processes hold more than the quota, as the driver says, for longer than the settings' grace */
  over_quota?: boolean;
  /* its processes compute more than its turns, as the driver says, for longer than the settings' grace */
  past_gate?: boolean;
  /* for being over its quota */
  throttled?: boolean;
  /* APIs in use that no gate holds */
  uses_ungated?: string[];
  /* of its gates */
  socket?: string;
}

export interface Holder {
  text: string;
  lease: string;
  pid: number;
}

export interface Partition {
  name: string;
  profile: string;
  uuid: string;
  address: string;
  start: number;
  size: number;
  compute_units: number;
  memory_bytes: number;
  half_made: boolean;
  holders: Holder[];
  parts: Partition[];
  engines?: Engines | null;
}

export interface VgpuType {
  id: string;
  name: string;
  memory_bytes: number;
  max_instances: number;
}

export type Scheme = "none" | "mig" | "xcp" | "vf" | "cores";

export interface NodeDevice {
  name: string;
  uuid: string;
  model: string;
  vendor: string;
  driver: string;
  type: string;
  memory_bytes: number;
  compute_units: number;
  pci_address: string;
  hive: string;
  numa_node: number | null;
  cannot_divide: string;
  scheme: Scheme;
  mig: {
    on: boolean;
    pending: boolean;
    needs_reset: boolean;
    model?: { name?: string; grid: number; slices: number } | null;
  } | null;
  xcp: { compute?: string; memory?: number } | null;
  vf: { capable: boolean; why_not: string; total: number; types?: VgpuType[] } | null;
  cores: number[] | null;
  partitions: Partition[];
  holders: Holder[];
  engines?: Engines | null;
}

export interface Node {
  name: string;
  devices: NodeDevice[];
  problems: string[];
}

export interface Profile {
  device: string;
  scheme: Scheme;
  profile: string;
  memory_bytes: number;
  compute_units: number;
  fits: number;
  most: number;
  starts: number[];
  note: string;
  engines?: Engines | null;
}

export interface PlanStep {
  number: number;
  kind: string;
  text: string;
  device: string;
  partition: string;
  needs: string[];
  affects: string[];
  why: string;
}

export interface Obstacle {
  device: string;
  partition: string;
  why: string;
  holders: Holder[];
}

export interface Plan {
  steps: PlanStep[];
  kept: string[];
  obstacles: Obstacle[];
  warnings: string[];
  on_busy: string;
  shares: { name: string; where: string; share: number; memory_bytes: number }[];
}

export interface OperationStep {
  kind: string;
  device: string;
  partition: string;
  text: string;
  state: "pending" | "running" | "done" | "failed";
  seconds: number;
}

export interface Operation {
  id: string;
  what: string;
  state:
    | "surveying"
    | "waiting"
    | "running"
    | "rolling_back"
    | "done"
    | "failed"
    | "rolled_back";
  revision: number;
  step: number;
  steps: OperationStep[];
  obstacles: Obstacle[];
  error: ProblemDocument | null;
  started_at: string;
  ended_at: string | null;
}

export interface AgentEvent {
  id: number;
  time: string;
  type: string;
  lease: string | null;
  name: string | null;
  device: string | null;
  uid: number | null;
  message: string;
}

export interface History {
  of: string;
  resolution: number;
  from: string;
  columns: string[];
  start: number;
  step: number;
  rows: (number[] | null)[];
}

export interface Part {
  share: number;
  memory_bytes: number;
  class: LeaseClass;
  cap?: number;
  profile?: string | null;
}

export interface Advice {
  lease: string;
  name: string;
  tenant: string;
  kind: string;
  text: string;
  current: Part;
  proposed: Part;
  expected_slowdown: number;
  confidence: "low" | "medium" | "high";
  observed_seconds: number;
}

export interface Allowance {
  /* in devices */
  share: number | null;
  memory_bytes: number | null;
  leases: number | null;
  profiles: string[] | null;
  classes: string[] | null;
}

export interface Tenant {
  name: string;
  uid: number | null;
  leases: number;
  queued: number;
  /* in devices */
  share: number;
  memory_bytes: number;
  /* held by the leases that there are */
  gpu_seconds: number;
  allowance: Allowance;
}

export type Scope = "admin" | "tenant" | "viewer";

export interface Token {
  id: string;
  name: string;
  scope: Scope;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  tenant: string | null;
  /* only in the answer to its creation */
  secret?: string;
}

export interface AuditEntry {
  id: number | string;
  time: string;
  who: { subject: string; uid: number | null; token: string | null };
  from: string;
  action: string;
  object: string;
  detail: string;
  result: string;
}

export interface WhoAmI {
  subject: string;
  uid: number | null;
  scope: Scope;
  token: { id: string; name: string; expires_at: string | null } | null;
  node: string;
  version: string;
  system: boolean;
}

export interface Version {
  version: string;
  api: number;
  pid: number;
  started_at: string;
}

export interface NodeAddress {
  name: string;
  url: string;
}
