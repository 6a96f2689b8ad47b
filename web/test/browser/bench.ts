/* SPDX-License-Identifier: Apache-2.0 */
/* What the console costs, for bench/console.py: a line of JSON for each figure.
 *
 * usage: bench.ts UPDATES PACE, the milliseconds between two of them */
import type { Browser, Page } from "playwright-core";
import { Agent, until } from "./agent";
import { Bridge } from "./bridge";
import { launch, open, shown, visit } from "./browser";
import { furnish } from "./scenes";

const LOADS = 9;
const WARM_UP = 60;
const ROUTES = ["overview", "devices/gpu2"];

const [updates, pace] = process.argv.slice(2).map(Number) as [number, number];
const middle = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;

function tell(metric: string, value: number): void {
  console.log(JSON.stringify({ metric, value }));
}

/* Each in a profile of its own, with nothing kept from the one before. */
async function measureLoads(browser: Browser, served: Bridge): Promise<void> {
  const took: number[] = [], painted: number[] = [];

  for (let n = 0; n < LOADS; n++) {
    const page = await open(browser, "about:blank");
    served.served = { bytes: 0, files: [] };
    const began = Date.now();
    await page.goto(served.url);
    await shown(page, "gpu7");
    took.push(Date.now() - began);
    painted.push(await page.evaluate(() =>
      performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN));
    await page.context().close();
  }
  tell("first_load", served.served.bytes / 1024);
  tell("first_paint", middle(painted));
  tell("interactive", middle(took));
}

async function heapOf(page: Page): Promise<number> {
  const protocol = await page.context().newCDPSession(page);
  await protocol.send("HeapProfiler.collectGarbage");
  await protocol.send("HeapProfiler.collectGarbage");
  const { usedSize } = await protocol.send("Runtime.getHeapUsage");
  await protocol.detach();
  return usedSize;
}

/* Bytes of heap more after so many updates, and the elements of the page then. */
async function measureGrowth(browser: Browser, served: Bridge, route: string) {
  const page = await open(browser, served.url, { pace });
  let seen = 0;
  page.on("response", (response) => { if (response.url().endsWith("/v1/devices")) seen++; });
  const after = async (n: number) => {
    const end = seen + n;
    await until(`${n} updates`, () => seen >= end, 60 + n * Math.max(pace, 100) / 500);
  };

  await visit(page, route);
  await after(WARM_UP);
  const before = await heapOf(page), began = Date.now();
  await after(updates);
  const perMinute = updates / ((Date.now() - began) / 60000);
  const grown = await heapOf(page) - before;
  await page.context().close();
  return { grown, perMinute };
}

const agent = await Agent.on("dgx-a100").start();
const served = new Bridge(agent);
const browser = await launch();
try {
  await furnish(agent);
  await served.listen();
  await measureLoads(browser, served);
  const each = await Promise.all(ROUTES.map((route) => measureGrowth(browser, served, route)));
  tell("updates_per_minute", Math.min(...each.map(({ perMinute }) => perMinute)));
  tell("growth", Math.max(...each.map(({ grown }) => grown)) / 1024);
} finally {
  await browser.close();
  await served.close();
  await agent.end();
}
