/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's types of events as texts, and the severity of each. */

export type Tone = "" | "trouble" | "warning" | "good";

const TYPES: Record<string, [string, Tone]> = {
  agent_started: ["agent started", ""],
  agent_stopping: ["agent stops", ""],
  lease_queued: ["lease queued", ""],
  lease_created: ["lease created", ""],
  lease_resized: ["lease resized", ""],
  lease_ended: ["lease ended", ""],
  lease_adopted: ["lease adopted from the previous agent", ""],
  lease_expired: ["lease's time is over", ""],
  lease_over_quota: ["lease over its quota", "trouble"],
  lease_within_quota: ["lease within its quota again", "good"],
  lease_past_gate: ["lease computes past its gate", "trouble"],
  lease_within_gate: ["lease computes in its turns again", "good"],
  share_moved: ["share followed demand", ""],
  process_attached: ["process attached", ""],
  process_refused: ["process refused", "trouble"],
  process_ended: ["process ended", ""],
  process_strayed: ["process strayed from its processors", "warning"],
  process_without_lease: ["process without a lease", "warning"],
  ungated_api: ["API without a gate in use", "warning"],
  processes_unchecked: ["processes not checked", "warning"],
  settings_reloaded: ["settings read again", "good"],
  settings_refused: ["new settings refused", "trouble"],
  connections_limited: ["too many connections", "warning"],
  state_removed: ["state file removed", "trouble"],
  sm_not_held: ["limit of multiprocessors not enforced", "warning"],
  memory_refused: ["memory refused", "warning"],
  drain_overdue: ["device not given back in time", "trouble"],
  apply_done: ["layout applied", "good"],
  apply_failed: ["layout failed", "trouble"],
  apply_rolled_back: ["previous layout restored", "trouble"],
  apply_resumed: ["layout continued", ""],
  layout_waits: ["layout waits for a device", "warning"],
  device_cordoned: ["device cordoned", "warning"],
  device_uncordoned: ["device uncordoned", "good"],
  device_degraded: ["device degraded", "trouble"],
  device_lost: ["device lost", "trouble"],
  device_recovered: ["device recovered", "good"],
  device_executor: ["executor of a device changed", ""],
  device_error: ["error on a device", "trouble"],
};

/* Types that only a newer agent has are shown by their names. */
export function eventWords(type: string): string {
  return TYPES[type]?.[0] ?? type.replaceAll("_", " ");
}

export function eventTone(type: string): Tone {
  return TYPES[type]?.[1] ?? "";
}
