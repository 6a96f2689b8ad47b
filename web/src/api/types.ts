/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the agent's API (docs/api.md).  A field that an older
 * agent lacks is optional here, so that the compiler makes every page handle its absence.  The
 * test test_fields compares them with /openapi.json, and can write them. */

export interface ListOf<T> {
  items: T[];
  next?: string | number | null;
}

export interface ProblemDocument {
  type?: string;
  title?: string;
  status?: number;
  /* the code for programs */
  code?: string;
  /* one line: what, why, what would work */
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
  /* newest CUDA of its driver; empty: not known */
  cuda_version?: string;
  /* hopper, gfx942; empty: not known */
  architecture?: string;
  /* CUDA's, as 9.0; empty: not known */
  compute_capability?: string;
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
  /* the virtual machine that holds a kept lease, as vm:UUID; null: none */
  holder?: string | null;
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
  /* for people */
  text: string;
  /* empty: it is no lease */
  lease: string;
  /* 0: it is no process */
  pid: number;
}

export interface Partition {
  name: string;
  profile: string;
  uuid: string;
  visible?: string;
  address: string;
  driver_id?: number;
  start: number;
  size: number;
  compute_units: number;
  memory_bytes: number;
  /* of the processors near it, or -1 */
  numa_node?: number;
  /* AMD: its part of a divided memory, or -1 */
  memory_part?: number;
  /* without a compute instance */
  half_made: boolean;
  holders: Holder[];
  /* its compute instances */
  parts: Partition[];
  engines?: Engines | null;
  /* AMD: where it is known */
  io_die?: number;
}

export interface VgpuType {
  id: string;
  name: string;
  memory_bytes: number;
  max_instances: number;
}

export type Scheme = "none" | "mig" | "xcp" | "vf" | "cores";

export interface MigProfile {
  driver_id?: number;
  memory_mib?: number;
  attributes?: number;
  multiprocessors?: number;
  nvml_index?: number;
  slices?: number;
  size?: number;
  max_instances?: number;
  copy_engines?: number;
  decoders?: number;
  encoders?: number;
  jpeg_engines?: number;
  optical_flow_engines?: number;
  name: string;
  starts?: number[];
}

export interface MigModel {
  grid: number;
  slices: number;
  name?: string;
  profiles?: MigProfile[];
}

export interface MigState {
  on: boolean;
  pending: boolean;
  needs_reset: boolean;
  cannot_reset?: boolean;
  lost_at_reboot?: boolean;
  /* null: not known */
  model?: MigModel | null;
}

export interface XcpState {
  dies?: number;
  memory?: number;
  requested_memory?: number;
  compute_available?: number;
  memory_available?: number;
  compute?: string;
  model?: string;
}

export interface VfQuota {
  memory_bytes?: number;
  exec_quantum_ms?: number;
  preempt_timeout_us?: number;
  contexts?: number;
  doorbells?: number;
  priority?: string;
  type?: string;
  driver?: string;
}

export interface VirtualFunction {
  number?: number;
  address?: string;
  driver?: string;
  iommu_group?: number;
  group_others?: number;
  quota?: VfQuota;
  holders?: Holder[];
}

export interface VfState {
  capable: boolean;
  why_not: string;
  total: number;
  counts?: number;
  has_all_types?: boolean;
  mixed?: boolean;
  framework?: string;
  functions?: VirtualFunction[];
  types?: VgpuType[];
}

export interface NodeDevice {
  name: string;
  uuid: string;
  model: string;
  vendor: string;
  driver: string;
  /* newest CUDA of its driver; empty: not known */
  cuda_version?: string;
  /* hopper, gfx942; empty: not known */
  architecture?: string;
  /* CUDA's, as 9.0; empty: not known */
  compute_capability?: string;
  type: string;
  visible?: string;
  memory_bytes: number;
  compute_units: number;
  index?: number;
  pci_address: string;
  /* its root complex, as pci0000:3a; empty: not known */
  pcie_root?: string;
  hive: string;
  /* of the processors near it, or -1 */
  numa_node: number;
  mig_absent?: boolean;
  /* where there is no scheme: why, and what to use instead */
  cannot_divide: string;
  backend?: string;
  scheme: Scheme;
  mig: MigState | null;
  xcp: XcpState | null;
  vf: VfState;
  /* the ids of its processors */
  cores: number[] | null;
  partitions: Partition[];
  holders: Holder[];
  engines?: Engines | null;
  /* to virtual machines: as a whole; in partitions; capable of those, SR-IOV off */
  assignable?: "whole" | "partitioned" | "sriov_off" | "none";
  /* the reason of sriov_off and of none */
  why_not_assignable?: string | null;
}

export interface StandingShare {
  /* the argument of cleave run --in */
  name: string;
  /* null: it is not present */
  device: string | null;
  share: number;
  share_range?: Range | null;
  cap?: number | null;
  memory_bytes: number;
  class?: LeaseClass;
  /* the lease that is in it; null: it is free, or another tenant's */
  lease: string | null;
  /* a lease is in it, whoever's */
  in_use: boolean;
}

export interface Node {
  name: string;
  devices: NodeDevice[];
  /* why a device is missing */
  problems: string[];
}

export interface Profile {
  device: string;
  scheme: "mig" | "xcp" | "vf" | "cores";
  profile: string;
  /* of one such partition */
  memory_bytes: number;
  /* of one such partition */
  compute_units: number;
  /* how many more fit now */
  fits: number;
  /* how many fit on an empty device */
  most: number;
  /* possible starts */
  starts: number[];
  note: string;
  /* of one such partition */
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

export interface PlanDevice {
  name: string;
  /* what the layout is kept for, not the name */
  uuid?: string;
  /* empty where it has none */
  pci_address?: string;
  model?: string;
  /* of the rule that selects it */
  line?: number;
}

export interface PlanShare {
  name: string;
  /* the device or partition */
  where: string;
  share: number;
  memory_bytes: number;
  class?: LeaseClass;
}

export interface ShareChange {
  change: "add" | "change" | "remove";
  name: string;
  /* its size now; empty: it is added */
  before: string;
  /* empty: it is removed */
  after: string;
  /* all of it in one line */
  text: string;
}

export interface Plan {
  /* that the layout selects */
  devices?: PlanDevice[];
  steps: PlanStep[];
  kept: string[];
  obstacles: Obstacle[];
  warnings: string[];
  shares: PlanShare[];
  /* what differs from the current standing shares */
  share_changes?: ShareChange[];
  on_busy: "fail" | "wait" | "list";
}

export interface OperationStep {
  state: "pending" | "running" | "done" | "failed";
  seconds: number;
  kind: string;
  device: string;
  partition: string;
  text: string;
}

export interface LeftDevice {
  device: string;
  uuid: string;
  why: string;
  /* what would put it back */
  steps: string[];
}

export interface Operation {
  id: string;
  what: string;
  state: "surveying" | "waiting" | "running" | "rolling_back" | "done" | "failed" | "rolled_back";
  /* larger with every change */
  revision: number;
  step: number;
  steps: OperationStep[];
  obstacles: Obstacle[];
  error: ProblemDocument | null;
  started_at: string | null;
  ended_at: string | null;
  /* what a roll-back could not put back */
  left?: LeftDevice[];
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
  /* seconds, 1 or 60 */
  resolution: number;
  from: string;
  to?: string;
  columns: string[];
  /* of the first row, in seconds since 1970 */
  start: number;
  /* seconds from row to row */
  step: number;
  /* null: nothing is known of that moment */
  rows: (number[] | null)[];
}

export interface Part {
  share: number;
  memory_bytes: number;
  class: LeaseClass;
  /* where there is one */
  cap?: number;
  /* of a proposal: in a partition of this profile */
  profile?: string | null;
}

export interface Advice {
  lease: string;
  name: string;
  tenant: string;
  device: string;
  kind: "too_large" | "too_small" | "wrong_class" | "use_profile" | "idle" | "imbalanced";
  /* why, in one line */
  text: string;
  current: Part;
  proposed: Part;
  /* in the proposal, while all other leases of the device compute */
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

export interface AuditWho {
  subject: string;
  uid: number | null;
  token: string | null;
}

export interface AuditEntry {
  id: number;
  time: string;
  who: AuditWho;
  from: string;
  action: string;
  object: string;
  detail: string;
  /* ok, or the code of the problem */
  result: string;
}

export interface WhoAmI {
  subject: string;
  /* of a user of this machine */
  uid: number | null;
  scope: Scope;
  token: Token | null;
  /* the machine's name */
  node: string;
  /* of the agent */
  version: string;
  /* the agent serves all users */
  system: boolean;
}

export interface Version {
  /* of the agent */
  version: string;
  /* of this API */
  api: number;
  pid: number;
  started_at: string;
}

export interface NodeAddress {
  name: string;
  url: string;
}

export interface Replica {
  /* of its container, and of its lease */
  name: string;
  /* queued, creating, starting, ready, ended, draining, freezing, frozen or removing */
  state: string;
  /* it has a device */
  lease: boolean;
  /* requests or connections */
  in_flight: number;
  /* why it ended */
  why: string;
}

export interface Service {
  name: string;
  /* ready, starting, stopping, asleep, off, no room, failing, failed, complete or removed */
  state: string;
  /* replicas */
  wanted: number;
  /* replicas */
  ready: number;
  min_replicas: number;
  max_replicas: number;
  /* that are published */
  ports: number[];
  /* of its leases' promised compute, in the last second */
  use: number;
  /* requests or connections */
  in_flight: number;
  /* since its proxy started */
  requests: number;
  /* it stops without requests */
  sleeps: boolean;
  /* its use changes the number of replicas */
  autoscaled: boolean;
  /* why it has this number of replicas */
  why: string;
  /* the last one; empty: none */
  failure: string;
  /* how many it has; replicas may lack the last of many */
  all_replicas: number;
  replicas: Replica[];
}

export interface Decision {
  id: number;
  time: string;
  /* empty: the project */
  service: string;
  what: string;
  why: string;
}

export interface Action {
  id: string;
  project: string;
  /* whose project it is */
  tenant: string;
  /* who asked for it */
  by: string;
  asked_at: string;
  /* the supervisor takes it before, or never */
  expires_at: string;
  /* refused: nothing was changed; failed: it was begun; expired: the supervisor did not take it in time */
  state: "waiting" | "running" | "done" | "refused" | "failed" | "expired";
  /* what came of it, once it has ended */
  why: string;
  /* of logs: lines, oldest first */
  output: string[];
  /* the output lacks lines at its begin */
  cut: boolean;
  do: string;
  /* as it was asked for, as are replicas, replica and lines */
  service?: string;
  replicas?: number;
  replica?: string;
  lines?: number;
}

/* The services of a compose file. */
export interface Project {
  number: number;
  name: string;
  /* whose services they are */
  tenant: string;
  services: Service[];
  /* of the supervisor, the last ones, oldest first */
  decisions: Decision[];
}
