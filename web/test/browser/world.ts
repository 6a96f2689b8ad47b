/* SPDX-License-Identifier: Apache-2.0 */
/* What tests share: one browser, and agents that are started when a test first needs them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after } from "node:test";
import type { Browser, Page } from "playwright-core";
import { Agent } from "./agent";
import { Bridge, type Options } from "./bridge";
import { launch, troubles } from "./browser";
import { busyDgx } from "./scenes";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let started: Promise<Browser> | null = null;
let dgx: Promise<Agent> | null = null;
const agents: Agent[] = [];
const bridges: Bridge[] = [];

export function browser(): Promise<Browser> {
  started ??= launch();
  return started;
}

export async function agent(node?: string, settings = ""): Promise<Agent> {
  const made = node ? Agent.on(node) : new Agent();
  agents.push(made);
  made.configure(settings);
  return made.start();
}

/* The DGX A100 with leases on it, and with what its drivers say, for tests that change
 * nothing. */
export function busyAgent(): Promise<Agent> {
  dgx ??= (async () => {
    const made = new Agent();
    agents.push(made);
    await busyDgx(made);
    return made;
  })();
  return dgx;
}

export async function bridge(to: Agent, options: Partial<Options> = {}): Promise<Bridge> {
  const made = new Bridge(to, options);
  bridges.push(made);
  await made.listen();
  return made;
}

/* All of them, since one that is left would keep this process.  Node does not print why a
 * hook of the whole file failed. */
async function endAll(what: string, each: (() => Promise<void>)[]): Promise<boolean> {
  const ends = await Promise.allSettled(each.map((end) => end()));
  const failed = ends.filter((end) => end.status === "rejected");
  for (const end of failed) console.error(`cannot end ${what}:`, end.reason);
  return failed.length === 0;
}

after(async () => {
  const good = [
    await endAll("the browser", [async () => (await started)?.close()]),
    await endAll("a bridge", bridges.map((each) => () => each.close())),
    await endAll("an agent", agents.map((each) => () => each.end())),
  ];
  assert.ok(good.every(Boolean), "something could not be ended");
});

/* Ends a test with what the page wrote or threw meanwhile. */
export function assertNoTroubles(): void {
  const seen = troubles.splice(0);
  assert.deepEqual(seen, []);
}

/* The only rule whose result depends on the colour scheme. */
export const COLOURS = "color-contrast";

/* By all rules of axe, or by one. */
export async function assertAccessible(page: Page, what: string, rule?: string): Promise<void> {
  /* Through the protocol, which the page's policy does not bind. */
  if (!await page.evaluate(() => "axe" in window)) await page.evaluate(AXE);
  const found = await page.evaluate(async (only) => {
    const axe = (window as unknown as { axe: { run: (options: object) => Promise<{
      violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }> } }).axe;
    const results = await axe.run(only ? { runOnly: only } : {});
    return results.violations.map((each) => [each.id, ...each.nodes.slice(0, 3).map((node) =>
      `${node.html.slice(0, 160)} ${node.failureSummary}`)].join("\n"));
  }, rule);
  assert.deepEqual(found, [], what);
}

export async function assertNoSideways(page: Page, what: string): Promise<void> {
  const [wide, room] = await page.evaluate(() =>
    [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(wide! <= room!, `${what}: ${wide} wide in ${room}`);
}
