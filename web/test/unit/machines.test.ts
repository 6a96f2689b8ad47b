/* SPDX-License-Identifier: Apache-2.0 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Device, Lease, NodeDevice, StandingShare } from "../../src/api/types";
import { countsOf, machinesOf, membersOf } from "../../src/lib/machines";

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
