/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of the selected agent, in the form that all pages use. */
import type { Problem } from "../api/problem";
import type { State } from "../api/resource";
import { type DeviceView, viewsOf } from "../lib/model";
import type { Device, Lease, Node } from "../api/types";
import { useResource, useSession } from "./hooks";

export interface All {
  views: DeviceView[];
  devices: Device[];
  leases: Lease[];
  node: Node | null;
  problems: string[];
  /* The agent did not return the node; the other data is valid. */
  trouble: Problem | null;
}

export function useViews(): State<All> {
  const session = useSession();
  const devices = useResource(session.devices);
  const leases = useResource(session.leases);
  const node = useResource(session.node);

  if (devices.phase !== "ready") return devices;
  if (leases.phase !== "ready") return leases;
  if (node.phase === "loading") return node;
  const survey = node.phase === "ready" ? node.data : null;
  return {
    phase: "ready",
    trouble: devices.trouble,
    data: {
      views: viewsOf(survey, devices.data.items, leases.data),
      devices: devices.data.items,
      leases: leases.data,
      node: survey,
      problems: [...new Set([...(survey?.problems ?? []), ...(devices.data.problems ?? [])])],
      trouble: node.phase === "failed" ? node.problem : null,
    },
  };
}
