/* SPDX-License-Identifier: Apache-2.0 */
/* Shares that are ranges, and changes of leases. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Part } from "../../src/api/types";
import { beyondOf } from "../../src/lib/beyond";
import { runCommand } from "../../src/lib/command";
import { roomOn } from "../../src/lib/model";
import {
  changeLines, changesOf, isResize, promiseOf, proposedSize, rangeText, sizeOf,
} from "../../src/lib/share";
import { device, GIB, lease } from "./fixtures";

const RANGE = { least: 0.1, most: 0.6 };
const part = (more: Partial<Part> = {}): Part =>
  ({ share: 0.5, memory_bytes: 10 * GIB, class: "normal", ...more });

test("of a range the least is promised, whatever it has at present", () => {
  const moved = lease("a", "gpu0", { share: 0.4, share_range: RANGE });
  assert.deepEqual([promiseOf(moved), promiseOf(lease("b", "gpu0"))], [0.1, 0.5]);
  assert.deepEqual(roomOn(device("gpu0", { share_promised: 0.8 }), moved).share, 0.3);
  assert.equal(rangeText(RANGE), "10% to 60%");
  assert.match(runCommand({ name: "", device: "", share: RANGE, cap: null, memory_bytes: GIB,
    class: "normal", wait: false, program: "a" }), /^cleave run --share 0\.1\.\.0\.6 --memory 1G -- a$/);
});

test("a change says only what is to change", () => {
  const fixed = sizeOf(lease("a", "gpu0"));
  const ranged = sizeOf(lease("a", "gpu0", { share: 0.4, share_range: RANGE }));

  assert.deepEqual(changesOf(fixed, fixed), {});
  assert.deepEqual(changesOf(ranged, { ...ranged, share: 0.3 }), {});
  assert.deepEqual(changesOf(fixed, { ...fixed, share: 0.2, cap: 0.5 }), { share: 0.2, cap: 0.5 });
  assert.deepEqual(changesOf(fixed, { ...fixed, range: RANGE }), { share_range: RANGE });
  assert.deepEqual(changesOf(ranged, { ...ranged, range: null }), { share: 0.4 });
  assert.deepEqual(changesOf(ranged, { ...ranged, range: { least: 0.2, most: 0.6 }, class: "batch" }),
    { share_range: { least: 0.2, most: 0.6 }, class: "batch" });
});

test("a confirmation names each change", () => {
  const from = sizeOf(lease("a", "gpu0", { cap: 0.5 }));
  const to = { share: 0.2, range: null, memory_bytes: GIB, class: "batch" as const, cap: null };
  assert.deepEqual(changeLines(from, to),
    ["Share: 50% now, then 20%.", "Memory: 10 GiB now, then 1 GiB.", "Class: normal now, then batch.",
      "Cap: 50% now, then none."]);
  assert.deepEqual(changeLines(from, { ...from, range: RANGE }), ["Share: 50% now, then 10% to 60%."]);
  assert.deepEqual(changeLines(from, from), []);
});

test("an advice changes what it is about: a range stays unless the share is to change", () => {
  const ranged = lease("a", "gpu0", { share: 0.45, share_range: RANGE });
  const memory = { current: part(), proposed: part({ memory_bytes: GIB }) };
  assert.deepEqual(changesOf(sizeOf(ranged), proposedSize(ranged, memory)), { memory_bytes: GIB });

  const capped = lease("a", "gpu0", { cap: 0.5 });
  assert.deepEqual(changesOf(sizeOf(capped), proposedSize(capped,
    { current: part({ cap: 0.5 }), proposed: part() })), { cap: null });
  assert.deepEqual(changesOf(sizeOf(capped), proposedSize(capped,
    { current: part({ cap: 0.5 }), proposed: part({ share: 0.7, cap: 0.7 }) })), { share: 0.7, cap: 0.7 });
  assert.equal(isResize({ kind: "too_large", proposed: part() }), true);
  assert.equal(isResize({ kind: "idle", proposed: part() }), false);
  assert.equal(isResize({ kind: "use_profile", proposed: part({ profile: "1g.5gb" }) }), false);
});

test("what is used beyond a share lies where nothing is promised, then where others are idle", () => {
  const at = (leases: Parameters<typeof beyondOf>[0], end: number) => beyondOf(leases, end)
    .map((piece) => [piece.lease.name, +piece.from.toFixed(3), +piece.width.toFixed(3)]);
  const hungry = lease("a", "gpu0", { share: 0.3, share_used: 0.7 });

  assert.deepEqual(at([hungry, lease("b", "gpu0", { share: 0.5, share_used: 0.1 })], 0.8),
    [["a", 0.8, 0.2], ["a", 0.4, 0.2]]);
  assert.deepEqual(at([hungry], 0.3), [["a", 0.3, 0.4]]);
  /* The idlest first. */
  const [some, little, idle] = [[0.3, 0.5], [0.2, 0.15], [0.5, 0.1]].map(([share, share_used]) =>
    lease("a", "gpu0", { share, share_used }));
  assert.deepEqual(at([some!, little!, idle!], 1), [["a", 0.6, 0.2]]);
  assert.deepEqual(at([lease("b", "gpu0", { share: 0.5, share_used: 0.5 })], 0.5), []);
  /* More than there is, as when a second's figures do not agree: no further than the bar. */
  assert.deepEqual(at([lease("a", "gpu0", { share: 1, share_used: 1.2 })], 1), []);
});
