/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the agent's API (docs/api.md).  A field that an older
 * agent lacks is optional here, so that the compiler makes every page handle its absence.  The
 * test test_fields compares most of the types with /openapi.json, and can write them. */

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

/* A process that a device's driver reports on it. */
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
  /* of an AMD GPU: its I/O die, from 0, that the partition is on; null: unknown, or several */
  io_die?: number | null;
}

export interface Device {
  name: string;
  uuid: string;
  model: string;
  vendor: string;
  /* version of the driver */
  driver: string;
  /* gpu, cpu or accelerator */
  type: string;
  backend: string;
  /* what ends turns on it */
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
  /* debts of tenants from ended leases */
  debt_seconds?: number;
  /* why this executor is used; null: none was tried */
  executor_reason?: string | null;
  /* between the work of one lease and that of the next; null: not measured */
  hand_over_seconds?: number | null;
  /* length of a turn of class normal, which grows with hand_over_seconds */
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
  /* as its driver reports it; null: it does not */
  power_watts?: number | null;
  temperature_celsius?: number | null;
  /* since its driver was loaded */
  energy_joules?: number | null;
  /* part of the driver's last sampling period in which work ran */
  utilization?: number | null;
  encoder_utilization?: number | null;
  decoder_utilization?: number | null;
  /* by all processes, as its driver reports it */
  driver_memory_used_bytes?: number | null;
  /* that its driver sees on it; tenants are shown their own */
  processes?: DriverProcess[];
}

export interface Devices extends ListOf<Device> {
  problems?: string[];
}

export interface LeaseList extends ListOf<Lease> {
  next?: number | null;
  /* Earlier agents have none of these. */
  revision?: string;
  /* false: the items are those that have changed */
  whole?: boolean;
  /* ids of leases that have ended since */
  ended?: string[];
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
  /* the first of its devices */
  device: string;
  state: "queued" | "active";
  /* the share at present; with a share_range it moves */
  share: number;
  /* the most of the device's time that it gets; null: no cap */
  cap: number | null;
  /* the memory quota */
  memory_bytes: number;
  class: LeaseClass;
  /* it was admitted without regard to the promises on the device */
  overcommit: boolean;
  /* 1 is next */
  queue_position: number | null;
  created_at: string;
  /* when the agent ends it; null: never */
  expires_at?: string | null;
  /* the process that requested it; null: it is kept */
  holder_pid: number | null;
  /* it ends when it is released, not with a process */
  kept: boolean;
  /* which processes may attach: holders and their descendants, or all that reach its socket */
  admit?: "holders" | "socket";
  command: string;
  /* the bounds between which the agent moves the share */
  share_range?: Range | null;
  /* host memory that it may use beyond memory_bytes */
  spill_bytes?: number;
  /* limit in multiprocessors or compute units; null: none */
  sm?: SmLimit | null;
  /* what enforces the quota: the kernel or the driver as well, or the gate alone */
  memory_held_by?: "kernel" | "gate";
  /* part of the last second for which it held the device */
  share_used: number;
  /* held time: for which it had the device and is charged */
  held_seconds: number;
  /* for which its gates report that work ran */
  busy_seconds: number;
  /* for which its cap delayed waiting work */
  throttled_seconds: number;
  /* for which its programs waited for a turn */
  waited_seconds: number;
  /* that it has had */
  turns: number;
  /* turns that ended early for another lease */
  revocations: number;
  /* allocated by its programs, with the overhead */
  memory_used_bytes: number;
  /* allocated by its programs in host memory */
  spilled_bytes?: number;
  /* that only its driver reports: contexts, loaded code */
  memory_overhead_bytes?: number;
  /* allocations refused because of the quota */
  refusals: number;
  /* it has work and no turn */
  waiting: boolean;
  /* it has the turn now */
  holding: boolean;
  /* device time that is due to it; below 0: that it owes */
  lag_seconds?: number;
  /* turns whose work did not end in time */
  overdue?: number;
  /* debt of its tenant on the device, from present and ended leases */
  tenant_debt_seconds?: number;
  /* the standing share that it is in */
  in: string | null;
  /* of its first device, if that is a partition */
  partition: PartitionOf | null;
  devices: LeaseDevice[];
  processes: LeaseProcess[];
  /* held by its processes, as the driver reports it */
  driver_memory_bytes?: number | null;
  /* the driver's utilization of the device by its processes, 0 to 1 */
  driver_utilization?: number | null;
  /* its processes hold more than the quota, as the driver reports, for longer than the settings' grace */
  over_quota?: boolean;
  /* its processes compute more than its turns, as the driver reports, for longer than the settings' grace */
  past_gate?: boolean;
  /* because it exceeds its quota */
  throttled?: boolean;
  /* APIs in use that no gate enforces */
  uses_ungated?: string[];
  /* to which its gates connect */
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
  /* of an AMD GPU, where it is known */
  io_die?: number;
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
  share_changes?: { change: "add" | "change" | "remove"; name: string; before: string; after: string;
    text: string; }[];
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
  device: string;
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
  /* held time of its present leases */
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
