/* SPDX-License-Identifier: Apache-2.0 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Plan, PlanStep } from "../../src/api/types";
import { byApplying, byDestroying, byDraining, byReleasing, byReleasingAll } from "../../src/lib/disturbed";
import { viewsOf } from "../../src/lib/model";
import { device, lease, partition } from "./fixtures";

const step = (more: Partial<PlanStep>): PlanStep => ({ number: 1, kind: "create", text: "", device: "gpu0",
  partition: "gpu0/1g.5gb@0", needs: [], affects: [], why: "", ...more });

const plan = (...steps: PlanStep[]): Plan => ({ steps, kept: [], obstacles: [], warnings: [],
  on_busy: "fail", shares: [] });

test("destroying names the leases and holders inside", () => {
  const lines = byDestroying(partition("gpu0/3g.20gb@4", { holders: [{ text: "vm 17", lease: "", pid: 0 }],
    parts: [partition("gpu0/3g.20gb@4", { holders: [{ text: "python3", lease: "", pid: 9 }] })] }),
  [lease("train", "gpu0/3g.20gb@4"), lease("other", "gpu0/3g.20gb@40")]).join(" ");
  assert.match(lines, /1 lease: train\./);
  assert.match(lines, /vm 17 and python3/);
  assert.match(lines, /1 compute instance/);
  assert.doesNotMatch(lines, /other/);
  assert.match(byDestroying(partition("gpu0/1g.5gb@0"), []).join(" "), /It has no holder/);
});

test("releasing says which processes end, and how", () => {
  const processes = [{ pid: 7, memory_used_bytes: 0, attached_at: "" }];
  assert.match(byReleasing(lease("a", "gpu0", { processes })).join(" "), /1 process .*pid 7.*SIGKILL/);
  assert.match(byReleasing(lease("a", "gpu0")).join(" "), /no process on the device/);
  assert.match(byReleasing(lease("a", "gpu0", { state: "queued" })).join(" "), /leaves the queue/);
});

test("applying says what is destroyed, reset, reloaded and affected", () => {
  assert.deepEqual(byApplying(plan(step({}))), ["No existing partition, lease or program is affected."]);
  const lines = byApplying(plan(step({ kind: "destroy" }),
    step({ kind: "mig-mode", needs: ["idle", "reset"], affects: ["gpu0"] }),
    step({ kind: "reload", needs: ["reload"], affects: ["gpu1"] }))).join(" ");
  assert.match(lines, /Destroyed: gpu0\/1g\.5gb@0\./);
  assert.match(lines, /Reset: gpu0\./);
  assert.match(lines, /up to two minutes/);
  assert.match(lines, /Work ends on gpu0 and gpu1/);
});

test("several leases are named before they are released, with the processes that end", () => {
  const busy = lease("b", "gpu0", { processes: [
    { pid: 7, memory_used_bytes: 0, attached_at: "2026-01-31T12:00:00.000Z" }] });
  assert.deepEqual(byReleasingAll([lease("a", "gpu0")]), ["1 lease: a of bob."]);
  assert.deepEqual(byReleasingAll([lease("a", "gpu0"), busy]), ["2 leases: a of bob and b of bob.",
    "1 process in b is ended: SIGTERM now, SIGKILL after 5 seconds; unsaved data is lost."]);
});

test("several devices are named before they are drained, with their leases", () => {
  const views = viewsOf(null, [device("gpu0"), device("gpu1")], [lease("a", "gpu1")]);
  assert.deepEqual(byDraining(views), ["2 devices: gpu0 and gpu1.",
    "They take no new leases. Their leases may end by themselves.", "On them now: a of bob."]);
  assert.match(byDraining(views.slice(0, 1)).join(" "), /^1 device: gpu0\..*No lease is on them now\.$/);
});
