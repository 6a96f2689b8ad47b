/* SPDX-License-Identifier: Apache-2.0 */
/* The console as the agent itself serves it, over TCP and with tokens: no bridge stands
 * between. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { type Agent, freePort } from "./agent";
import { open, shown, visit } from "./browser";
import { furnish } from "./scenes";
import { agent, assertAccessible, assertNoTroubles, browser } from "./world";

const FIRST_LOAD_BYTES = 150 * 1024;

async function listening(node: string, more = ""): Promise<{ served: Agent; url: string }> {
  const port = await freePort();
  const served = await agent(node, `listen: {address: 127.0.0.1, port: ${port}}\n${more}`);
  return { served, url: `http://127.0.0.1:${port}` };
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}

test("the agent serves the console, packed, under its policy, and knows what a browser has", async (t) => {
  const { served, url } = await listening("dgx-a100");
  const front = await fetch(`${url}/`);
  if (front.status === 404) return t.skip("this cleaved was built without its console");

  assert.match(front.headers.get("content-security-policy") ?? "", /default-src 'none'; script-src 'self'/);
  assert.equal(front.headers.get("content-encoding"), "gzip");
  const tag = front.headers.get("etag")!;
  assert.equal((await fetch(`${url}/console/`, { headers: { "If-None-Match": tag } })).status, 304);
  assert.equal((await fetch(`${url}/console/none.js`)).status, 404);

  const page = await open(await browser(), "about:blank");
  const protocol = await page.context().newCDPSession(page);
  let bytes = 0;
  await protocol.send("Network.enable");
  protocol.on("Network.loadingFinished", (event) => { bytes += event.encodedDataLength; });
  await page.goto(url);
  await page.getByLabel("Token").waitFor();
  t.diagnostic(`${bytes} bytes with their headers`);
  assert.ok(bytes > 0 && bytes <= FIRST_LOAD_BYTES, `${bytes} bytes`);
  await signIn(page, await served.token("admin"));
  await shown(page, "gpu7");
  await page.context().close();
  assertNoTroubles();
});

test("an administrator's pages are the agent's own answers", async (t) => {
  const { served, url } = await listening("dgx-a100");
  if ((await fetch(url)).status === 404) return t.skip("this cleaved was built without its console");
  await furnish(served);
  const page = await open(await browser(), url);
  await signIn(page, await served.token("admin"));

  for (const [route, text] of [
    ["overview", "lease queued"], ["devices/gpu2", "train"], ["partitions", "notebook of root"],
    ["leases", "Queued, place 1"], ["events", "lease queued"], ["events/audit", "lease.create"],
    ["tenants", "root"], ["tokens", "admin"], ["advice", ""], ["divide", "Memory each"],
  ] as const) {
    await visit(page, route);
    await page.locator("main").getByText(text).locator("visible=true").first().waitFor();
    await assertAccessible(page, `${route}, served by the agent`);
  }
  await visit(page, "events");
  await page.getByText("Live", { exact: true }).waitFor();
  await served.hold("late", "--device", "gpu5", "--share", "0.1");
  await page.getByRole("link", { name: "late" }).first().waitFor();

  await visit(page, "tokens");
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByLabel("Name").fill("grafana");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  assert.match(await page.getByRole("dialog", { name: "Token grafana" }).locator("pre").innerText(), /^clv_/);
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("button", { name: "Revoke grafana" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Revoked grafana.").waitFor();

  await visit(page, "devices/gpu6");
  await page.getByRole("button", { name: "Cordon" }).click();
  await page.getByLabel("Reason").fill("driver update");
  await page.getByRole("dialog").getByRole("button", { name: "Cordon" }).click();
  await page.getByText("Cordoned", { exact: true }).waitFor();
  await page.context().close();
  assertNoTroubles();
});

test("a viewer sees all, and is offered nothing that he may not do", async (t) => {
  const { served, url } = await listening("dgx-a100");
  if ((await fetch(url)).status === 404) return t.skip("this cleaved was built without its console");
  await served.hold("train", "--device", "gpu2", "--share", "0.5");
  const page = await open(await browser(), url);
  await signIn(page, await served.token("viewer"));

  await visit(page, "leases");
  await page.getByRole("link", { name: "train" }).waitFor();
  assert.equal(await page.getByRole("button", { name: /^Resize|^Release/ }).count(), 0);
  await visit(page, "tokens");
  await page.getByText("You may not see this").waitFor();
  assert.equal(await page.getByRole("link", { name: "Tokens" }).count(), 0);
  await visit(page, "divide?device=gpu0");
  await page.getByRole("button", { name: "One 1g.5gb more", exact: true }).click();
  await page.getByText("Only an administrator may apply.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Apply" }).isDisabled(), true);
  await page.context().close();
  assertNoTroubles();
});

test("two agents that know each other stand side by side, each with its own token", async (t) => {
  const [one, two] = [await freePort(), await freePort()];
  const origin = (port: number) => `http://127.0.0.1:${port}`;
  const first = await agent("dgx-a100", `listen: {address: 127.0.0.1, port: ${one}}
nodes:
  - {name: second, url: "${origin(two)}"}
`);
  const second = await agent("mi300x", `listen: {address: 127.0.0.1, port: ${two}}
origins: ["${origin(one)}"]
`);
  if ((await fetch(origin(one))).status === 404)
    return t.skip("this cleaved was built without its console");
  const page = await open(await browser(), origin(one));
  await signIn(page, await first.token("admin"));

  await page.getByRole("link", { name: "Nodes" }).click();
  const column = page.getByRole("region", { name: "second" });
  await column.getByLabel("Token").fill(await second.token("viewer"));
  await column.getByRole("button", { name: "Sign in" }).click();
  await column.getByText("AMD Instinct MI300X").first().waitFor();
  await assertAccessible(page, "two nodes");
  await column.getByRole("button", { name: "Show second" }).click();
  await page.getByText("AMD Instinct MI300X").first().waitFor();
  await page.context().close();
  assertNoTroubles();
});
