/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the console of an agent that was installed from packages, for
 * tests/packaging/test_packages.py.
 *
 * usage: installed.ts URL TOKEN, that of an admin */
import { launch, open, troubles, visit } from "./browser";

const [url, token] = process.argv.slice(2) as [string, string];
const browser = await launch();

try {
  const page = await open(browser, url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByText("gpu0").first().waitFor();
  await visit(page, "tokens");
  await page.getByRole("rowheader", { name: "browser" }).waitFor();
  if (troubles.length > 0) throw new Error(troubles.join("; "));
  console.log("the console of the packages is shown");
} finally {
  await browser.close();
}
