/* SPDX-License-Identifier: Apache-2.0 */
/* The console on real agents with simulated nodes, to look at by hand.
 *
 * usage: run.mjs serve [EXAMPLE...] (dgx-a100 without any) */
import { Agent } from "./agent";
import { Bridge } from "./bridge";
import { furnish } from "./scenes";

const names = process.argv.slice(2);
const agents: Agent[] = [];
const bridges: Bridge[] = [];

for (const name of names.length > 0 ? names : ["dgx-a100"]) {
  const agent = await new Agent(`examples/${name}.yaml`).start();
  agents.push(agent);
  if (name === "dgx-a100") await furnish(agent);
  const bridge = new Bridge(agent, { seemsUsed: true });
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
