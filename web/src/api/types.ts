/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the agent's API (docs/api.md).  What an older agent does not say yet is
 * optional here, so that the compiler makes every page think of its absence. */

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
  state: "ok" | "degraded" | "lost";
  reasons: string[];
  since?: string | null;
}

/* null: only a driver would know. */
export interface Engines {
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
  lease: string | null;
  has_lease_here: boolean;
  /* As one that should have a lease here: settings may say of some that they need none. */
  reported?: boolean;
  memory_bytes: number | null;
  utilization?: number | null;
}

export interface Range {
  least: number;
  most: number;
}

export interface PartitionOf {
  scheme: string;
  profile: string;
  uuid: string;
  address: string;
}

export interface Device {
  name: string;
  uuid: string;
  model: string;
  vendor: string;
  driver: string;
  type: string;
  backend: string;
  executor: string;
  compute_units: number;
  memory_bytes: number;
  share_promised: number;
  memory_promised_bytes: number;
  memory_used_bytes: number;
  leases: number;
  queued: number;
  parent?: string | null;
  partition?: PartitionOf | null;
  divided?: boolean;
  numa_node?: number | null;
  health?: Health;
  cordoned?: boolean;
  cordon_reason?: string | null;
  power_watts?: number | null;
  temperature_celsius?: number | null;
  energy_joules?: number | null;
  utilization?: number | null;
  encoder_utilization?: number | null;
  decoder_utilization?: number | null;
  driver_memory_used_bytes?: number | null;
  processes?: DriverProcess[];
}

export interface Devices extends ListOf<Device> {
  problems?: string[];
}

export type LeaseClass = "latency" | "normal" | "batch";

export interface Lease {
  id: string;
  name: string;
  tenant: string;
  uid: number;
  device: string;
  state: "queued" | "active";
  share: number;
  cap: number | null;
  memory_bytes: number;
  class: LeaseClass;
  overcommit: boolean;
  queue_position: number | null;
  created_at: string;
  holder_pid: number | null;
  kept: boolean;
  command: string;
  share_used: number;
  held_seconds: number;
  busy_seconds: number;
  throttled_seconds: number;
  waited_seconds: number;
  turns: number;
  revocations: number;
  memory_used_bytes: number;
  refusals: number;
  waiting: boolean;
  holding: boolean;
  in: string | null;
  partition: PartitionOf | null;
  devices: { name: string }[];
  processes: { pid: number; memory_used_bytes: number; attached_at: string }[];
  expires_at?: string | null;
  share_range?: Range | null;
  driver_memory_bytes?: number | null;
  over_quota?: boolean;
  driver_utilization?: number | null;
  past_gate?: boolean;
  throttled?: boolean;
  uses_ungated?: string[];
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

export interface Tenant {
  name: string;
  uid: number | null;
  leases: number;
  queued: number;
  share: number;
  memory_bytes: number;
  gpu_seconds: number;
  allowance: {
    share: number | null;
    memory_bytes: number | null;
    leases: number | null;
    profiles: string[] | null;
    classes: string[] | null;
  } | null;
}

export type Scope = "admin" | "tenant" | "viewer";

export interface Token {
  id: string;
  name: string;
  scope: Scope;
  tenant: string | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
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
