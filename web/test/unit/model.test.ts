/* SPDX-License-Identifier: Apache-2.0 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as model from "../../src/lib/model";
import { device, GIB, lease, node, nodeDevice, partition } from "./fixtures";

const HOLDER = { text: "process 4711 (python3)", lease: "", pid: 4711 };

test("each device has one assigned status, the gravest first", () => {
  const divided = nodeDevice("gpu0", { scheme: "mig" });
  const t4 = nodeDevice("gpu1", { mig: null, cannot_divide: "a T4 has no MIG: use shares" });
  const off = nodeDevice("gpu1", { mig: null, cannot_divide: "sriov-manage is not installed",
    vf: { capable: false, why_not: "sriov-manage is not installed", total: 16 } });
  const held = nodeDevice("gpu2", { holders: [HOLDER] });
  const lost = { health: { state: "lost" as const, reasons: ["fell off the bus"] } };
  const rows: [Parameters<typeof model.viewsOf>, model.Status, RegExp][] = [
    [[node(nodeDevice("gpu0")), [device("gpu0")], []], "ready", /^$/],
    [[node(divided), [device("gpu0")], []], "divided", /without partitions/],
    [[node(t4), [device("gpu1")], []], "fixed", /no MIG/],
    [[node(off), [], []], "off", /sriov-manage/],
    [[node({ ...off, vf: { ...off.vf!, total: 0 } }), [], []], "fixed", /sriov-manage/],
    [[node(t4), [device("gpu1")], [lease("a", "gpu1")]], "leased", /^$/],
    [[node(held), [device("gpu2")], []], "held", /4711/],
    [[node(divided), [device("gpu0", { cordoned: true })], []], "cordoned", /no new leases/],
    [[node(divided), [device("gpu0", lost)], []], "lost", /bus/],
  ];
  for (const [args, status, reason] of rows) {
    const [view] = model.viewsOf(...args);
    assert.equal(view!.status, status);
    assert.match(view!.reason, reason);
  }
});

test("why a device is leased names who else holds it, not the leases that are shown", () => {
  const processes = [{ pid: 4711, command: "python3", uid: 0, lease: "la", has_lease_here: true,
    memory_bytes: 1 }];
  const shown = nodeDevice("gpu0", { holders: [HOLDER, { text: "lease a of bob", lease: "la", pid: 0 },
    { text: "process 9 (Xorg)", lease: "", pid: 9 }] });
  const [view] = model.viewsOf(node(shown), [device("gpu0", { processes })], [lease("a", "gpu0")]);
  assert.deepEqual([view!.status, view!.reason], ["leased", "process 9 (Xorg)"]);
});

test("the totals of several nodes weigh each device the same", () => {
  const leases = [lease("a", "gpu0"), lease("q", "gpu0", { state: "queued" })];
  const of = (n: number, share_promised: number, list: typeof leases) => {
    const devices = Array.from({ length: n }, (_, at) => device(`gpu${at}`, { share_promised }));
    return model.totalsOf(model.viewsOf(null, devices, list), list, devices);
  };
  assert.deepEqual(model.fleetOf([of(1, 1, leases), of(3, 0.5, [])]),
    { devices: 4, promised: 0.625, free: 0.375, leases: 1 });
  assert.deepEqual(model.fleetOf([]), { devices: 0, promised: 0, free: 0, leases: 0 });
});

test("MIG instances lie where the driver put them, and gaps stay", () => {
  const [view] = model.viewsOf(node(nodeDevice("gpu0", { scheme: "mig", partitions: [
    partition("gpu0/3g.20gb@4", { size: 4 }), partition("gpu0/1g.5gb@1")] })), [device("gpu0")], []);
  assert.deepEqual(view!.slots.map((slot) => [slot.from, slot.width]), [[1 / 8, 1 / 8], [0.5, 0.5]]);
});

test("modes divide evenly, sets of processors by their number", () => {
  const xcp = nodeDevice("gpu0", { scheme: "xcp", mig: null,
    partitions: [0, 1, 2, 3].map((n) => partition(`gpu0/QPX@${n}`)) });
  const cores = nodeDevice("gpu1", { scheme: "cores", mig: null, cores: [0, 1, 2, 3], compute_units: 4,
    partitions: [partition("gpu1/cores:1@0", { compute_units: 1 }),
      partition("gpu1/cores:2@2", { compute_units: 2 })] });
  const [a, b] = model.viewsOf(node(xcp, cores), [], []);
  assert.deepEqual(a!.slots.map((slot) => slot.width), [0.25, 0.25, 0.25, 0.25]);
  assert.deepEqual(b!.slots.map((slot) => [slot.from, slot.width]), [[0, 0.25], [0.25, 0.5]]);
});

test("leases are found on devices, in partitions and in their parts, not beside them", () => {
  const leases = [lease("a", "gpu1"), lease("b", "gpu1/3g.20gb@4"), lease("c", "gpu1/3g.20gb@4/1c@0"),
    lease("d", "gpu10"), lease("q", "gpu1/3g.20gb@4", { state: "queued" })];
  const [view] = model.viewsOf(node(nodeDevice("gpu1", { scheme: "mig",
    partitions: [partition("gpu1/3g.20gb@4", { size: 4 })] })), [device("gpu1")], leases);
  assert.deepEqual(view!.leases.map((each) => each.name), ["a"]);
  assert.deepEqual(view!.slots[0]!.leases.map((each) => each.name), ["b", "c"]);
  assert.deepEqual(view!.queued.map((each) => each.name), ["q"]);
});

test("without a node the devices alone will do, and partitions are no devices", () => {
  const views = model.viewsOf(null, [device("gpu0"), device("gpu0/1g@0", { parent: "gpu0" })], []);
  assert.deepEqual(views.map((view) => view.name), ["gpu0"]);
});

test("what is promised of a divided device is weighed by its parts", () => {
  const [view] = model.viewsOf(node(nodeDevice("gpu0", { scheme: "mig",
    partitions: [partition("gpu0/3g.20gb@4", { size: 4 })] })),
  [device("gpu0"), device("gpu0/3g.20gb@4", { parent: "gpu0", share_promised: 0.5,
    memory_promised_bytes: GIB })],
  [lease("a", "gpu0/3g.20gb@4", { share_used: 0.2 })]);
  assert.equal(model.promisedOf(view!), 0.25);
  assert.equal(model.usedOf(view!), 0.1);
  assert.equal(model.memoryPromisedOf(view!), GIB);
});

test("room is what nobody was promised, and one's own when one resizes", () => {
  const full = device("gpu0", { share_promised: 0.8, memory_promised_bytes: 38 * GIB });
  assert.deepEqual(model.roomOn(full), { share: 0.2, memory_bytes: 2 * GIB });
  assert.deepEqual(model.roomOn(full, lease("a", "gpu0")), { share: 0.7, memory_bytes: 12 * GIB });
  const over = device("gpu0", { share_promised: 1.5, memory_promised_bytes: 80 * GIB });
  assert.deepEqual(model.roomOn(over), { share: 0, memory_bytes: 0 });
});

test("totals", () => {
  const devices = [device("gpu0", { share_promised: 1 }), device("gpu1")];
  const leases = [lease("a", "gpu0"), lease("b", "gpu0", { state: "queued" })];
  const views = model.viewsOf(node(nodeDevice("gpu0"), nodeDevice("gpu1")), devices, leases);
  const totals = model.totalsOf(views, leases, devices);
  assert.deepEqual([totals.devices, totals.promised, totals.active, totals.queued], [2, 1, 1, 1]);
});

test("vendors by the names that people use", () => {
  assert.equal(model.vendorName("AuthenticAMD"), "AMD");
  assert.equal(model.vendorName("NVIDIA Corporation"), "NVIDIA");
  assert.equal(model.vendorName("GenuineIntel"), "Intel");
  assert.equal(model.vendorName("Moore Threads"), "Moore Threads");
});
