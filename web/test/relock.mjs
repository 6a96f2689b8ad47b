/* SPDX-License-Identifier: Apache-2.0 */
/* After npm install: takes out of package-lock.json where each package was fetched from.
 * npm ci then asks whatever registry it is set up for, and the checksums stay.  (npm's own
 * option for this forgets the versions of packages for other platforms.) */
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));

for (const entry of Object.values(lock.packages)) {
  delete entry.resolved;
  delete entry.funding;
}
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
