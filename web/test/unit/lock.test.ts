/* SPDX-License-Identifier: Apache-2.0 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface Entry {
  version?: string;
  integrity?: string;
  resolved?: string;
}

test("the lock names versions and checksums, and no place to fetch from", () => {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, Entry> };
  for (const [name, entry] of Object.entries(lock.packages)) {
    if (name === "") continue;
    assert.match(entry.version ?? "", /^\d+\.\d+\.\d+/, name);
    assert.match(entry.integrity ?? "", /^sha512-/, name);
    assert.equal(entry.resolved, undefined, `${name}: npm run relock`);
  }
});

test("each dependency is one exact version", () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as
    Record<"dependencies" | "devDependencies", Record<string, string>>;
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
    assert.match(version, /^\d+\.\d+\.\d+$/, name);
});
