/* SPDX-License-Identifier: Apache-2.0 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Device, Lease, LeaseDevice, NodeDevice, StandingShare } from "../../src/api/types";
import { countsOf, gpusOf, machinesOf, membersOf } from "../../src/lib/machines";
import { device as deviceOf, lease as leaseOf, node, nodeDevice } from "./fixtures";

test("a virtual machine has all leases of its UUID, and others are none", () => {
  const lease = (id: string, holder: string | null, command: string) => ({ id, holder, command }) as Lease;
  const machines = machinesOf([lease("1", "vm:b", "web 10"), lease("2", null, "sh"),
    lease("3", "vm:a", "web 2"), lease("4", "vm:b", "web 10")]);

  assert.deepEqual(machines.map(({ uuid, name, leases }) => [uuid, name, leases.map(({ id }) => id)]),
    [["a", "web 2", ["3"]], ["b", "web 10", ["1", "4"]]]);
});

test("counts of partitions are a range, or a list where the driver leaves some out", () => {
  const gpu = (total: number, counts: number, capable = true) =>
    ({ vf: { capable, why_not: "", total, counts } }) as NodeDevice;

  assert.equal(countsOf(gpu(16, 0)), "1-16");
  assert.equal(countsOf(gpu(8, 0b10001010)), "2, 4, 8");
  assert.equal(countsOf(gpu(48, 2 ** 47 + 1)), "1, 48");
  assert.equal(countsOf(gpu(2, 0)), "1, 2");
  assert.equal(countsOf(gpu(4, 0, false)), "");
  assert.equal(countsOf({} as NodeDevice), "");
});

test("a GPU of a virtual machine is assigned as a whole, also while no driver shows it", () => {
  const gpu = (name: string, bus: string, more: Partial<NodeDevice> = {}) =>
    nodeDevice(name, { pci_address: `0000:${bus}:00.0`, assignable: "whole", ...more });
  const has = (name: string, bus: string, more: Partial<Lease> = {}) =>
    leaseOf(name, name, { holder: `vm:${name}`, command: `of ${name}`, kept: true,
      devices: [{ name, pci_address: `0000:${bus}:00.0` } as LeaseDevice], ...more });
  const inUse = { assignable: "none", why_not_assignable: "it is in use" } as const;
  const seen = gpusOf(
    node(gpu("gpu0", "01", inUse), gpu("gpu1", "02", inUse), gpu("gpu2", "03"),
      gpu("gpu9", "04", inUse), gpu("gpu4", "05", { scheme: "vf", assignable: "partitioned" }),
      nodeDevice("cpu0", { type: "cpu" })),
    [deviceOf("gpu3", { model: "L40S", memory_bytes: 48 })],
    [has("gpu0", "01"), leaseOf("train", "gpu1"), has("gpu3", "04"),
      has("gpu4/vf:4@1", "05", { partition: { profile: "vf:4" } as Lease["partition"] })]);

  assert.deepEqual(seen.map(({ name, state, why, lease }) => [name, state, why, lease?.command]), [
    ["gpu0", "assigned", "", "of gpu0"],
    ["gpu1", "none", "it is in use", undefined],
    ["gpu2", "whole", "", undefined],
    ["gpu4", "partitioned", "", undefined],
    ["gpu3", "assigned", "", "of gpu3"],
  ]);
  assert.deepEqual([seen[4]!.model, seen[4]!.memory_bytes], ["L40S", 48]);
  assert.deepEqual(gpusOf(null, [], [has("gpu3", "04")]), []);
});

test("members of pools are standing shares of whole devices and partitions", () => {
  const share = (name: string, more: Partial<StandingShare> = {}) =>
    ({ name, device: name, share: 1, memory_bytes: 8, lease: null, in_use: false, ...more });
  const device = (name: string, more = {}) => ({ name, model: "L40S", ...more }) as Device;
  const members = membersOf(
    [share("gpu0/a40", { in_use: true, lease: "l1" }), share("gpu1/a40"), share("gpu2/a40"),
      share("gpu3/a40", { device: null }), share("gpu0/vf:4@1/quarter", { in_use: true }),
      share("gpu1/half", { share: .5 }), share("gpu1/1")],
    [device("gpu0"), device("gpu1"), device("gpu2", { cordoned: true })],
    [{ id: "l1", name: "vm1" } as Lease]);

  const seen = members.map(({ pool, name, state, note, lease }) => [pool, name, state, note, lease?.name]);
  assert.deepEqual(seen, [
    ["a40", "gpu0", "assigned", "", "vm1"],
    ["a40", "gpu1", "available", "", undefined],
    ["a40", "gpu2", "unavailable", "cordoned", undefined],
    ["a40", "gpu3", "unavailable", "lost", undefined],
    ["quarter", "gpu0/vf:4@1", "assigned", "", undefined],
  ]);
});
