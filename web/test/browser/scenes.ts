/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with something on them. */
import type { Agent } from "./agent";

const DGX_LAYOUT = `version: 1
devices:
  - select: {name: [gpu0]}
    partitions:
      - {profile: 3g.20gb, count: 1, shares: 2}
      - {profile: 1g.5gb, count: 4}
  - select: {name: [gpu1]}
    partitions:
      - {profile: 2g.10gb, count: 3}
      - {profile: 1g.5gb, count: 1}
`;

/* Settings: what a tenant may have; root is an administrator and may have all. */
export const ALLOWANCES = `tenants:
  - {user: nobody, share: 2, memory: 64G, leases: 4, profiles: [1g.5gb], classes: [normal, batch]}
`;

/* A DGX A100 in use: partitions, shares inside and beside them, and a queue. */
export async function furnish(agent: Agent): Promise<void> {
  await agent.apply(DGX_LAYOUT);
  await agent.hold("notebook", "--profile", "1g.5gb", "--share", "0.5");
  await agent.hold("eval", "--profile", "1g.5gb", "--share", "0.4", "--memory", "1G");
  await agent.hold("embed", "--device", "gpu1/2g.10gb@0", "--share", "0.6");
  await agent.hold("train", "--device", "gpu2", "--share", "0.5", "--memory", "20G", "--class", "batch");
  await agent.hold("infer", "--device", "gpu2", "--share", "0.3", "--memory", "8G", "--class", "latency");
  await agent.hold("tune", "--device", "gpu3", "--share", "0.75");
  await agent.hold("whole", "--device", "gpu4", "--share", "1");
  await agent.hold("next", "--device", "gpu4", "--share", "0.5", "--wait");
}
