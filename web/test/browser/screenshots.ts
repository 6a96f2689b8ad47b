/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of every page for the documents, each of a real agent.  What is divided, and what
 * drivers measure, is of a simulated DGX A100; what programs use is of real ones at work on
 * this machine's own device.
 *
 * usage: run.mjs screenshots [NAME...], all without any */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import type { Lease } from "../../src/api/types";
import { Agent, pause } from "./agent";
import { Bridge } from "./bridge";
import { launch, type Look, open, visit } from "./browser";
import { busyDgx, workshop } from "./scenes";
import { Stage } from "./stage";

const FOLDER = resolve(process.cwd(), "../docs/screenshots");
const MOST_BYTES = 150 * 1024;
const MOST_HEIGHT = 1100;

const WATCHED_MS = 200000;
const only = process.argv.slice(2);
const isWanted = (...pictures: string[]) =>
  only.length === 0 || pictures.some((each) => only.includes(each));

const here = await new Agent().start();
await workshop(here);
const began = Date.now();
const dgx = new Agent();
await busyDgx(dgx);
for (const scope of ["viewer", "admin"]) await dgx.token(scope);
const lab = await Agent.on("mixed").start();
const [one, two, three] = [new Bridge(dgx), new Bridge(lab), new Bridge(here)];
for (const each of [one, two, three]) await each.listen();
const browser = await launch();
let total = 0;

/* A third of what the browser's PNG takes; playwright itself does not offer it. */
async function webp(page: Page): Promise<Buffer> {
  const protocol = await page.context().newCDPSession(page);
  const { data } = await protocol.send("Page.captureScreenshot", { format: "webp", quality: 88 });
  return Buffer.from(data, "base64");
}

async function plan(page: Page): Promise<void> {
  await page.getByRole("checkbox", { name: /^gpu4/ }).waitFor();
  for (const profile of ["3g.20gb", "2g.10gb", "1g.5gb"])
    await page.getByRole("button", { name: `One ${profile} more`, exact: true }).click();
  await page.getByText("turn on MIG of gpu5").waitFor();
}

async function resize(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Resize notebook" }).click();
  await page.getByRole("dialog").waitFor();
}

async function apply(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Resize \d lease/ }).first().click();
  await page.getByRole("dialog").waitFor();
}

async function lastMinutes(page: Page): Promise<void> {
  await page.getByRole("button", { name: "10 min" }).click();
  await page.waitForSelector(".u-legend");
}

type Scene = Look & { prepare?: (page: Page) => Promise<void> };

async function picture(name: string, route: string, look: Scene = {}, url = one.url): Promise<void> {
  if (!isWanted(name)) return;
  const page = await open(browser, url, { height: 720, ...look });
  await visit(page, route);
  await look.prepare?.(page);
  await pause(1500);
  await page.evaluate(() => scrollTo(0, 0));
  const full = await page.evaluate(() => document.querySelector(".frame")!.scrollHeight);
  const height = look.height ?? Math.min(MOST_HEIGHT, Math.max(480, full));
  await page.setViewportSize({ width: look.width ?? 1280, height });
  await pause(500);
  const bytes = await webp(page);
  await page.context().close();
  writeFileSync(join(FOLDER, `${name}.webp`), bytes);
  total += bytes.length;
  console.log(`${name}.webp ${Math.round(bytes.length / 1024)} KiB`);
  if (bytes.length > MOST_BYTES) throw new Error(`${name}.webp: over ${MOST_BYTES} bytes`);
}

/* Services of real containers, alone on this machine's own device; one computes. */
async function pictureServices(): Promise<void> {
  const agent = await new Agent().start(), bridge = new Bridge(agent);
  const stage = await Stage.on(agent, "shop");
  if (typeof stage === "string") throw new Error(`no services: ${stage}`);
  try {
    await bridge.listen();
    await stage.tell("request search");
    await stage.tell("load chat");
    await pause(4000);
    await picture("services", "services", {}, bridge.url);
    await picture("service", `services/${encodeURIComponent(`root/${stage.project}`)}`, {}, bridge.url);
  } finally {
    await stage.end();
    await bridge.close();
    await agent.end();
  }
}

try {
  mkdirSync(FOLDER, { recursive: true });
  const leases = (await here.json<{ items: Lease[] }>("/v1/leases")).items;
  const idOf = (name: string) => leases.find((each) => each.name === name)!.id;

  await picture("overview", "overview");
  await picture("overview-dark", "overview", { dark: true });
  await picture("devices", "devices");
  await picture("device", "devices/gpu2");
  await picture("device-degraded", "devices/gpu6", { height: 720 });
  await picture("partitions", "partitions");
  await picture("divide", "divide", { prepare: plan });
  await picture("events", "events");
  await picture("tenants", "tenants");
  await picture("tokens", "tokens");
  await picture("phone", "overview", { width: 360, height: 740 });
  if (isWanted("services", "service")) await pictureServices();
  if (isWanted("overview-here", "leases", "lease-resize", "lease", "advice", "advice-apply"))
    await pause(Math.max(0, began + WATCHED_MS - Date.now()));
  await picture("overview-here", "overview", {}, three.url);
  await picture("leases", "leases", {}, three.url);
  await picture("lease-resize", "leases", { prepare: resize, height: 720 }, three.url);
  await picture("lease", `leases/${idOf("train")}`, { prepare: lastMinutes }, three.url);
  await picture("advice", "advice", {}, three.url);
  await picture("advice-apply", "advice", { prepare: apply, height: 720 }, three.url);
  one.options.nodes = [{ name: "dgx-a100", url: one.url }, { name: "mixed", url: two.url },
    { name: "here", url: three.url }];
  await picture("nodes", "nodes");
  console.log(`${Math.round(total / 1024)} KiB in all`);
} finally {
  await browser.close();
  await Promise.all([...[one, two, three].map((each) => each.close()),
    ...[dgx, lab, here].map((each) => each.end())]);
}
