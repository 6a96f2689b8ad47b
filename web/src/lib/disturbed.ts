/* SPDX-License-Identifier: Apache-2.0 */
/* What an action affects: the sentences of its confirmation. */
import type { Holder, Lease, Operation, Partition, Plan } from "../api/types";
import { count, names } from "./format";
import type { DeviceView } from "./model";

export function holdersOf(partition: Partition): Holder[] {
  return [...partition.holders, ...partition.parts.flatMap(holdersOf)];
}

export function byDestroying(partition: Partition, leases: Lease[]): string[] {
  const inside = leases.filter((lease) => lease.device === partition.name ||
    lease.device.startsWith(`${partition.name}/`));
  const holders = holdersOf(partition).map((each) => each.text);
  const lines = [`The partition ${partition.name} and the contents of its memory.`];

  if (partition.parts.length > 0)
    lines.push(`Its ${count(partition.parts.length, "compute instance")}.`);
  if (inside.length > 0)
    lines.push(`${count(inside.length, "lease")}: ${names(inside.map((each) => each.name))}.`);
  if (holders.length > 0) lines.push(`In use by ${names(holders)}: the agent will refuse.`);
  if (lines.length === 1) lines.push("It has no holder.");
  return lines;
}

export function byReleasing(lease: Lease): string[] {
  const pids = lease.processes.map((each) => String(each.pid));

  if (lease.state === "queued") return [`${lease.name} leaves the queue. Nothing is running yet.`];
  if (pids.length > 0)
    return [`${count(pids.length, "process", "processes")} of ${lease.tenant} ` +
      `${pids.length === 1 ? "is" : "are"} ended (pid ${names(pids)}).`,
    "They get SIGTERM now and SIGKILL after 5 seconds; unsaved data is lost."];
  if (lease.kept) return ["It is reserved for later programs, and has no program now."];
  return [`${lease.command} (pid ${lease.holder_pid}) holds it and has no process on the ` +
    "device. The program continues without the device."];
}

/* Of several leases: which, and whose processes end. */
export function byReleasingAll(leases: Lease[]): string[] {
  const busy = leases.filter((each) => each.processes.length > 0);
  const processes = busy.reduce((sum, each) => sum + each.processes.length, 0);
  const lines = [`${count(leases.length, "lease")}: ` +
    `${names(leases.map((each) => `${each.name} of ${each.tenant}`), 12)}.`];

  if (processes > 0)
    lines.push(`${count(processes, "process", "processes")} in ${names(busy.map((each) => each.name), 12)} ` +
      `${processes === 1 ? "is" : "are"} ended: SIGTERM now, SIGKILL after 5 seconds; unsaved data is lost.`);
  return lines;
}

/* Of several devices: which, and the leases that are on them now. */
export function byDraining(views: DeviceView[]): string[] {
  const leases = views.flatMap((view) => [...view.leases, ...view.slots.flatMap((slot) => slot.leases)]);
  return [`${count(views.length, "device")}: ${names(views.map((each) => each.name), 12)}.`,
    "They take no new leases. Their leases may end by themselves.",
    leases.length > 0
      ? `On them now: ${names(leases.map((each) => `${each.name} of ${each.tenant}`), 12)}.`
      : "No lease is on them now."];
}

export function byApplying(plan: Plan): string[] {
  const destroyed = plan.steps.filter((step) => step.kind.startsWith("destroy"));
  const affected = plan.steps.flatMap((step) => step.affects);
  const reset = plan.steps.filter((step) => step.needs.includes("reset")).map((s) => s.device);
  const reload = plan.steps.some((step) => step.needs.includes("reload"));
  const lines: string[] = [];

  if (destroyed.length > 0)
    lines.push(`Destroyed: ${names(destroyed.map((step) => step.partition))}.`);
  if (reset.length > 0) lines.push(`Reset: ${names(reset)}.`);
  if (reload)
    lines.push("The driver is reloaded: its devices are unavailable for up to two minutes.");
  if (affected.length > 0) lines.push(`Work ends on ${names(affected)}, if there is any.`);
  if (plan.obstacles.length > 0)
    lines.push(`In the way: ${names(plan.obstacles.flatMap((each) =>
      each.holders.map((holder) => holder.text)))}.`);
  if (lines.length === 0) lines.push("No existing partition, lease or program is affected.");
  return lines;
}

const ENDED = ["done", "failed", "rolled_back"];

export function hasEnded(operation: Operation): boolean {
  return ENDED.includes(operation.state);
}

export const STATE_WORDS: Record<Operation["state"], string> = {
  surveying: "Looking at the devices",
  waiting: "Waiting for holders to end",
  running: "Running",
  rolling_back: "Restoring the previous state",
  done: "Done",
  failed: "Failed",
  rolled_back: "Failed, and the previous state is restored",
};
