/* SPDX-License-Identifier: Apache-2.0 */
/* The console on real agents, to look at by hand: on simulated nodes by the names of their
 * examples, and on this machine's own device with programs at work, which is "here".
 *
 * usage: run.mjs serve [EXAMPLE|here...] (dgx-a100 without any) */
import { Agent } from "./agent";
import { Bridge } from "./bridge";
import { busyDgx, workshop } from "./scenes";

const names = process.argv.slice(2);
const agents: Agent[] = [];
const bridges: Bridge[] = [];

for (const name of names.length > 0 ? names : ["dgx-a100"]) {
  const agent = name === "here" ? new Agent() : Agent.on(name);
  agents.push(agent);
  if (name === "dgx-a100") await busyDgx(agent);
  else await agent.start();
  if (name === "here") await workshop(agent);
  const bridge = new Bridge(agent);
  bridges.push(bridge);
  console.log(`${name}: ${await bridge.listen(7780 + bridges.length - 1)}/`);
}
if (bridges.length > 1)
  for (const bridge of bridges)
    bridge.options.nodes = bridges.map((each, at) => ({ name: names[at]!, url: each.url }));

process.on("SIGINT", async () => {
  await Promise.all([...bridges.map((each) => each.close()), ...agents.map((each) => each.end())]);
  process.exit(0);
});
