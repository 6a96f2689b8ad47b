/* SPDX-License-Identifier: Apache-2.0 */
/* Problems that need attention: degraded devices, processes without a lease, and leases that
 * exceed their promise. */
import type { Device, DriverProcess, Lease } from "../api/types";
import { bytes, names } from "./format";
import type { DeviceView } from "./model";

export interface Finding {
  words: string;
  tone: "warn" | "bad";
  /* The reason, and the consequence. */
  text: string;
}

/* The watchdog's findings about a lease. */
export function findingsOf(lease: Lease): Finding[] {
  const found: Finding[] = [];
  const held = typeof lease.driver_memory_bytes === "number" ? bytes(lease.driver_memory_bytes) : "more";

  if (lease.over_quota)
    found.push({ words: "Over quota", tone: "bad",
      text: `the driver reports that it holds ${held} of a quota of ${bytes(lease.memory_bytes)}` });
  if (lease.past_gate)
    found.push({ words: "Past its gate", tone: "bad",
      text: "the driver reports that it computes more than in its turns" });
  if (lease.throttled)
    found.push({ words: "Throttled", tone: "warn",
      text: "it has a tenth of its share until it is within its quota" });
  if (lease.uses_ungated && lease.uses_ungated.length > 0)
    found.push({ words: `Uses ${names(lease.uses_ungated)}`, tone: "warn",
      text: `no gate limits ${names(lease.uses_ungated)}; a partition would` });
  return found;
}

export function processText(process: DriverProcess): string {
  return process.command ? `${process.command} (pid ${process.pid})` : `pid ${process.pid}`;
}

/* The processes that the agent reports; with an agent that lacks that field, all processes
 * without a lease. */
export function needsLease(process: DriverProcess): boolean {
  return !process.has_lease_here && (process.reported ?? true);
}

export function strangersOf(device: Device | null): DriverProcess[] {
  return (device?.processes ?? []).filter(needsLease);
}

export interface Trouble {
  page: "devices" | "leases";
  argument: string;
  name: string;
  text: string;
}

function ofDevice(view: DeviceView): Trouble[] {
  const strangers = strangersOf(view.device);
  const say = (text: string): Trouble =>
    ({ page: "devices", argument: view.name, name: view.name, text });
  const isLeased = view.leases.length > 0 || view.slots.some((slot) => slot.leases.length > 0);
  const troubles: Trouble[] = [];

  if (view.health && view.health.state !== "ok")
    troubles.push(say(`${view.health.state}: ${view.health.reasons.join("; ")}`));
  if (strangers.length > 0)
    troubles.push(say((isLeased ? "also " : "") +
      `used without a lease by ${names(strangers.map(processText), 3)}`));
  return troubles;
}

export function troublesOf(views: DeviceView[], leases: Lease[]): Trouble[] {
  return [...views.flatMap(ofDevice), ...leases.flatMap((lease) => findingsOf(lease).map((each): Trouble =>
    ({ page: "leases", argument: lease.id, name: lease.name, text: each.text })))];
}

/* A reason that is reported once, as an Xid, stays until an admin uncordons the device. */
export function canForget(device: Device | null): boolean {
  return device?.health?.reasons.some((reason) => /^Xid \d/.test(reason)) ?? false;
}
