/* SPDX-License-Identifier: Apache-2.0 */
/* The command that creates a lease.  A lease has a process that holds it, so a page cannot
 * create one; it composes the command instead. */
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
