/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual machines, GPUs for them, and pools, on a node with virtual functions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease } from "../../src/api/types";
import type { Agent } from "./agent";
import { open, visit } from "./browser";
import {
  agent, assertAccessible, assertNoSideways, assertNoTroubles, bridge, browser, COLOURS,
} from "./world";

const LAYOUT = `version: 1
devices:
  - select: {name: [gpu0]}
    vf: {count: 4, driver: vfio-pci}
  - select: {name: [gpu1]}
    shares: [{name: flex, share: 1}]
  - select: {name: [gpu2]}
    shares: [{name: flex, share: 1}]
`;
const DESKTOP = "17fe7877-0f22-429c-b7ca-bfbe62be5678";

/* As cleave assign requests it for a virtual machine of libvirt. */
async function assign(to: Agent, device: string, name: string, uuid: string): Promise<Lease> {
  const made = await to.ask("POST", "/v1/leases",
    JSON.stringify({ device, keep: true, holder: `vm:${uuid}`, command: name }));
  assert.equal(made.status, 201, made.text);
  return JSON.parse(made.text) as Lease;
}

test("virtual machines, GPUs for them and pools are shown in the words of the command line", async () => {
  const to = await agent("flex170");
  await to.apply(LAYOUT);
  const lease = await assign(to, "gpu0/vf:4@2", "Büro 1", DESKTOP);
  await assign(to, "gpu3", "desk", "8a7c0f7e-3f7e-4f0b-9a53-0a1b2c3d4e5f");
  to.cleave("pool", "assign", "flex", "render");
  to.cleave("cordon", "gpu2");
  const page = await open(await browser(), (await bridge(to)).url);

  await page.getByRole("navigation", { name: "Pages" })
    .getByRole("link", { name: "Virtual machines" }).click();
  const machine = page.getByRole("row", { name: /Büro 1/ });
  await machine.waitFor();
  assert.match(await machine.innerText(), /gpu0\/vf:4@2.*GiB/s);
  assert.match(await machine.innerText(), new RegExp(DESKTOP));
  const gpus = page.getByRole("region", { name: "GPUs" });
  assert.match(await gpus.getByRole("row", { name: /^gpu0/ }).innerText(), /Partitioned.*4\s+1-16/s);
  assert.match(await gpus.getByRole("row", { name: /^gpu1/ }).innerText(),
    /Not assignable.*it is in use/s);
  assert.match(await gpus.getByRole("row", { name: /^gpu3/ }).innerText(), /Assigned as a whole.*desk/s);
  const pools = page.getByRole("region", { name: "Pools" });
  assert.match(await pools.innerText(), /flex: 0 available/);
  assert.match(await pools.getByRole("row", { name: /gpu1/ }).innerText(), /flex.*Assigned.*render/s);
  assert.match(await pools.getByRole("row", { name: /gpu2/ }).innerText(), /Unavailable.*cordoned/s);
  await assertAccessible(page, "virtual machines");
  await page.emulateMedia({ colorScheme: "dark" });
  await assertAccessible(page, "virtual machines, dark", COLOURS);
  await assertNoSideways(page, "virtual machines");

  await machine.getByRole("link", { name: "gpu0/vf:4@2" }).click();
  await page.waitForURL(new RegExp(lease.id));
  await page.locator("main").getByText("virtual machine Büro 1").waitFor();
  await visit(page, "partitions");
  await page.getByText("virtual machine Büro 1").waitFor();
  await page.context().close();
  assertNoTroubles();
});

test("a node without virtual machines and pools says how to make some, and fits a phone", async () => {
  const page = await open(await browser(), (await bridge(await agent("mixed"))).url,
    { width: 360, height: 740 });

  await visit(page, "machines");
  await page.getByText("No virtual machine has a partition").waitFor();
  await page.getByText("No pools").waitFor();
  assert.match(await page.getByRole("region", { name: "GPUs" }).innerText(),
    /Ready for whole-GPU assignment/);
  await assertAccessible(page, "no virtual machines");
  await assertNoSideways(page, "no virtual machines at 360");
  await page.context().close();
  assertNoTroubles();
});
