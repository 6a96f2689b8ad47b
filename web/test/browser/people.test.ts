/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, signing in, service, several nodes, and everything by the keyboard alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { Device, Lease } from "../../src/api/types";
import type { Agent } from "./agent";
import { open, shown, visit } from "./browser";
import {
  agent, assertAccessible, assertNoSideways, assertNoTroubles, bridge, browser, busyAgent,
} from "./world";

test("a token is made, its secret shown once, and revoked", async () => {
  const page = await open(await browser(), (await bridge(await busyAgent())).url);

  await visit(page, "tokens");
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByLabel("Name").fill("prometheus");
  await page.getByLabel("May do").selectOption("tenant");
  await page.getByLabel("Tenant").fill("nobody");
  await assertAccessible(page, "the new token");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const secret = page.getByRole("dialog", { name: "Token prometheus" });
  const text = await secret.locator("pre").innerText();
  assert.match(text, /^clv_/);
  await secret.getByRole("button", { name: /^Copy/ }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
  await secret.getByRole("button", { name: "I have copied it" }).click();
  assert.ok(!(await page.content()).includes(text));

  await page.getByRole("button", { name: "Revoke prometheus" }).click();
  const revoke = page.getByRole("dialog", { name: "Revoke prometheus?" });
  assert.match(await revoke.innerText(), /refused from now on.*Last used: never/s);
  await revoke.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Revoked prometheus.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Revoke prometheus" }).count(), 0);

  await visit(page, "events/audit");
  await page.getByText("token.create").first().waitFor();
  await page.context().close();
  assertNoTroubles();
});

test("over TCP a token is asked for, tried, and kept by the tab alone", async () => {
  const served = await bridge(await busyAgent(), { token: "clv_a1b2c3_good" });
  const page = await open(await browser(), served.url);

  await page.getByText("sudo cleave token create NAME --scope admin").waitFor();
  await page.getByLabel("Token").fill("clv_a1b2c3_bad");
  await assertAccessible(page, "signing in");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("does not know this token").waitFor();
  await page.getByLabel("Token").fill("clv_a1b2c3_good");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.locator("main").getByText("lease queued").waitFor();
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes("good")), false);
  await page.reload();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  await page.context().close();
  assertNoTroubles();
});

test("a device is cordoned with a reason, and put back", async () => {
  const page = await open(await browser(), (await bridge(await busyAgent())).url);

  await visit(page, "devices/gpu2");
  await page.getByRole("button", { name: "Drain" }).click();
  assert.match(await page.getByRole("dialog").innerText(), /On it now: train of root and infer of root/);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cordon" }).click();
  await page.getByLabel("Reason").fill("driver update");
  await page.getByRole("dialog").getByRole("button", { name: "Cordon" }).click();
  await page.getByText("gpu2 is cordoned").waitFor();
  await page.getByText("Cordoned", { exact: true }).waitFor();
  await page.getByText("driver update").waitFor();
  await page.getByRole("button", { name: "Uncordon" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Uncordon" }).click();
  await page.getByText("gpu2 takes leases again.").waitFor();
  await page.context().close();
  assertNoTroubles();
});

test("picked devices are drained together, after they are named", async () => {
  const dgx = await agent("dgx-a100");
  await dgx.hold("a", "--device", "gpu1", "--share", "0.5");
  const page = await open(await browser(), (await bridge(dgx)).url);

  await visit(page, "devices");
  assert.equal(await page.getByRole("button", { name: "Drain picked (0)" }).isDisabled(), true);
  for (const name of ["gpu0", "gpu1"])
    await page.getByRole("checkbox", { name: `Pick ${name}`, exact: true }).check();
  await page.getByRole("button", { name: "Drain picked (2)" }).click();
  const dialog = page.getByRole("dialog", { name: "Drain 2 devices?" });
  assert.match(await dialog.innerText(), /2 devices: gpu0 and gpu1\..*On them now: a of root/s);
  await assertAccessible(page, "draining several devices");
  await dialog.getByLabel("Reason").fill("move");
  await dialog.getByRole("button", { name: "Drain all" }).click();
  await page.getByText("2 devices being drained.").waitFor();
  const { items } = await dgx.json<{ items: Device[] }>("/v1/devices");
  assert.deepEqual(items.filter((each) => each.cordoned).map((each) => [each.name, each.cordon_reason]),
    [["gpu0", "move"], ["gpu1", "move"]]);
  await page.context().close();
  assertNoTroubles();
});

test("picked leases are released together, after they are named", async () => {
  const dgx = await agent("dgx-a100");
  for (const name of ["one", "two", "three"]) await dgx.hold(name, "--device", "gpu1", "--share", "0.2");
  const page = await open(await browser(), (await bridge(dgx)).url);

  await visit(page, "leases");
  for (const name of ["one", "three"]) await page.getByRole("checkbox", { name: `Pick ${name}` }).check();
  await page.getByRole("button", { name: "Release picked (2)" }).click();
  const dialog = page.getByRole("dialog", { name: "Release 2 leases?" });
  assert.match(await dialog.innerText(), /2 leases: one of root and three of root/);
  await assertAccessible(page, "releasing several leases");
  await dialog.getByRole("button", { name: "Release all" }).click();
  await page.getByText("Released 2 leases.").waitFor();
  const { items } = await dgx.json<{ items: Lease[] }>("/v1/leases");
  assert.deepEqual(items.map((each) => each.name), ["two"]);
  await page.context().close();
  assertNoTroubles();
});

test("several nodes stand side by side, and each can be shown", async () => {
  const one = await bridge(await busyAgent());
  const two = await bridge(await agent("mi300x"));
  const more = await Promise.all(["mixed", "flex170"].map(async (node) => bridge(await agent(node))));
  const devices = async ({ agent }: { agent: Agent }) =>
    (await agent.json<{ devices: unknown[] }>("/v1/node")).devices.length;
  const all = (await Promise.all([one, two, ...more].map(devices))).reduce((a, b) => a + b);
  one.options.nodes = [{ name: "first", url: one.url }, { name: "second", url: two.url },
    ...more.map(({ url }, n) => ({ name: `a-node-with-a-very-long-name-${n}.cluster.example`, url }))];
  const page = await open(await browser(), one.url);

  await page.getByRole("link", { name: "Nodes" }).click();
  for (const n of [0, 1])
    await page.getByRole("region", { name: `long-name-${n}` }).getByText("gpu0").first().waitFor();
  const second = page.getByRole("region", { name: "second" });
  await second.getByText("AMD Instinct MI300X").first().waitFor();
  await page.getByRole("region", { name: "first" }).getByText("gpu7").first().waitFor();
  await page.getByRole("region", { name: "All nodes" }).getByText(String(all), { exact: true })
    .waitFor();
  await assertAccessible(page, "several nodes");
  await page.setViewportSize({ width: 390, height: 844 });
  await assertNoSideways(page, "several nodes at 390");
  await page.setViewportSize({ width: 1280, height: 900 });
  await second.getByRole("button", { name: "Show second" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByText("AMD Instinct MI300X").first().waitFor();
  await page.getByLabel("Node").selectOption({ label: "first" });
  await page.getByText("NVIDIA A100-SXM4-40GB").first().waitFor();
  await page.context().close();
  assertNoTroubles();
});

const focused = (page: Page) => page.evaluate(() => {
  const element = document.activeElement as HTMLElement;
  return element.getAttribute("aria-label") ?? element.innerText;
});

async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let n = 0; n < 80; n++) {
    await page.keyboard.press("Tab");
    const text = await focused(page);
    if (typeof name === "string" ? text.trim() === name : name.test(text)) return;
  }
  assert.fail(`no way to ${name} with the Tab key`);
}

test("by the keyboard alone: to a device, its partition's end, and back", async () => {
  const dgx = await agent("dgx-a100");
  await dgx.apply("version: 1\ndevices:\n  - select: {name: gpu0}\n    partitions: [{profile: 1g.5gb}]\n");
  const page = await open(await browser(), (await bridge(dgx)).url);
  await shown(page, "gpu7");

  /* Past the navigation at once. */
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "To the content");
  await page.keyboard.press("Enter");
  await tabTo(page, "gpu0");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "gpu0" }).waitFor();
  assert.equal(await focused(page), "gpu0");
  await tabTo(page, /^Destroy/);
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await dialog.count(), 0);
  assert.match(await focused(page), /^Destroy/);
  await page.keyboard.press("Enter");
  await tabTo(page, "Destroy");
  await page.keyboard.press("Enter");
  await page.getByText(/Destroyed gpu0\/1g\.5gb@/).waitFor();

  await tabTo(page, /^Theme: system/);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.context().close();
  assertNoTroubles();
});
