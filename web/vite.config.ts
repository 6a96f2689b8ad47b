/* SPDX-License-Identifier: Apache-2.0 */
import { defineConfig } from "vite";

/* The agent serves what is built here from /console/, and the page itself from / too. */
export default defineConfig({
  base: "/console/",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    /* A data: URL would need a hole in the content security policy. */
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
