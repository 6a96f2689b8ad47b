/* SPDX-License-Identifier: Apache-2.0 */
/* Chromium, and pages that fail a test by themselves when something is wrong in them. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";

const CANDIDATES = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome"];

export function chromiumPath(): string {
  const found = CANDIDATES.find((path) => path && existsSync(path));
  if (!found) throw new Error("no Chromium: install Debian's package chromium, or set CHROMIUM");
  return found;
}

export async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    args: ["--no-sandbox", "--disable-gpu", "--disable-lcd-text"],
  });
}

export interface Look {
  width?: number;
  height?: number;
  dark?: boolean;
  /* Milliseconds between looks at the agent. */
  pace?: number;
}

/* What the console wrote or threw, but for the network's own lines about refused answers,
 * which the console shows in words. */
export const troubles: string[] = [];

export async function open(browser: Browser, url: string, look: Look = {}): Promise<Page> {
  const context: BrowserContext = await browser.newContext({
    viewport: { width: look.width ?? 1280, height: look.height ?? 900 },
    colorScheme: look.dark ? "dark" : "light",
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();

  page.setDefaultTimeout(60000);
  page.on("pageerror", (error) => troubles.push(`thrown: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !/Failed to load resource/.test(text)) troubles.push(text);
  });
  if (look.pace !== undefined)
    await page.addInitScript((pace) => localStorage.setItem("cleave.pace", String(pace)), look.pace);
  await page.goto(url);
  return page;
}

/* To a page of the console, and until it shows more than that it loads. */
export async function visit(page: Page, route: string): Promise<void> {
  await page.evaluate((hash) => { location.hash = hash; }, `#/${route}`);
  await page.waitForSelector("h1");
  await page.waitForFunction(() => !document.querySelector("main .skeleton"));
}

/* The overview has its devices. */
export async function shown(page: Page, device: string): Promise<void> {
  await page.locator(".device-row").getByRole("link", { name: device, exact: true }).waitFor();
}

/* Until the text of a part of the page matches: the console shows what the agent says with the
 * next look at it. */
export async function sees(part: Locator, text: RegExp, seconds = 60): Promise<void> {
  const end = Date.now() + seconds * 1000;
  let found = await part.innerText();
  while (!text.test(found) && Date.now() < end) {
    await part.page().waitForTimeout(50);
    found = await part.innerText();
  }
  assert.match(found, text);
}
