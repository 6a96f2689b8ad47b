/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual machines with partitions or devices of their own, the GPUs that they can have, and
 * pools of whole GPUs, from the objects of the agent.  The words are those of the command line. */
import type { Device, Lease, Node, NodeDevice, StandingShare } from "../api/types";

export interface Machine {
  uuid: string;
  name: string;
  leases: Lease[];
}

const HOLDER = "vm:";

/* The agent knows those that have something; libvirt knows all of them. */
export function machinesOf(leases: Lease[]): Machine[] {
  const found = new Map<string, Machine>();

  for (const lease of leases) {
    if (!lease.holder?.startsWith(HOLDER)) continue;
    const uuid = lease.holder.slice(HOLDER.length);
    const machine = found.get(uuid) ?? { uuid, name: lease.command, leases: [] };
    machine.leases.push(lease);
    found.set(uuid, machine);
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
}

/* In the words of the agent's holders. */
export const machineText = (lease: Lease): string => `virtual machine ${lease.command}`;

/* Who holds what the lease is on. */
export const holderText = (lease: Lease): string =>
  lease.holder ? machineText(lease) : `${lease.name} of ${lease.tenant}`;

export type GpuState = NonNullable<NodeDevice["assignable"]> | "assigned";

export const GPU_WORDS: Record<GpuState, string> = {
  assigned: "Assigned as a whole",
  whole: "Ready for whole-GPU assignment",
  partitioned: "Partitioned",
  sriov_off: "Capable, SR-IOV off",
  none: "Not assignable",
};

const COUNTS_MAX = 64;

/* The numbers of partitions that the driver allows, as "1, 2, 4" or "1-16". */
export function countsOf(gpu: NodeDevice): string {
  const { capable, total, counts = 0 } = gpu.vf ?? { capable: false, total: 0 };
  const all = Array.from({ length: Math.min(total, COUNTS_MAX) }, (_, at) => at + 1);
  /* A bit for each number; more of them than an integer of JavaScript's operators has. */
  const allowed = all.filter((n) => counts === 0 || Math.floor(counts / 2 ** (n - 1)) % 2 === 1);

  if (!capable || allowed.length === 0) return "";
  const [first, last] = [allowed[0]!, allowed[allowed.length - 1]!];
  return allowed.length > 2 && last - first + 1 === allowed.length ? `${first}-${last}` : allowed.join(", ");
}

export interface Gpu extends Pick<NodeDevice, "name" | "model" | "memory_bytes" | "engines"> {
  state: GpuState;
  why: string;
  partitions: number;
  counts: string;
  /* By which a virtual machine has the whole GPU. */
  lease: Lease | null;
}

const isWhole = (lease: Lease) => Boolean(lease.holder?.startsWith(HOLDER) && !lease.partition);

function gpuOf(device: NodeDevice, lease: Lease | null): Gpu {
  return {
    ...device,
    state: lease ? "assigned" : device.assignable!,
    why: lease ? "" : device.why_not_assignable ?? "",
    partitions: device.scheme === "vf" ? device.partitions.length : 0,
    counts: countsOf(device),
    lease,
  };
}

/* The driver of a GPU that a running machine has does not show it, while sysfs may, with another
 * name: the lease stands for it.  An agent of an earlier version does not tell what is assignable. */
export function gpusOf(node: Node | null, devices: Device[], leases: Lease[]): Gpu[] {
  const wholes = leases.filter(isWhole);
  const leaseOf = (name: string) => wholes.find((each) => each.device === name) ?? null;
  const isOtherName = (gpu: NodeDevice) => wholes.some(({ devices: [has] }) =>
    has?.pci_address && has.pci_address === gpu.pci_address && has.name !== gpu.name);
  const shown = (node?.devices ?? []).filter((each) =>
    each.type !== "cpu" && each.assignable !== undefined && !isOtherName(each));
  const away = node ? wholes.filter(({ device, devices: [has] }) =>
    has?.pci_address && !node.devices.some((each) => each.name === device)) : [];

  return [
    ...shown.map((each) => gpuOf(each, leaseOf(each.name))),
    ...away.map((lease): Gpu => {
      const device = devices.find((each) => each.name === lease.device);

      return { name: lease.device, model: device?.model ?? "", memory_bytes: device?.memory_bytes ?? 0,
        state: "assigned", why: "", partitions: 0, counts: "", lease };
    }),
  ];
}

export type MemberState = "available" | "assigned" | "unavailable";

export interface Member {
  pool: string;
  name: string;
  model: string;
  memory_bytes: number;
  state: MemberState;
  note: string;
  lease: Lease | null;
}

const WHOLE = 0.999999;

function stateOf(share: StandingShare, root: Device | undefined): { state: MemberState; note: string } {
  const isLost = !share.device || !root || root.health?.state === "lost";
  const note = isLost ? "lost" : root.cordoned ? "cordoned"
    : root.health?.state === "degraded" ? "degraded" : "";

  if (share.in_use) return { state: "assigned", note };
  return { state: isLost || root.cordoned ? "unavailable" : "available", note };
}

/* A standing share of a whole device or partition is a member of the pool of its name. */
export function membersOf(shares: StandingShare[], devices: Device[], leases: Lease[]): Member[] {
  return shares.filter((share) => share.share >= WHOLE && share.name.includes("/")).map((share) => {
    const cut = share.name.lastIndexOf("/");
    const name = share.name.slice(0, cut);
    const root = devices.find((each) => each.name === name.split("/")[0]);

    return {
      pool: share.name.slice(cut + 1),
      name,
      model: root?.model ?? "",
      memory_bytes: share.memory_bytes,
      ...stateOf(share, root),
      lease: leases.find((each) => each.id === share.lease) ?? null,
    };
  }).filter((member) => !/^[0-9]+$/.test(member.pool));
}
