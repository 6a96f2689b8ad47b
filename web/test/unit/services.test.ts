/* SPDX-License-Identifier: Apache-2.0 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action, Lease, Project, Replica, Service } from "../../src/api/types";
import {
  actionText, findProject, hasActionEnded, leftOut, projectKey, reasonOf, replicasOf, replicasText,
  rowsOf, stateWords, stepsOf, toneOf,
} from "../../src/lib/services";

const replica = (name: string, lease = true) => ({ name, lease, state: "ready" }) as Replica;
const service = (name: string, more: Partial<Service> = {}) =>
  ({ name, state: "ready", wanted: 1, ready: 1, min_replicas: 1, max_replicas: 1, all_replicas: 0,
    why: "steady", failure: "", replicas: [], ...more }) as unknown as Service;
const project = (tenant: string, name: string, ...services: Service[]) =>
  ({ tenant, name, services }) as Project;

test("a replica is in the lease of its name and tenant", () => {
  const leases = [{ name: "a-web-1", tenant: "ann", id: "1" }, { name: "a-web-1", tenant: "bob", id: "2" },
    { name: "a-web-2", tenant: "bob", id: "3" }] as Lease[];
  const rows = replicasOf(project("bob", "a", service("web", {
    replicas: [replica("a-web-1"), replica("a-web-2", false), replica("a-web-3")] })), leases);

  assert.deepEqual(rows.map((row) => row.lease?.id), ["2", undefined, undefined]);
});

test("projects of two tenants are two, also of one name", () => {
  const projects = [project("bob", "a", service("x")), project("ann", "a", service("y"), service("z")),
    project("@lab/2", "a")];

  assert.deepEqual(rowsOf(projects).map((row) => `${projectKey(row.project)} ${row.service.name}`),
    ["ann/a y", "ann/a z", "bob/a x"]);
  assert.equal(findProject(projects, "bob/a"), projects[0]);
  assert.equal(findProject(projects, "@lab/2/a"), projects[2]);
  assert.equal(findProject(projects, "carol/a"), undefined);
});

test("replicas have their bounds where they can change, and those that a report lacks", () => {
  assert.equal(replicasText(service("x", { ready: 1, wanted: 2 })), "1 of 2");
  assert.equal(replicasText(service("x", { ready: 0, wanted: 0, max_replicas: 4 })), "0 of 0, 1 to 4");
  assert.equal(leftOut(project("a", "b", service("x", { all_replicas: 3, replicas: [replica("r")] }))), 2);
});

test("a failing service says its failure, and an unknown state is shown as it is", () => {
  assert.equal(reasonOf(service("x", { failure: "exit code 1" })), "steady");
  assert.equal(reasonOf(service("x", { state: "failing", failure: "exit code 1" })), "exit code 1");
  assert.equal(reasonOf(service("x", { state: "no room" })), "steady");
  assert.deepEqual([toneOf("failed"), toneOf("freezing"), toneOf("frozen"), toneOf("new")],
    ["bad", "accent", "plain", "plain"]);
  assert.equal(stateWords("no room"), "No room");
});

test("the steps of a service are within its bounds, and none where it does not start again", () => {
  const steps = (more: Partial<Service>) => stepsOf(service("x", { max_replicas: 3, ...more }))
    .map((each) => `${each.label} ${each.replicas}${each.isPossible ? "" : " not"}`);

  assert.deepEqual(steps({ wanted: 2 }), ["−1 1", "+1 3", "Stop 0"]);
  assert.deepEqual(steps({ wanted: 1 }), ["−1 0 not", "+1 2", "Stop 0"]);
  assert.deepEqual(steps({ wanted: 3, sleeps: true }), ["−1 2", "+1 4 not", "Sleep 0"]);
  assert.deepEqual(steps({ wanted: 2, min_replicas: 2, autoscaled: true }), ["−1 1 not", "+1 3", "Stop 0"]);
  assert.deepEqual(steps({ wanted: 0, min_replicas: 2, autoscaled: true, sleeps: true }), ["Wake 2"]);
  assert.deepEqual(steps({ wanted: 0, min_replicas: 3, sleeps: true, state: "asleep" }), ["Wake 3"]);
  assert.deepEqual(steps({ wanted: 1, sleeps: true, state: "asleep" }), ["Wake 1"]);
  assert.deepEqual(steps({ wanted: 0, min_replicas: 0 }), ["Start 1"]);
  assert.deepEqual(steps({ state: "complete", wanted: 1 }), []);
});

test("what came of an action is said as the supervisor said it", () => {
  const action = (state: string) => ({ state, why: "web is asleep" }) as Action;

  assert.deepEqual(["done", "refused", "failed", "expired"].map((state) => actionText(action(state))),
    ["web is asleep.", "Refused: web is asleep.", "Failed: web is asleep.", "Not done: web is asleep."]);
  assert.deepEqual(["waiting", "running", "done", "expired"].map((state) => hasActionEnded(action(state))),
    [false, false, true, true]);
});
