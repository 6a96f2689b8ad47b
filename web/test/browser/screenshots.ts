/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of every page for the documents, on simulated nodes: a DGX A100 in use and a
 * laboratory's node beside it.  Simulated devices run nothing, so the figures of use, and
 * those of routes that the agent lacks, are the double's. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import type { Lease } from "../../src/api/types";
import { Agent, pause } from "./agent";
import { Bridge } from "./bridge";
import { launch, type Look, open, visit } from "./browser";
import { ALLOWANCES, furnish } from "./scenes";

const FOLDER = resolve(process.cwd(), "../docs/screenshots");
const MOST_BYTES = 150 * 1024;
const MOST_HEIGHT = 1100;

const dgx = new Agent("examples/dgx-a100.yaml");
dgx.configure(ALLOWANCES);
await dgx.start();
for (const scope of ["viewer", "admin"]) await dgx.token(scope);
const lab = await new Agent("examples/mixed.yaml").start();
await furnish(dgx);
const one = new Bridge(dgx, { seemsUsed: true });
const two = new Bridge(lab);
await one.listen();
await two.listen();
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
  await page.getByRole("button", { name: "Resize infer" }).click();
  await page.getByRole("dialog").waitFor();
}

type Scene = Look & { prepare?: (page: Page) => Promise<void> };

async function picture(name: string, route: string, look: Scene = {}, url = one.url): Promise<void> {
  const page = await open(browser, url, { height: 720, ...look });
  await visit(page, route);
  await look.prepare?.(page);
  await pause(1500);
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

try {
  mkdirSync(FOLDER, { recursive: true });
  const leases = (await dgx.json<{ items: Lease[] }>("/v1/leases")).items;
  const train = leases.find((each) => each.name === "train")!;

  await picture("overview", "overview");
  await picture("overview-dark", "overview", { dark: true });
  await picture("devices", "devices", {}, two.url);
  await picture("device", "devices/gpu2");
  await picture("partitions", "partitions");
  await picture("divide", "divide", { prepare: plan });
  await picture("leases", "leases");
  await picture("lease-resize", "leases", { prepare: resize, height: 720 });
  await picture("lease", `leases/${train.id}`);
  await picture("advice", "advice");
  await picture("events", "events");
  await picture("tenants", "tenants");
  await picture("tokens", "tokens");
  one.options.nodes = [{ name: "dgx-a100", url: one.url }, { name: "mixed", url: two.url }];
  await picture("nodes", "nodes");
  one.options.nodes = [];
  await picture("phone", "overview", { width: 360, height: 740 });
  console.log(`${Math.round(total / 1024)} KiB in all`);
} finally {
  await browser.close();
  await Promise.all([one.close(), two.close(), dgx.end(), lab.end()]);
}
