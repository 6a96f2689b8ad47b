/* SPDX-License-Identifier: Apache-2.0 */
/* Real programs at work on this machine's own device for a minute: what they use, what
 * follows demand, what no gate holds, and what the agent advises. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import type { Advice, AgentEvent, Lease } from "../../src/api/types";
import { Agent, until } from "./agent";
import { open, sees, visit } from "./browser";
import { hasDevice, workshop } from "./scenes";
import { COLOURS, assertAccessible, assertNoSideways, assertNoTroubles, bridge, browser } from "./world";

const WATCHED_S = 60;

const leases = async (to: Agent) => (await to.json<{ items: Lease[] }>("/v1/leases")).items;
const named = async (to: Agent, name: string) => (await leases(to)).find((each) => each.name === name)!;
const advice = async (to: Agent) => (await to.json<{ items: Advice[] }>("/v1/advice")).items;

async function press(page: Page, label: string, key: string, times: number): Promise<void> {
  const slider = page.getByRole("slider", { name: label });
  await slider.focus();
  for (let n = 0; n < times; n++) await slider.press(key);
}

async function everyLook(page: Page, what: string): Promise<void> {
  for (const dark of [false, true]) {
    await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
    await assertAccessible(page, `${what}, ${dark ? "dark" : "light"}`, dark ? COLOURS : undefined);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  await assertNoSideways(page, `${what} at 360`);
  await page.setViewportSize({ width: 1280, height: 900 });
}

async function followsDemand(page: Page, here: Agent): Promise<void> {
  await visit(page, "leases");
  await sees(page.locator("body"), /notebook.*10% to 30%/s);
  await page.getByRole("button", { name: "Resize notebook" }).click();
  await assertAccessible(page, "the resize of a range");
  await press(page, "Most share", "ArrowRight", 20);
  await page.getByRole("dialog").getByRole("button", { name: "Resize" }).click();
  await page.getByText(/notebook now has 10% to 50%/).waitFor();
  assert.deepEqual((await named(here, "notebook")).share_range, { least: 0.1, most: 0.5 });

  await visit(page, `leases/${(await named(here, "notebook")).id}`);
  await sees(page.locator("body"), /now, 10% to 50% by demand/s);
  await page.getByRole("button", { name: "Resize" }).click();
  await page.getByLabel(/follows demand/).uncheck();
  await page.getByRole("dialog").getByRole("button", { name: "Resize" }).click();
  await page.getByText(/notebook now has 10% and/).waitFor();
  const { share, share_range } = await named(here, "notebook");
  assert.deepEqual([share, share_range], [0.1, null]);
}

async function uses(page: Page, here: Agent): Promise<void> {
  await until("train works", async () => (await named(here, "train")).share_used > 0.1);
  await visit(page, `leases/${(await named(here, "train")).id}`);
  await page.getByRole("button", { name: "10 min" }).click();
  await sees(page.locator("body"), /300 of 512 MiB in use/s);
  const said = page.locator(".chart .sr").first();
  await until("the history has its use", async () => /most [1-9]\d*%/.test(await said.innerText()), 20);
  await everyLook(page, "a lease at work");
  await visit(page, "devices/gpu0");
  await sees(page.locator("body"), /The driver reports no figures.*The driver reports no process/s);
  await everyLook(page, "a device whose driver says nothing");
}

async function ungated(t: TestContext, page: Page, here: Agent): Promise<void> {
  const { items } = await here.json<{ items: AgentEvent[] }>("/v1/events");
  if (!items.some((each) => each.type === "ungated_api"))
    return t.diagnostic("no Vulkan driver here: what no gate holds is not looked at");
  await visit(page, "overview");
  await sees(page.locator("body"), /1\s+problem.*render: no gate limits vulkan/s);
  await visit(page, "leases");
  await sees(page.locator("body"), /render.*Uses vulkan/s);
  await visit(page, "events");
  await sees(page.locator("body"), /API without a gate in use.*render.*uses vulkan/s);
  await everyLook(page, "events of a device at work");
}

async function advised(page: Page, here: Agent): Promise<void> {
  const isAbout = (item: Advice) => item.name === "spare" && item.kind === "too_large";
  await until("spare is too large", async () => (await advice(here)).some(isAbout), WATCHED_S);
  const { proposed } = (await advice(here)).find(isAbout)!;
  await visit(page, "advice");
  await sees(page.locator("body"),
    /spare.*Too large.*it used 0\.\d+ of a share of 0\.4.*Proposed.*Confidence\s+low/s);
  await everyLook(page, "advice");

  /* As somebody would rather have it, beginning with what is proposed. */
  await page.getByRole("button", { name: "Resize otherwise spare" }).click();
  assert.match(await page.getByRole("dialog", { name: "Resize spare" }).innerText(), /has 40% and 2 GiB/);
  await page.keyboard.press("Escape");
  /* All sizes on the device together. */
  await page.getByRole("button", { name: /^Resize \d lease/ }).click();
  const dialog = page.getByRole("dialog", { name: "Resize the leases on gpu0?" });
  assert.match(await dialog.innerText(),
    /spare: Memory: 2 GiB now, then [\d.]+ MiB\..*Their programs continue/s);
  await assertAccessible(page, "applying an advice");
  await dialog.getByRole("button", { name: "Resize" }).click();
  await page.getByText(/spare now has/).waitFor();
  await until("spare is resized", async () => (await named(here, "spare")).memory_bytes < 2 * 2 ** 30);
  const spare = await named(here, "spare");
  assert.ok(spare.memory_bytes <= proposed.memory_bytes && spare.memory_bytes >= 64 * 2 ** 20,
    `${spare.memory_bytes} bytes, proposed ${proposed.memory_bytes}`);
}

test("programs at work: use, history, demand, what no gate holds, and advice", async (t) => {
  const here = await new Agent().start();
  t.after(() => here.end());
  if (!await hasDevice(here)) return t.skip("no OpenCL device here");
  await workshop(here, "--cap", "0.3");
  const page = await open(await browser(), (await bridge(here)).url);

  await uses(page, here);
  await ungated(t, page, here);
  await followsDemand(page, here);
  /* The agent has to watch a program for half a minute. */
  if (process.env.CLEAVE_SLOW_TESTS) await advised(page, here);
  await page.context().close();
  assertNoTroubles();
});
