/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with something on them. */
import type { ChildProcess } from "node:child_process";
import type { Device, Lease } from "../../src/api/types";
import { type Agent, until } from "./agent";

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
const ALLOWANCES = `tenants:
  - {user: nobody, share: 2, memory: 64G, leases: 4, profiles: [1g.5gb], classes: [normal, batch]}
watch: {every: 1s, grace: 3s}
`;

/* What the drivers of a DGX A100 in use say: one GPU is not well, one has a program on it
 * that asked nobody, and one lease holds more than its quota. */
const dgxNode = (train: number, infer: number) => `version: 1
name: dgx-a100
devices:
  - model: A100-40GB
    count: 8
    pci: ["0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0",
          "0000:87:00.0", "0000:90:00.0", "0000:b7:00.0", "0000:bd:00.0"]
    numa: [3, 3, 1, 1, 7, 7, 5, 5]
    readings:
      - {power: 188, temperature: 48, energy: 512000000, memory: 9G}
      - {power: 121, temperature: 41, energy: 395000000, memory: 4G}
      - {power: 381, temperature: 66, energy: 987000000, utilization: 97, encoder: 0, decoder: 12,
         memory: 33G}
      - {power: 243, temperature: 55, energy: 640000000, utilization: 64, encoder: 0, decoder: 3, memory: 22G}
      - {power: 352, temperature: 62, energy: 871000000, utilization: 91, encoder: 0, decoder: 0, memory: 36G}
      - {power: 58, temperature: 32, energy: 201000000, utilization: 2, encoder: 0, decoder: 0, memory: 512M}
      - {power: 63, temperature: 34, energy: 256000000, utilization: 0, encoder: 0, decoder: 0,
         memory: 512M, rows-pending: 1}
      - {power: 298, temperature: 59, energy: 733000000, utilization: 83, encoder: 0, decoder: 0, memory: 31G}
holders:
  - {on: gpu7, process: python3, pid: 4711, memory: 31G}
  - {on: gpu2, process: python3, pid: ${train}, memory: 25G}
  - {on: gpu2, process: tritonserver, pid: ${infer}, memory: 7G}
`;

/* The same node in use: partitions, shares inside and beside them, and a queue. */
export async function busyDgx(agent: Agent): Promise<void> {
  const [train, infer] = [agent.waiting(), agent.waiting()];

  agent.configure(ALLOWANCES);
  await agent.simulate(dgxNode(train.pid!, infer.pid!)).start();
  await furnish(agent, train, infer);
  await until("the watchdog has seen them", async () =>
    (await agent.json<{ items: Lease[] }>("/v1/leases")).items.some((each) => each.over_quota));
}

/* Who holds the leases of train and infer may be there already. */
export async function furnish(agent: Agent, train?: ChildProcess, infer?: ChildProcess): Promise<void> {
  const idle = ["sleep", "600"];
  await agent.run(idle, "train",
    ["--device", "gpu2", "--share", "0.5", "--memory", "20G", "--class", "batch"], train);
  await agent.run(idle, "infer",
    ["--device", "gpu2", "--share", "0.3", "--memory", "8G", "--class", "latency"], infer);
  await agent.apply(DGX_LAYOUT);
  await agent.hold("notebook", "--profile", "1g.5gb", "--share", "0.5");
  await agent.hold("eval", "--profile", "1g.5gb", "--share", "0.4", "--memory", "1G");
  await agent.hold("embed", "--device", "gpu1/2g.10gb@0", "--share", "0.6");
  await agent.hold("tune", "--device", "gpu3", "--share", "0.75");
  await agent.hold("whole", "--device", "gpu4", "--share", "1");
  await agent.hold("next", "--device", "gpu4", "--share", "0.5", "--wait");
}

/* Makes an instance, for which Vulkan's loader maps its drivers, and stays.  The eight words
 * are a VkInstanceCreateInfo with its type and nothing else. */
const VULKAN = "import ctypes, time; ctypes.CDLL('libvulkan.so.1').vkCreateInstance(" +
  "ctypes.byref((ctypes.c_uint64 * 8)(1)), None, ctypes.byref(ctypes.c_void_p())); time.sleep(600)";

export async function hasDevice(agent: Agent): Promise<boolean> {
  return (await agent.json<{ items: Device[] }>("/v1/devices")).items.length > 0;
}

/* This machine's own device, with real programs of several habits at work in its shares.
 * cap: for the hungry one, where others on the machine are to have something too. */
export async function workshop(agent: Agent, ...cap: string[]): Promise<void> {
  await agent.work("train", "--mode deep --kernel 2000", 300,
    "--share", "0.2", "--memory", "512M", "--class", "batch", ...cap);
  await agent.work("serve", "--mode request --request 4000 --hz 25", 160,
    "--share", "0.15", "--memory", "256M", "--class", "latency");
  await agent.work("notebook", "--mode bursts --burst 150000 --idle 600000", 90,
    "--share", "0.1..0.3", "--memory", "256M");
  await agent.work("spare", "--mode request --request 2000 --hz 2", 64, "--share", "0.4", "--memory", "2G");
  await agent.run(["python3", "-c", VULKAN], "render", ["--share", "0.05", "--memory", "128M"]);
  await agent.hold("next", "--share", "0.5", "--memory", "512M", "--wait");
}
