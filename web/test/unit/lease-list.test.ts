/* SPDX-License-Identifier: Apache-2.0 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LeaseList } from "../../src/api/lease-list";
import type { Lease, LeaseList as Answer } from "../../src/api/types";

const lease = (id: string, share = 0.1) => ({ id, share }) as Lease;

/* An agent that gives these answers, one after the other, and keeps the paths. */
function agentOf(...answers: (Answer | Error)[]) {
  const asked: string[] = [];
  const ask = <T>(path: string): Promise<T> => {
    const answer = answers.shift()!;
    asked.push(path);
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T);
  };
  return { asked, agent: { ask, token: null as string | null } };
}

test("changes are put into the list that is there", async () => {
  const { agent, asked } = agentOf(
    { items: [lease("a"), lease("b")], next: null, revision: "i-2", whole: true, ended: [] },
    { items: [lease("b", 0.2), lease("c")], next: null, revision: "i-4", whole: false, ended: ["a"] },
    { items: [], next: null, revision: "i-4", whole: false, ended: [] },
    { items: [lease("d")], next: null, revision: "k-2", whole: true, ended: [] },
  );
  const list = new LeaseList(agent);

  assert.deepEqual(await list.fetch(), [lease("a"), lease("b")]);
  const second = await list.fetch();
  assert.deepEqual(second, [lease("b", 0.2), lease("c")]);
  assert.deepEqual(await list.fetch(), second);
  assert.deepEqual(await list.fetch(), [lease("d")]);
  assert.deepEqual(asked, ["/v1/leases?limit=100", "/v1/leases?limit=100&since=i-2",
    "/v1/leases?limit=100&since=i-4", "/v1/leases?limit=100&since=i-4"]);
});

test("what changes while pages are fetched is fetched again", async () => {
  const { agent, asked } = agentOf(
    { items: [lease("a")], next: 7, revision: "i-1", whole: true, ended: [] },
    { items: [lease("b")], next: null, revision: "i-9", whole: true, ended: [] },
    { items: [], next: null, revision: "i-9", whole: false, ended: ["a"] },
  );
  const list = new LeaseList(agent);

  assert.equal((await list.fetch()).length, 2);
  assert.deepEqual(await list.fetch(), [lease("b")]);
  assert.deepEqual(asked, ["/v1/leases?limit=100", "/v1/leases?limit=100&after=7",
    "/v1/leases?limit=100&since=i-1"]);
});

test("a list that is cut off is fetched again from where it was", async () => {
  const { agent, asked } = agentOf(
    { items: [lease("a")], next: null, revision: "i-1", whole: true, ended: [] },
    { items: [lease("b")], next: 3, revision: "i-5", whole: false, ended: ["a"] },
    new Error("cut"),
    { items: [lease("b"), lease("c")], next: null, revision: "i-5", whole: false, ended: ["a"] },
  );
  const list = new LeaseList(agent);

  await list.fetch();
  await assert.rejects(list.fetch());
  assert.deepEqual(await list.fetch(), [lease("b"), lease("c")]);
  assert.match(asked.at(-1)!, /since=i-1$/);
});

test("agents that know no revision, and other tokens, get the whole list", async () => {
  const { agent, asked } = agentOf({ items: [lease("a")] }, { items: [], revision: "i-3" },
    { items: [lease("b")], revision: "i-4", whole: true });
  const list = new LeaseList(agent);

  await list.fetch();
  assert.deepEqual(await list.fetch(), []);
  agent.token = "another";
  assert.deepEqual(await list.fetch(), [lease("b")]);
  assert.deepEqual(new Set(asked), new Set(["/v1/leases?limit=100"]));
});
