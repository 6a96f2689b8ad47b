/* SPDX-License-Identifier: Apache-2.0 */
/* Runs what is in TypeScript here with no more than Vite's own compiler: bundles each file
 * into a folder of its own and hands it to node.
 *
 * usage: run.mjs unit [NAME...] | browser [NAME...] | screenshots | serve [EXAMPLE...] |
 *        installed URL TOKEN | bench UPDATES PACE */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", ".test");

const options = {
  bundle: true, platform: "node", format: "esm", target: "node18", packages: "external",
  sourcemap: "inline", logLevel: "warning",
};

async function bundle(folder, files) {
  const target = join(out, folder);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  await build({ ...options, outdir: target, outExtension: { ".js": ".mjs" },
    entryPoints: files.map((file) => join(here, folder, file)) });
  return files.map((file) => join(target, file.replace(/\.ts$/, ".mjs")));
}

/* Lines that ./dev web can count, and what people like on a terminal. */
const reporter = `--test-reporter=${process.stdout.isTTY ? "spec" : "tap"}`;

function node(...words) {
  const done = spawnSync(process.execPath, ["--enable-source-maps", ...words],
    { stdio: "inherit", cwd: join(here, "..") });
  process.exit(done.status ?? 1);
}

const [what, ...rest] = process.argv.slice(2);
const testsIn = (folder) => readdirSync(join(here, folder)).filter((file) =>
  file.endsWith(".test.ts") && (rest.length === 0 || rest.some((name) => file.startsWith(name))));

switch (what) {
case "unit":
  node("--test", reporter, ...await bundle("unit", testsIn("unit")));
  break;
case "browser": {
  /* In one process, with one browser: two processors are not many. */
  const main = join(out, "browser", "all.mjs");
  await build({
    ...options, outfile: main,
    stdin: {
      resolveDir: join(here, "browser"), loader: "ts",
      contents: testsIn("browser").map((file) => `import "./${file}";`).join("\n"),
    },
  });
  node("--test", reporter, main);
  break;
}
case "bench":
case "installed":
case "screenshots":
case "serve": {
  const [main] = await bundle("browser", [`${what}.ts`]);
  node(main, ...rest);
  break;
}
default:
  console.error("usage: run.mjs unit | browser | screenshots | serve | installed | bench");
  process.exit(64);
}
