/* SPDX-License-Identifier: Apache-2.0 */
/* Shares, some of which are ranges that follow demand, and changes of them. */
import type { Advice, Lease, LeaseClass, Range } from "../api/types";
import { bytes, percent } from "./format";

/* The part that counts against the device: the lower bound of a range. */
export function promiseOf(lease: Pick<Lease, "share" | "share_range">): number {
  return lease.share_range?.least ?? lease.share;
}

export function rangeText({ least, most }: Range): string {
  return `${percent(least)} to ${percent(most)}`;
}

export interface Size {
  /* The current share of one that follows demand. */
  share: number;
  range: Range | null;
  memory_bytes: number;
  class: LeaseClass;
  cap: number | null;
}

export function sizeOf(lease: Lease): Size {
  return { share: lease.share, range: lease.share_range ?? null, memory_bytes: lease.memory_bytes,
    class: lease.class, cap: lease.cap };
}

/* The body of a PATCH: only the fields that change. */
export interface Changes {
  share?: number;
  share_range?: Range;
  memory_bytes?: number;
  class?: LeaseClass;
  cap?: number | null;
}

const isNear = (a: number, b: number) => Math.abs(a - b) < 1e-6;

const isSameRange = (a: Range | null, b: Range | null) =>
  a === b || (a !== null && b !== null && isNear(a.least, b.least) && isNear(a.most, b.most));

export function changesOf(from: Size, to: Size): Changes {
  const changes: Changes = {};
  if (to.range && !isSameRange(from.range, to.range)) changes.share_range = to.range;
  if (!to.range && (from.range || !isNear(from.share, to.share))) changes.share = to.share;
  if (to.memory_bytes !== from.memory_bytes) changes.memory_bytes = to.memory_bytes;
  if (to.class !== from.class) changes.class = to.class;
  if (to.cap !== from.cap) changes.cap = to.cap;
  return changes;
}

const shareOf = (size: Size) => (size.range ? rangeText(size.range) : percent(size.share));
const capOf = (cap: number | null) => (cap === null ? "none" : percent(cap));

/* A line for each change, for the confirmation. */
export function changeLines(from: Size, to: Size): string[] {
  const changes = changesOf(from, to);
  const lines: string[] = [];
  const say = (what: string, before: string, after: string) =>
    lines.push(`${what}: ${before} now, then ${after}.`);

  if (changes.share !== undefined || changes.share_range) say("Share", shareOf(from), shareOf(to));
  if (changes.memory_bytes !== undefined) say("Memory", bytes(from.memory_bytes), bytes(to.memory_bytes));
  if (changes.class) say("Class", from.class, to.class);
  if (changes.cap !== undefined) say("Cap", capOf(from.cap), capOf(to.cap));
  return lines;
}

/* A lease after an advice is applied.  Fields that the advice does not change stay, above all
 * a range, of which the advice has only the current share. */
export function proposedSize(lease: Lease,
  { current, proposed }: Pick<Advice, "current" | "proposed">): Size {
  const size = sizeOf(lease);
  const cap = (proposed.cap ?? null) === (current.cap ?? null) ? size.cap : proposed.cap ?? null;
  const keepsShare = isNear(proposed.share, current.share);

  return {
    share: keepsShare ? size.share : proposed.share,
    range: keepsShare ? size.range : null,
    memory_bytes: proposed.memory_bytes === current.memory_bytes ? size.memory_bytes
      : proposed.memory_bytes,
    class: proposed.class,
    cap,
  };
}

/* An advice that can be applied to the running lease, without another partition and without
 * ending it. */
export function isResize(item: Pick<Advice, "kind" | "proposed">): boolean {
  return !item.proposed.profile && item.kind !== "idle";
}
