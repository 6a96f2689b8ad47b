/* SPDX-License-Identifier: Apache-2.0 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../src/lib/format";

test("sizes are binary, short, and never 1024 of a unit", () => {
  const rows: [number, string][] = [
    [0, "0 B"], [1023, "1023 B"], [1024, "1 KiB"], [1536, "1.5 KiB"], [10 * 2 ** 30, "10 GiB"],
    [42144366592, "39.3 GiB"], [2 ** 40 - 1, "1 TiB"], [2 ** 20 - 1, "1 MiB"],
    [206158430208, "192 GiB"], [2 ** 60, "1024 PiB"],
  ];
  for (const [n, text] of rows) assert.equal(format.bytes(n), text);
});

test("a part of a size is said in the unit of the whole", () => {
  assert.equal(format.bytesOf(2 ** 29, 8 * 2 ** 30), "0.5 of 8 GiB");
  assert.equal(format.bytesOf(0, 2 ** 20), "0 of 1 MiB");
  assert.equal(format.bytesOf(2048, 2 ** 20), "<0.1 of 1 MiB");
  assert.equal(format.bytesOf(150 * 2 ** 30, 192 * 2 ** 30), "150 of 192 GiB");
});

test("a size for the command line fits what it stands for", () => {
  assert.equal(format.sizeArgument(8 * 2 ** 30), "8G");
  assert.equal(format.sizeArgument(1.5 * 2 ** 30), "1536M");
  assert.equal(format.sizeArgument(100 * 2 ** 20 + 5), "100M");
});

test("fractions", () => {
  assert.equal(format.percent(0.3), "30%");
  assert.equal(format.percent(0.004), "<1%");
  assert.equal(format.percent(0), "0%");
  assert.equal(format.percent(0.125, 1), "12.5%");
  assert.equal(format.fractionArgument(0.1 + 0.2), "0.3");
  assert.equal(format.fractionArgument(1), "1");
});

test("spans of time", () => {
  const rows: [number, string][] = [[-3, "0 s"], [59, "59 s"], [60, "1 min"], [3599, "59 min"],
    [3600, "1 h 0 min"], [90000, "25 h 0 min"], [200000, "2 d"]];
  for (const [s, text] of rows) assert.equal(format.duration(s), text);
  assert.equal(format.since("2026-01-31T12:00:00Z", Date.parse("2026-01-31T12:00:12Z")), "12 s");
});

test("a clock names the day only when it is another one", () => {
  const now = new Date(2026, 0, 31, 18, 0, 0);
  assert.equal(format.clock(new Date(2026, 0, 31, 9, 5, 7).toISOString(), now), "09:05:07");
  assert.equal(format.clock(new Date(2026, 0, 2, 9, 5, 7).toISOString(), now), "2026-01-02 09:05:07");
  assert.equal(format.clock("never", now), "never");
});

test("lists of names are sentences, and end", () => {
  assert.equal(format.names([]), "");
  assert.equal(format.names(["a"]), "a");
  assert.equal(format.names(["a", "b", "b"]), "a and b");
  assert.equal(format.names(["a", "b", "c", "d"], 3), "a, b and 2 more");
  assert.equal(format.count(1, "lease"), "1 lease");
  assert.equal(format.count(2, "process", "processes"), "2 processes");
});
