/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's OpenAPI document, as others read it: a published validator accepts it, and a
 * client that is made of it alone drives the agent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import OpenApiClient from "openapi-client-axios";
import { agent } from "./world";
import { freePort } from "./agent";

/* A bundle of modules sees a CommonJS module's exports as its default. */
const Client = (OpenApiClient as unknown as { default?: typeof OpenApiClient }).default ?? OpenApiClient;

test("a published validator accepts the document, and a client made of it drives the agent", async () => {
  const port = await freePort();
  const served = await agent("dgx-a100", `listen: {address: 127.0.0.1, port: ${port}}\n`);
  const url = `http://127.0.0.1:${port}`;
  const definition = await (await fetch(`${url}/openapi.json`)).json();

  const { valid, errors } = await new Validator().validate(structuredClone(definition));
  assert.ok(valid, JSON.stringify(errors));

  const api = new Client({ definition, axiosConfigDefaults: { baseURL: url,
    headers: { Authorization: `Bearer ${await served.token("admin")}` } } });
  const client = await api.init();
  /* By the operations' ids, with their parameters where the document says that they belong. */
  const call = async (id: string, ...words: unknown[]) => {
    const done = await (client as unknown as Record<string, (...each: unknown[]) =>
      Promise<{ status: number; data: any }>>)[id]!(...words);
    return done;
  };

  const devices = (await call("getDevices")).data.items;
  assert.equal(devices.length, 8);
  const made = await call("postLeases", null,
    { name: "kept", share: 0.25, device: "gpu1", keep: true, user: 0 });
  assert.equal(made.status, 201);
  const changed = await call("patchLeasesByLease", { lease: made.data.id }, { cap: 0.5 });
  assert.equal(changed.data.cap, 0.5);
  const listed = await call("getLeases", { device: "gpu1", limit: 1 });
  assert.deepEqual(listed.data.items.map((each: { name: string }) => each.name), ["kept"]);
  await call("postDevicesByDeviceCordon", { device: "gpu2" }, { reason: "test" });
  assert.equal((await call("deleteLeasesByLease", { lease: "kept" })).status, 204);
  await assert.rejects(call("getLeasesByLease", { lease: "kept" }),
    (refusal: { response: { status: number; data: { code: string } } }) =>
      refusal.response.status === 404 && refusal.response.data.code === "not_found");
});
