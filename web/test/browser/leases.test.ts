/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of real programs, on this machine's own device: the processor, through PoCL. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page, Response } from "playwright-core";
import type { Device, Lease } from "../../src/api/types";
import { type Agent, until } from "./agent";
import { open, visit } from "./browser";
import { agent, assertAccessible, assertNoSideways, assertNoTroubles, bridge, browser } from "./world";

const leases = async (to: Agent) => (await to.json<{ items: Lease[] }>("/v1/leases")).items;

/* A range is set by its keys, as people without a mouse do. */
async function press(page: Page, label: string, key: string, times: number): Promise<void> {
  const slider = page.getByRole("slider", { name: label });
  await slider.focus();
  for (let n = 0; n < times; n++) await slider.press(key);
}

test("a real lease works, is resized within what is free, and is released", async (t) => {
  const here = await agent();
  const { items } = await here.json<{ items: Device[] }>("/v1/devices");
  if (items.length === 0) return t.skip("no OpenCL device here");
  await here.work("busy", "--mode sync", 32, "--share", "0.3", "--memory", "100M");
  await here.hold("other", "--share", "0.4", "--memory", "1G");
  const page = await open(await browser(), (await bridge(here)).url);

  await visit(page, "leases");
  await page.getByRole("row", { name: /^busy/ }).getByText(/[1-9]\d?%.*[1-9]\d*%|Working|Its turn/).first()
    .waitFor();
  await until("busy has used its device", async () =>
    (await leases(here)).some((each) => each.name === "busy" && each.share_used > 0.05));

  await page.getByRole("button", { name: "Resize busy" }).click();
  const dialog = page.getByRole("dialog", { name: "Resize busy" });
  assert.match(await dialog.innerText(), /60% of 100% is free/);
  await assertAccessible(page, "the resize dialog");
  /* To the end of the scale: the thumb stays within the free part. */
  await press(page, "Share of the compute", "End", 1);
  assert.match(await dialog.innerText(), /60%\n/);
  await press(page, "Share of the compute", "ArrowLeft", 10);
  await dialog.getByRole("button", { name: "Resize" }).click();
  await page.getByText(/busy now has 50%/).waitFor();
  assert.equal((await leases(here)).find((each) => each.name === "busy")!.share, 0.5);

  await page.getByRole("link", { name: "busy" }).click();
  await page.getByText("1 process", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Release" }).click();
  const release = page.getByRole("dialog", { name: "Release busy?" });
  assert.match(await release.innerText(), /1 process of .* is ended \(pid \d+\).*SIGKILL/s);
  await release.getByRole("button", { name: "End its processes" }).click();
  await page.getByText("Released busy.").waitFor();
  await page.getByRole("heading", { name: "Leases" }).waitFor();
  await until("busy is gone", async () => !(await leases(here)).some((each) => each.name === "busy"));

  /* Without a process on the device it is given back, and the program is told so. */
  await page.getByRole("button", { name: "Release other" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Release" }).click();
  await page.getByText("Released other.").waitFor();
  await page.getByText("No leases").waitFor();
  await page.context().close();
  assertNoTroubles();
});

test("a refused resize stays open with the reason", async () => {
  const dgx = await agent("dgx-a100");
  await dgx.hold("a", "--device", "gpu0", "--share", "0.5");
  const page = await open(await browser(), (await bridge(dgx)).url, { pace: 0 });

  await visit(page, "leases");
  await page.getByRole("button", { name: "Resize a" }).click();
  /* Somebody takes the room while the dialog is open; the page does not look by itself. */
  await dgx.hold("b", "--device", "gpu0", "--share", "0.5");
  await press(page, "Share of the compute", "End", 1);
  await page.getByRole("dialog").getByRole("button", { name: "Resize" }).click();
  const refusal = page.getByRole("alert").filter({ hasText: "does not fit" });
  await refusal.waitFor();
  assert.equal(await page.getByRole("dialog").isVisible(), true);
  await page.keyboard.press("Escape");
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.context().close();
  assertNoTroubles();
});

test("many leases are shown a hundred at a time, and only changes are fetched", async () => {
  const dgx = await agent("dgx-a100");
  for (let n = 0; n < 130; n++)
    await dgx.ask("POST", "/v1/leases", JSON.stringify({ keep: true, name: `many-${n}`,
      device: `gpu${n % 8}`, share: 0.01, memory_bytes: 2 ** 20 }));
  const page = await open(await browser(), (await bridge(dgx)).url);
  const sizes: Promise<number>[] = [];
  const count = (response: Response) => {
    if (response.url().includes("since=")) sizes.push(response.json().then(({ items }) => items.length));
  };
  page.on("response", count);

  await visit(page, "leases");
  const pages = page.getByRole("navigation", { name: "Pages of the table Leases" });
  await pages.getByText("1 to 100 of 130").waitFor();
  assert.equal(await page.getByRole("rowheader").count(), 100);
  await assertAccessible(page, "many leases");
  await pages.getByRole("button", { name: "Next" }).click();
  await pages.getByText("101 to 130 of 130").waitFor();
  assert.equal(await pages.getByRole("button", { name: "Next" }).isDisabled(), true);
  await page.getByRole("rowheader", { name: "many-129" }).waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await assertNoSideways(page, "many leases at 390");
  await page.setViewportSize({ width: 1280, height: 800 });

  await Promise.all(sizes.splice(0));
  await dgx.ask("PATCH", "/v1/leases/many-129", JSON.stringify({ share: 0.02 }));
  await page.getByRole("row", { name: /many-129.*\b2\s?%/ }).waitFor();
  /* A response that is on its way when the page closes has no body. */
  page.off("response", count);
  assert.ok((await Promise.all(sizes)).reduce((a, b) => a + b, 0) <= 1);
  for (let n = 100; n < 130; n++) await dgx.ask("DELETE", `/v1/leases/many-${n}`);
  /* The second page is empty now, so the first is shown. */
  await page.getByRole("rowheader", { name: "many-0" }).waitFor();
  assert.equal(await pages.count(), 0);
  await page.context().close();
  assertNoTroubles();
});

test("a kept lease is created for a user, and shows how a program starts in it", async () => {
  const dgx = await agent("dgx-a100");
  const page = await open(await browser(), (await bridge(dgx)).url);

  await visit(page, "leases");
  await page.getByRole("button", { name: "New lease" }).click();
  const dialog = page.getByRole("dialog", { name: "New lease" });
  await dialog.getByLabel("Held by").selectOption("kept");
  await dialog.getByLabel("Device").selectOption("gpu4");
  await dialog.getByLabel("Name").fill("chat");
  assert.equal(await dialog.getByRole("button", { name: "Create" }).isDisabled(), true);
  await dialog.getByLabel("User").fill("0");
  await assertAccessible(page, "a new kept lease");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("chat of root is created").waitFor();
  assert.match(await dialog.locator("pre").innerText(), /^cleave run --lease chat -- python3 train\.py$/);
  await dialog.getByRole("button", { name: "Done" }).click();
  const made = (await leases(dgx)).find((each) => each.name === "chat")!;
  assert.deepEqual([made.kept, made.uid, made.device, made.holder_pid], [true, 0, "gpu4", null]);

  /* A name that is in use is refused, and the dialog stays. */
  await page.getByRole("button", { name: "New lease" }).click();
  await dialog.getByLabel("Held by").selectOption("kept");
  await dialog.getByLabel("User").fill("0");
  await dialog.getByLabel("Name").fill("chat");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByRole("alert").filter({ hasText: "chat" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Release chat" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Release" }).click();
  await page.getByText("Released chat.").waitFor();
  await page.context().close();
  assertNoTroubles();
});

test("the command of a new lease is what the command line takes", async () => {
  const dgx = await agent("dgx-a100");
  const page = await open(await browser(), (await bridge(dgx)).url);

  await visit(page, "leases");
  await page.getByRole("button", { name: "New lease" }).click();
  const dialog = page.getByRole("dialog", { name: "New lease" });
  await dialog.getByLabel("Device").selectOption("gpu3");
  await dialog.getByLabel("Name").fill("my run");
  await dialog.getByLabel("Program").fill("sleep 600");
  await press(page, "Share of the compute", "ArrowRight", 5);
  await assertAccessible(page, "the new lease");
  const command = await dialog.locator("pre").innerText();
  assert.match(command,
    /^cleave run --name 'my run' --device gpu3 --share 0\.3 --memory \d+[MG] -- sleep 600$/);
  await dialog.getByRole("button", { name: /^Copy/ }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), command);

  /* One that follows demand has two ends. */
  await dialog.getByLabel(/follows demand/).check();
  await assertAccessible(page, "a new lease that follows demand");
  await press(page, "Least share", "ArrowLeft", 10);
  await press(page, "Most share", "ArrowRight", 5);
  assert.match(await dialog.locator("pre").innerText(), /--share 0\.2\.\.0\.65 /);
  await press(page, "Least share", "End", 1);
  assert.match(await dialog.locator("pre").innerText(), /--share 1\.\.1 /);
  await dialog.getByRole("button", { name: "Close" }).click();

  const [, ...words] = command.replace("'my run'", "my-run").split(" ");
  await dgx.hold("my-run", ...words.slice(3, words.indexOf("--")));
  await page.getByRole("link", { name: "my-run" }).waitFor();
  await page.context().close();
  assertNoTroubles();
});
