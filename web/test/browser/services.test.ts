/* SPDX-License-Identifier: Apache-2.0 */
/* Services of a compose file, with real containers on this machine's own device. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "./agent";
import { open, sees, visit } from "./browser";
import { hasDevice } from "./scenes";
import { Stage } from "./stage";
import {
  agent, assertAccessible, assertNoSideways, assertNoTroubles, bridge, browser, COLOURS,
} from "./world";

test("services are shown with their replicas in devices, their load and decisions", async (t) => {
  const to = await agent();
  if (!await hasDevice(to)) return t.skip("no OpenCL device");
  const stage = await Stage.on(to);
  if (typeof stage === "string") return t.skip(stage);
  try {
    const page = await open(await browser(), (await bridge(to)).url);

    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Services" }).click();
    const row = (name: string) => page.getByRole("table", { name: "Services" })
      .getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
    await row("chat").waitFor();
    await sees(row("chat"), new RegExp(`${stage.project}.*root.*Ready.*2 of 2`, "s"));
    await sees(row("prepare"), /Complete.*exit code 0.*0 of 1/s);
    await sees(row("search"), /Asleep.*until a request comes.*0 of 0, 1 to 2/s);
    await assertAccessible(page, "services");
    await page.emulateMedia({ colorScheme: "dark" });
    await assertAccessible(page, "services, dark", COLOURS);
    await assertNoSideways(page, "services");

    /* It is woken by a button, and goes to sleep again by itself. */
    await row("search").getByRole("button", { name: "Wake search" }).click();
    await page.getByText("search has 1 ready replica.").waitFor();
    await row("search").getByText("Asleep", { exact: true }).waitFor();

    /* A request wakes it, and the page shows that by itself. */
    await stage.tell("request search");
    await row("search").getByText("Ready").waitFor();

    await row("chat").getByRole("link", { name: stage.project }).click();
    const replicas = page.getByRole("table", { name: "Replicas in their devices" });
    const first = replicas.getByRole("row", { name: new RegExp(`^${stage.project}-chat-1`) });
    await first.waitFor();
    await sees(first, /chat.*Ready.*20%/s);
    const decisions = page.getByRole("table", { name: "Decisions of the supervisor" });
    await sees(decisions, /search\s+awake\s+a request came while it was asleep/);
    await sees(decisions, /chat\s+a replica is ready/);
    await assertAccessible(page, "a project");
    await page.emulateMedia({ colorScheme: "light" });
    await assertAccessible(page, "a project, light", COLOURS);
    await assertNoSideways(page, "a project");
    await page.setViewportSize({ width: 360, height: 740 });
    await assertNoSideways(page, "a project at 360");
    await page.setViewportSize({ width: 1280, height: 900 });

    await first.getByRole("link", { name: `${stage.project}-chat-1` }).click();
    await page.getByRole("heading", { name: `${stage.project}-chat-1` }).waitFor();
    await page.goBack();
    await first.waitFor();
    await stage.tell("kill");
    await page.getByText("No supervisor of this project runs").waitFor();
    await assertAccessible(page, "a project without a supervisor");
    await visit(page, "services");
    await page.getByText("No services").waitFor();
    await assertNoSideways(page, "no services");
    await page.context().close();
  } finally {
    await stage.end();
  }
  assertNoTroubles();
});

test("replicas are added and removed, services stopped and started, and logs read, by buttons", async (t) => {
  const port = await freePort();
  const to = await agent(undefined, `listen: {address: 127.0.0.1, port: ${port}}\n`);
  if (!await hasDevice(to)) return t.skip("no OpenCL device");
  const stage = await Stage.on(to);
  if (typeof stage === "string") return t.skip(stage);
  try {
    const { url } = await bridge(to);
    const page = await open(await browser(), url);
    const route = `services/${encodeURIComponent(`root/${stage.project}`)}`;
    const row = (name: string) => page.getByRole("table", { name: "Services" })
      .getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
    const press = (name: string) => page.getByRole("button", { name, exact: true }).click();

    await visit(page, route);
    await row("chat").waitFor();
    assert.equal(await row("chat").getByRole("button", { name: "+1 replica of chat" }).isDisabled(), true);
    assert.equal(await row("prepare").getByRole("button").count(), 0);
    await press("−1 replica of chat");
    await page.getByText("chat has 1 ready replica.").waitFor();
    await sees(row("chat"), /Ready.*1 of 1, 1 to 2/s);
    await press("+1 replica of chat");
    await page.getByText("chat has 2 ready replicas.").waitFor();
    await sees(page.getByRole("table", { name: "Decisions of the supervisor" }),
      /chat\s+scaled\s+to 2, by root, through the agent/);

    await press("Stop embed");
    const stop = page.getByRole("dialog", { name: "Stop embed?" });
    await sees(stop, /answered 503 until it is started again/);
    await assertAccessible(page, "stopping a service");
    await stop.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("embed is off.").waitFor();
    await row("embed").getByText("Off").waitFor();
    await press("Start embed");
    await page.getByText("embed has 1 ready replica.").waitFor();

    await press(`Logs of ${stage.project}-chat-1`);
    const logs = page.getByRole("dialog", { name: `Logs of ${stage.project}-chat-1` });
    await logs.getByRole("region").getByText("started").waitFor();
    await assertAccessible(page, "logs");
    await page.emulateMedia({ colorScheme: "dark" });
    await assertAccessible(page, "logs, dark", COLOURS);
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 360, height: 740 });
    await assertNoSideways(page, "logs at 360");
    await page.setViewportSize({ width: 1280, height: 900 });
    await logs.getByRole("button", { name: "Read again" }).click();
    await logs.getByRole("region").getByText("started").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await logs.count(), 0);

    /* A viewer sees the same, and is offered nothing that he may not do. */
    const served = `http://127.0.0.1:${port}`;
    if ((await fetch(served)).status === 404) {
      t.diagnostic("this cleaved was built without its console: nothing is seen as a viewer");
    } else {
      const viewer = await open(await browser(), served);
      await viewer.getByLabel("Token").fill(await to.token("viewer"));
      await viewer.getByRole("button", { name: "Sign in" }).click();
      await viewer.getByRole("heading", { name: "Overview" }).waitFor();
      await visit(viewer, route);
      await viewer.getByRole("rowheader", { name: "chat", exact: true }).waitFor();
      assert.equal(await viewer.getByRole("button", { name: /of chat|Logs|embed/ }).count(), 0);
      await viewer.context().close();
    }

    /* The page of before does not look by itself: the press is refused with the reason. */
    const late = await open(await browser(), url, { pace: 0 });
    await visit(late, route);
    const button = late.getByRole("button", { name: "−1 replica of chat" });
    await button.waitFor();
    await stage.tell("kill");
    await page.getByText("No supervisor of this project runs").waitFor();
    await button.click();
    await late.getByText(/no supervisor of a project .* runs on this node/).waitFor();
    await button.waitFor();
    await late.context().close();
    await page.context().close();
  } finally {
    await stage.end();
  }
  assertNoTroubles();
});
