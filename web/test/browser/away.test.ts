/* SPDX-License-Identifier: Apache-2.0 */
/* The agent goes, and comes back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { open, shown, visit } from "./browser";
import { agent, assertAccessible, bridge, browser } from "./world";

test("without an agent the last figures stay and say so; with it they go on", async () => {
  const dgx = await agent("dgx-a100");
  const page = await open(await browser(), (await bridge(dgx)).url, { pace: 200 });

  await dgx.hold("a", "--device", "gpu0", "--share", "0.5");
  await page.getByRole("img", { name: /gpu0: a 0% of 50%/ }).waitFor();
  await dgx.stop("SIGKILL");
  await page.getByText("what is shown is the last that it said").waitFor();
  await page.getByText("No answer", { exact: true }).waitFor();
  assert.equal(await page.getByRole("img", { name: /gpu0: a 0% of 50%/ }).isVisible(), true);
  await assertAccessible(page, "without an agent");

  await dgx.start();
  await page.getByText("Connected", { exact: true }).waitFor();
  await page.getByText("what is shown is the last that it said").waitFor({ state: "hidden" });
  /* Events too: the new agent's are there. */
  await visit(page, "events");
  await page.getByText("agent started").nth(1).waitFor();
  await page.context().close();
});

test("a page that is opened without an agent says so, and fills when there is one", async () => {
  const dgx = await agent("dgx-a100");
  await dgx.stop();
  const page = await open(await browser(), (await bridge(dgx)).url, { pace: 200 });

  await page.getByText("No answer from the agent").first().waitFor();
  await assertAccessible(page, "opened without an agent");
  await dgx.start();
  await shown(page, "gpu7");
  await page.context().close();
});
