/* SPDX-License-Identifier: Apache-2.0 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ask } from "../../src/api/agent";
import type { Session } from "../../src/api/session";
import type { Project } from "../../src/api/types";
import { act } from "../../src/ui/action";

const shop = { name: "shop", tenant: "@lab/2" } as Project;

/* An agent whose action has these states, one for each request. */
function sessionOf(states: string[], asked: string[], also: (ask: Ask) => void = () => undefined) {
  const ask = (path: string, how: Ask = {}) => {
    asked.push(`${how.method ?? "GET"} ${path}`);
    also(how);
    return Promise.resolve({ id: "7", state: states.shift() });
  };
  return { agent: { ask } } as unknown as Session;
}

test("an action is waited for until it has ended", async () => {
  const asked: string[] = [];
  const action = await act(sessionOf(["waiting", "running", "done"], asked), shop,
    { do: "scale", service: "web", replicas: 1 });

  assert.equal(action.state, "done");
  assert.deepEqual(asked, ["POST /v1/projects/shop/actions?tenant=%40lab%2F2",
    "GET /v1/actions/7?wait_ms=10000", "GET /v1/actions/7?wait_ms=10000"]);
});

test("nobody waits for the logs in a dialog that is closed", async () => {
  const asked: string[] = [];
  const shown = new AbortController();
  const session = sessionOf(["waiting", "running", "running"], asked, (how) => {
    if (how.signal) shown.abort();
  });
  const action = await act(session, shop, { do: "logs", replica: "shop-web-1", lines: 9 }, shown.signal);

  assert.equal(action.state, "running");
  assert.equal(asked.length, 2);
});
