/* SPDX-License-Identifier: Apache-2.0 */
/* Every page, with data and without, in both themes and on a phone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease } from "../../src/api/types";
import { open, sees, shown, visit } from "./browser";
import {
  COLOURS, agent, assertAccessible, assertNoSideways, assertNoTroubles, bridge, browser, busyAgent,
} from "./world";

async function routes(): Promise<[string, ...RegExp[]][]> {
  if ((await (await busyAgent()).json<{ items: unknown[] }>("/v1/tokens")).items.length === 0)
    await (await busyAgent()).token("viewer");
  const { items } = await (await busyAgent()).json<{ items: Lease[] }>("/v1/leases");
  const train = items.find((each) => each.name === "train")!;

  return [
    ["overview", /2 divided, 9 partitions.*kW.*66 °C at most, gpu2.*3\s+problems/s,
      /gpu6: degraded: rows of its memory.*gpu7: used without a lease by .*pid 4711/s,
      /train: the driver reports that it holds 25 GiB of a quota of 20 GiB/,
      /gpu2.*66 °C · 381 W · 97% busy.*gpu7.*process 4711.*lease queued/s],
    ["devices", /gpu0.*Divided.*gpu5.*Ready.*1g\.5gb, 1g\.5gb\+me.*gpu6.*Degraded.*rows of its memory/s,
      /Busy.*Power.*Temp\..*gpu2.*97%.*381 W.*66 °C.*gpu5.*2%.*58 W/s],
    ["devices/gpu0", /5 decode.*5 partitions.*3g\.20gb.*History/s],
    ["devices/gpu2", /381 W.*66 °C.*kWh.*Busy.*97% of the time.*Encoders.*Decoders.*12%.*33\.0 of 39\.3 GiB/s,
      /2 processes seen on it.*train.*25 GiB/s],
    ["devices/gpu6", /Degraded for.*rows of its memory wait.*New leases go elsewhere/s],
    ["devices/gpu7", /1 process seen on it.*4711.*No lease.*31 GiB/s],
    ["partitions", /9 partitions.*Encode\tDecode.*gpu0\/1g\.5gb@0.*notebook of root.*MIG-/s],
    ["divide", /largest set.*Memory each.*4\.8 GiB/s],
    ["leases", /train.*Over quota.*25 GiB by its driver.*notebook.*gpu0\/1g\.5gb@0.*Queued, place 1/s],
    [`leases/${train.id}`,
      /train.*Over quota.*It exceeds its promise.*25 GiB of a quota of 20 GiB.*By its driver.*batch/s,
      /History.*Promised/s],
    ["services", /No services.*cleave up/s],
    ["advice", /No advice/],
    ["events", /lease queued.*lease created.*agent started/s, /Trouble:\s+lease over its quota/,
      /Trouble:\s+device degraded.*rows of its memory/s],
    ["events/audit", /layout\.apply.*lease\.create|lease\.create.*layout\.apply/s],
    ["tenants", /root.*nobody.*0 of 4.*1g\.5gb.*normal, batch/s],
    ["tokens", /viewer.*Revoke/s],
  ];
}

test("every page has its data and no violation, light and dark", async () => {
  const served = await bridge(await busyAgent());
  const page = await open(await browser(), served.url);

  for (const [route, ...texts] of await routes()) {
    await visit(page, route);
    for (const text of texts)
      await sees(page.locator("body"), new RegExp(text, "s"));
    await assertAccessible(page, `${route}, light`);
    await page.emulateMedia({ colorScheme: "dark" });
    await assertAccessible(page, `${route}, dark`, COLOURS);
    await page.emulateMedia({ colorScheme: "light" });
    await assertNoSideways(page, route);
  }
  await page.context().close();
  assertNoTroubles();
});

test("every page fits a phone, with the pages behind a button", async () => {
  const served = await bridge(await busyAgent());
  const page = await open(await browser(), served.url, { width: 360, height: 740 });

  for (const [route] of await routes()) {
    await visit(page, route);
    await assertNoSideways(page, `${route} at 360`);
  }
  await visit(page, "overview");
  await page.getByRole("button", { name: "Pages" }).click();
  await assertAccessible(page, "the open menu on a phone");
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Leases" }).click();
  await page.getByRole("heading", { name: "Leases" }).waitFor();
  assert.equal(await page.getByRole("navigation", { name: "Pages" }).isVisible(), false);
  await page.context().close();
  assertNoTroubles();
});

test("an agent without the newer routes is shown as that, and the rest works", async () => {
  const served = await bridge(await busyAgent(), { lacks: ["/v1/whoami", "/v1/advice",
    "/v1/projects", "/v1/tenants", "/v1/tokens", "/v1/audit", "/v1/events/stream", "/v1/history"] });
  const page = await open(await browser(), served.url);

  for (const route of ["advice", "services", "tenants", "tokens", "events/audit"]) {
    await visit(page, route);
    await page.getByText("This agent does not offer this yet").waitFor();
    await assertAccessible(page, `${route} that is not there`);
  }
  await visit(page, "events");
  await page.getByRole("rowheader", { name: "lease queued" }).waitFor();
  await visit(page, "devices/gpu2");
  await page.getByText("This agent keeps no history yet").waitFor();
  await page.context().close();
  assertNoTroubles();
});

test("devices that cannot be divided say why, and what to use", async () => {
  const served = await bridge(await agent("mixed"));
  const page = await open(await browser(), served.url);

  await visit(page, "devices/gpu9");
  await page.locator(".badge", { hasText: "Cannot be divided" }).waitFor();
  await page.getByText("has no MIG and no virtual functions here: use shares").first().waitFor();
  await visit(page, "divide");
  assert.equal(await page.getByRole("checkbox", { name: /^gpu9/ }).isDisabled(), true);
  await page.getByRole("button", { name: "2 × AMD Instinct MI300X" }).click();
  assert.equal(await page.getByRole("checkbox", { name: /^gpu5/ }).isChecked(), true);
  assert.match(await page.getByRole("row", { name: /^CPX\/NPS4/ }).innerText(), /8.*24 GiB.*38/s);
  await assertAccessible(page, "a node of several kinds");
  await visit(page, "partitions");
  await page.getByText("No device is divided").waitFor();
  await visit(page, "leases");
  await page.getByText("No leases").waitFor();
  await visit(page, "nowhere");
  await page.getByText("There is no such page").waitFor();
  await page.context().close();
  assertNoTroubles();
});

test("nothing moves while a page loads and figures come in", async () => {
  const served = await bridge(await busyAgent(), { delay_ms: 150 });
  const page = await open(await browser(), `${served.url}/#/overview`);

  await shown(page, "gpu7");
  await page.waitForTimeout(2500);
  const shift = await page.evaluate(() => new Promise<number>((done) => {
    let sum = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) sum += (entry as unknown as { value: number }).value;
    }).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 300);
  }));
  assert.ok(shift < 0.02, `layout shift ${shift}`);
  await page.context().close();
});
