/* SPDX-License-Identifier: Apache-2.0 */
/* Services of a compose file, with real containers on this machine's own device. */
import { test } from "node:test";
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
