/* SPDX-License-Identifier: Apache-2.0 */
/* What drivers and the watchdog say, in words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventTone, eventWords } from "../../src/lib/events";
import { viewsOf } from "../../src/lib/model";
import {
  busy, celsius, codecs, energy, enginesLine, heatOf, readingsLine, watts,
} from "../../src/lib/readings";
import { canForget, findingsOf, processText, strangersOf, troublesOf } from "../../src/lib/troubles";
import { device, GIB, lease, node, nodeDevice } from "./fixtures";

const SEEN = { pid: 7, command: "python3", uid: 1000, lease: null, has_lease_here: false, memory_bytes: GIB };

test("readings have units, and nothing is made of null", () => {
  assert.deepEqual([watts(58.4), watts(1705), watts(null), watts(undefined)], ["58 W", "1.7 kW", null, null]);
  assert.deepEqual([celsius(66), celsius(0), celsius(null)], ["66 °C", "0 °C", null]);
  assert.deepEqual([busy(0.97), busy(0), busy(null)], ["97%", "0%", null]);
  assert.deepEqual([energy(12), energy(98765), energy(987e6), energy(null)],
    ["12 J", "98.8 kJ", "274.2 kWh", null]);
  assert.equal(readingsLine(device("gpu0", { temperature_celsius: 66, power_watts: 381, utilization: 0 })),
    "Driver: 66 °C · 381 W · 0% busy");
  assert.equal(readingsLine(device("gpu0", { power_watts: null })), "");
  assert.equal(readingsLine(null), "");
});

test("engines: what there is, none, and what nobody knows", () => {
  assert.equal(enginesLine({ encode: 0, decode: 5, jpeg: 1, optical_flow: 1, copy: 7 }),
    "5 decode, 1 JPEG, 1 optical flow, 7 copy");
  assert.equal(enginesLine({ encode: 0, decode: 0 }), "none");
  assert.equal(enginesLine({ encode: null, decode: null }), "not said");
  assert.equal(enginesLine(null), "not said");
  assert.deepEqual([codecs({ encode: 0, decode: null }), codecs(undefined)], ["0 / –", "–"]);
});

test("of a node: all the power that is known of, and the hottest", () => {
  const views = viewsOf(null, [device("gpu0", { power_watts: 300, temperature_celsius: 50 }),
    device("gpu1", { power_watts: null, temperature_celsius: 71 }), device("gpu2")], []);
  assert.deepEqual(heatOf(views), { watts: 300, hottest: { name: "gpu1", celsius: 71 } });
  assert.deepEqual(heatOf([]), { watts: null, hottest: null });
});

test("a lease that is not held says how and why", () => {
  const found = findingsOf(lease("a", "gpu0", { memory_bytes: 20 * GIB, driver_memory_bytes: 25 * GIB,
    over_quota: true, throttled: true, uses_ungated: ["vulkan", "level-zero"] }));
  assert.deepEqual(found.map((each) => [each.words, each.tone]), [["Over quota", "bad"],
    ["Throttled", "warn"], ["Uses vulkan and level-zero", "warn"]]);
  assert.match(found[0]!.text, /25 GiB of a quota of 20 GiB/);
  assert.deepEqual(findingsOf(lease("a", "gpu0")), []);
  assert.deepEqual(findingsOf(lease("a", "gpu0", { over_quota: false, uses_ungated: [] })), []);
});

test("a use without a lease does not deny the leases beside it", () => {
  const used = device("gpu0", { processes: [SEEN] });
  const of = (...leases: ReturnType<typeof lease>[]) =>
    troublesOf(viewsOf(node(nodeDevice("gpu0")), [used], leases), []).map((each) => each.text);
  assert.deepEqual(of(), ["used without a lease by python3 (pid 7)"]);
  assert.deepEqual(of(lease("a", "gpu0")), ["also used without a lease by python3 (pid 7)"]);
});

test("who is on a device without a lease there", () => {
  const seen = device("gpu0", { processes: [SEEN, { ...SEEN, pid: 8, lease: "la", has_lease_here: true },
    { ...SEEN, pid: 9, lease: "lb" }, { ...SEEN, pid: 10, reported: false },
    { ...SEEN, pid: 11, reported: true }] });
  assert.deepEqual(strangersOf(seen).map((each) => each.pid), [7, 9, 11]);
  assert.deepEqual(strangersOf(null), []);
  assert.equal(processText({ ...SEEN, command: "" }), "pid 7");
});

test("what there is to look at: devices first, then leases", () => {
  const sick = { state: "degraded" as const, reasons: ["rows wait", "Xid 63, a row"] };
  const views = viewsOf(node(nodeDevice("gpu0"), nodeDevice("gpu1")),
    [device("gpu0", { health: sick }), device("gpu1", { processes: [SEEN] })], []);
  const leases = [lease("a", "gpu0", { uses_ungated: ["vulkan"] }), lease("b", "gpu0")];
  assert.deepEqual(troublesOf(views, leases).map((each) => `${each.page} ${each.name}: ${each.text}`), [
    "devices gpu0: degraded: rows wait; Xid 63, a row",
    "devices gpu1: used without a lease by python3 (pid 7)",
    "leases a: no gate limits vulkan; a partition would",
  ]);
});

test("only what was said once can be forgotten", () => {
  const of = (...reasons: string[]) => device("gpu0", { health: { state: "degraded", reasons } });
  assert.equal(canForget(of("rows wait", "Xid 63, a row of memory is to be remapped")), true);
  assert.equal(canForget(of("rows wait")), false);
  assert.equal(canForget(device("gpu0")), false);
});

test("each type of event has words, and a newer agent's its name", () => {
  assert.equal(eventWords("lease_over_quota"), "lease over its quota");
  assert.equal(eventWords("something_new"), "something new");
  assert.deepEqual(["device_lost", "ungated_api", "device_recovered", "lease_created", "something_new"]
    .map(eventTone), ["trouble", "warning", "good", "", ""]);
});
