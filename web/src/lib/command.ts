/* SPDX-License-Identifier: Apache-2.0 */
/* Commands for what a page cannot do: a lease that a program holds begins with the program, and a
 * program is started on the node. */
import type { LeaseClass, Range } from "../api/types";
import { fractionArgument, sizeArgument } from "./format";

export interface NewLease {
  name: string;
  device: string;
  /* A range follows demand. */
  share: number | Range;
  memory_bytes: number;
  cap: number | null;
  class: LeaseClass;
  wait: boolean;
  program: string;
}

export interface KeptRequest {
  name?: string;
  device: string;
  share?: number;
  share_range?: Range;
  cap?: number;
  memory_bytes: number;
  class: LeaseClass;
  wait?: boolean;
  keep: true;
  user: number;
}

/* A lease that no process holds, which the agent creates for a user by the uid. */
export function keptRequest(lease: NewLease, user: number): KeptRequest {
  const { name, device, share, memory_bytes, cap } = lease;
  return {
    ...(name ? { name } : {}), device, memory_bytes, class: lease.class, keep: true, user,
    ...(typeof share === "number" ? { share } : { share_range: share }),
    ...(cap === null ? {} : { cap }), ...(lease.wait ? { wait: true } : {}),
  };
}

/* Starts a program in a lease that exists. */
export function joinCommand(lease: string, program: string): string {
  return `cleave run --lease ${shellWord(lease)} -- ${program.trim() || "PROGRAM"}`;
}

function shareArgument(share: number | Range): string {
  if (typeof share === "number") return fractionArgument(share);
  return `${fractionArgument(share.least)}..${fractionArgument(share.most)}`;
}

/* One word for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function runCommand(lease: NewLease): string {
  const words = ["cleave", "run"];
  if (lease.name) words.push("--name", shellWord(lease.name));
  if (lease.device) words.push("--device", shellWord(lease.device));
  words.push("--share", shareArgument(lease.share));
  words.push("--memory", sizeArgument(lease.memory_bytes));
  if (lease.cap !== null) words.push("--cap", fractionArgument(lease.cap));
  if (lease.class !== "normal") words.push("--class", lease.class);
  if (lease.wait) words.push("--wait");
  /* The program is already given as a command line. */
  words.push("--", lease.program.trim() || "PROGRAM");
  return words.join(" ");
}
