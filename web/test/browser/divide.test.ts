/* SPDX-License-Identifier: Apache-2.0 */
/* Dividing devices from the page, on a simulated DGX A100 whose gpu7 somebody uses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { Node } from "../../src/api/types";
import type { Agent } from "./agent";
import { open, visit } from "./browser";
import { agent, assertAccessible, assertNoTroubles, bridge, browser } from "./world";

async function begin(to: Agent, route = "divide"): Promise<Page> {
  const page = await open(await browser(), (await bridge(to)).url);
  await visit(page, route);
  return page;
}

const more = (page: Page, profile: string) =>
  page.getByRole("button", { name: `One ${profile} more`, exact: true });

async function profilesOn(to: Agent, name: string): Promise<string[]> {
  const node = await to.json<Node>("/v1/node");
  return node.devices.find((each) => each.name === name)!.partitions.map((each) => each.profile).sort();
}

test("a set of devices is divided: preselected, planned, applied, told", async () => {
  const dgx = await agent("dgx-a100");
  const page = await begin(dgx);

  /* All of one model but the one in use. */
  assert.equal(await page.getByRole("checkbox", { checked: true }).count(), 7);
  assert.equal(await page.getByRole("checkbox", { name: /^gpu7/ }).isChecked(), false);
  for (const name of ["gpu2", "gpu3", "gpu4", "gpu5", "gpu6"])
    await page.getByRole("checkbox", { name: new RegExp(`^${name}`) }).uncheck();

  /* What each part gets stands there before anything is chosen. */
  const row = page.getByRole("row", { name: /^3g\.20gb/ });
  assert.match(await row.innerText(), /19\.5 GiB.*42/s);
  await more(page, "3g.20gb").click();
  await more(page, "1g.5gb").click();
  await more(page, "1g.5gb").click();
  await page.getByRole("cell", { name: "turn on MIG of gpu0" }).or(
    page.getByRole("rowheader", { name: "turn on MIG of gpu0" })).waitFor();
  assert.match(await page.innerText("main"), /create gpu1\/3g\.20gb@4/);
  await page.getByText("The layout of this choice").click();
  assert.match(await page.innerText("main pre"), /select: \{name: \["gpu0", "gpu1"\]\}/);
  await assertAccessible(page, "a plan");

  await page.getByRole("button", { name: "Apply" }).click();
  const dialog = page.getByRole("dialog", { name: /Divide gpu0 and gpu1\?/ });
  assert.match(await dialog.innerText(), /Reset: gpu0 and gpu1\..*8 steps/s);
  await assertAccessible(page, "the confirmation");
  await dialog.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Divide gpu0 and gpu1: done, 8 steps.").waitFor();
  assert.match(await page.innerText("main"), /8 of 8 steps/);
  assert.deepEqual(await profilesOn(dgx, "gpu1"), ["1g.5gb", "1g.5gb", "3g.20gb"]);
  assert.deepEqual(await profilesOn(dgx, "gpu2"), []);

  /* And taken away again, one and then all. */
  await visit(page, "partitions");
  await page.getByRole("button", { name: "Destroy gpu1/1g.5gb@0" }).click();
  const destroy = page.getByRole("dialog", { name: "Destroy gpu1/1g.5gb@0?" });
  assert.match(await destroy.innerText(), /It has no holder|contents of its memory/);
  await destroy.getByRole("button", { name: "Destroy" }).click();
  await page.getByText("Destroyed gpu1/1g.5gb@0.").waitFor();
  assert.deepEqual(await profilesOn(dgx, "gpu1"), ["1g.5gb", "3g.20gb"]);

  await visit(page, "divide?device=gpu1");
  await page.getByLabel(/Make them whole again/).check();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await page.getByText(/Make gpu1 whole: done/).waitFor();
  assert.deepEqual(await profilesOn(dgx, "gpu1"), []);
  await page.context().close();
  assertNoTroubles();
});

test("a plan shows the standing shares that it takes away", async () => {
  const dgx = await agent("dgx-a100");
  await dgx.apply(`version: 1
devices:
  - select: {name: gpu0}
    shares: [{name: serve, share: 0.5, memory: 8G}]
  - select: {name: gpu1}
    shares: [{name: other, share: 0.5, memory: 8G}]
`);
  const page = await begin(dgx, "divide?device=gpu0");
  await more(page, "3g.20gb").click();
  const lines = page.locator(".note").filter({ hasText: "Standing shares change" }).locator("li");
  await lines.first().waitFor();
  const text = (await lines.allInnerTexts()).join("\n");
  assert.match(text, /serve/);
  assert.doesNotMatch(text, /other/, "the share of a device that stays as it is");
  await assertAccessible(page, "a plan that changes standing shares");
  await page.context().close();
  assertNoTroubles();
});

test("what earlier layouts say of other devices is kept, or forgotten", async () => {
  const dgx = await agent("dgx-a100");
  const wanted = async () => {
    const { devices } = await dgx.json<{ devices: { name: string }[] }>("/v1/layout?of=wanted");
    return devices.map((each) => each.name).sort();
  };
  await dgx.apply("version: 1\ndevices:\n  - {select: {name: gpu1}, partitions: [{profile: 7g.40gb}]}\n");
  const page = await begin(dgx, "divide?device=gpu0");
  await more(page, "3g.20gb").click();
  await page.getByRole("button", { name: "Apply" }).click();
  const first = page.getByRole("dialog");
  assert.doesNotMatch(await first.innerText(), /forgotten/);
  await first.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Divide gpu0: done, 2 steps.").waitFor();
  assert.deepEqual(await wanted(), ["gpu0", "gpu1"]);

  /* The device is as it is to be: the layout is applied to forget the other one. */
  await page.getByLabel("Forget what earlier layouts say of other devices").check();
  await more(page, "3g.20gb").click();
  await page.getByText("The devices are divided like that already.").waitFor();
  await assertAccessible(page, "a layout that is to be the only one");
  await page.getByRole("button", { name: "Apply" }).click();
  const second = page.getByRole("dialog");
  assert.match(await second.innerText(), /What earlier layouts say of other devices is forgotten/);
  await second.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Divide gpu0: done, 0 steps.").waitFor();
  assert.deepEqual(await wanted(), ["gpu0"]);
  assert.deepEqual(await profilesOn(dgx, "gpu1"), ["7g.40gb"], "no other device is changed");
  await page.context().close();
  assertNoTroubles();
});

test("a plan that was overtaken is not applied", async () => {
  const dgx = await agent("dgx-a100");
  const page = await begin(dgx, "divide?device=gpu0");

  await more(page, "7g.40gb").click();
  await page.getByRole("button", { name: "Apply" }).click();
  await dgx.apply("version: 1\ndevices:\n  - select: {name: gpu0}\n    partitions: [{profile: 3g.20gb}]\n");
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await page.getByText("The division of this node has changed since the plan was made").waitFor();
  assert.deepEqual(await profilesOn(dgx, "gpu0"), ["3g.20gb"]);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("destroy gpu0/3g.20gb@").waitFor();
  await page.context().close();
  assertNoTroubles();
});

test("what cannot be had is refused in the agent's words: a fourth 2g.10gb", async () => {
  const page = await begin(await agent("dgx-a100"), "divide?device=gpu0");

  for (let n = 0; n < 3; n++) await more(page, "2g.10gb").click();
  await page.getByText("create gpu0/2g.10gb@4").waitFor();
  /* The page itself stops at the table's most. */
  assert.equal(await more(page, "2g.10gb").isDisabled(), true);
  await more(page, "3g.20gb").click();
  await page.getByText("This is not possible").waitFor();
  assert.match(await page.innerText("main"), /instances fit together|no room/);
  assert.equal(await page.getByRole("button", { name: "Apply" }).isDisabled(), true);
  await page.context().close();
  assertNoTroubles();
});

test("a blocked apply names who is in the way, and is refused or waits", async () => {
  const dgx = await agent("dgx-a100");
  const page = await begin(dgx, "divide?device=gpu7");

  await more(page, "7g.40gb").click();
  await page.getByText("Blocked: something that has to change is in use").waitFor();
  assert.match(await page.innerText("main"), /gpu7 is held by process 4711 \(python3\)/);
  assert.equal(await page.getByRole("button", { name: "Apply" }).isDisabled(), true);
  await assertAccessible(page, "a blocked plan");

  await page.getByLabel("If something that has to change is in use").selectOption("wait");
  await page.getByText("It would wait").waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  assert.match(await page.getByRole("dialog").innerText(), /In the way: process 4711/);
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await page.getByText("Waiting for holders to end").first().waitFor();
  await page.getByText("It waits for process 4711 (python3) to end.").waitFor();
  assert.deepEqual(await profilesOn(dgx, "gpu7"), []);
  await page.getByRole("button", { name: "Give up" }).click();
  await page.getByRole("alert").filter({ hasText: /ended|given up|cancel/ }).first().waitFor();
  assert.deepEqual(await profilesOn(dgx, "gpu7"), []);
  await page.context().close();
  assertNoTroubles();
});

test("counts of virtual functions show what each would get", async () => {
  const host = await agent("flex170");
  const page = await begin(host);

  const row = page.getByRole("row", { name: /^vf:4/ });
  assert.match(await row.innerText(), /GiB/);
  await page.getByRole("radio", { name: "Choose vf:4" }).check();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await page.getByText(/: done, /).waitFor();
  assert.equal((await profilesOn(host, "gpu3")).length, 4);
  await page.context().close();
  assertNoTroubles();
});
