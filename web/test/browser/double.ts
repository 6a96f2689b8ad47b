/* SPDX-License-Identifier: Apache-2.0 */
/* A double of the routes that the agent under test does not have.  It is asked only when
 * the agent itself has answered that there is no such path, so it goes out of use by
 * itself; its figures are made up, and nothing of it is part of the console. */
import type { Device, History, Lease } from "../../src/api/types";
import type { Agent, Answer } from "./agent";

interface Leases {
  items: Lease[];
}

const json = (value: unknown): Answer =>
  ({ status: 200, type: "application/json", text: JSON.stringify(value) });

const noise = (at: number) => (Math.sin(at / 97) + Math.sin(at / 31.7) + Math.sin(at / 7.3)) / 3;

export class Double {
  private readonly agent: Agent;

  constructor(agent: Agent) {
    this.agent = agent;
  }

  /* What a newer agent says of a device more than this one. */
  dress(device: Device): Device {
    const seed = device.name.length * 31 + (device.name.codePointAt(3) ?? 0);
    return {
      health: { state: "ok", reasons: [], since: null },
      power_watts: device.type === "gpu" ? 60 + (seed % 90) : null,
      temperature_celsius: device.type === "gpu" ? 34 + (seed % 20) : null,
      engines: device.type === "gpu" ? { encode: 0, decode: 5 } : null,
      ...device,
    };
  }

  /* Simulated devices run nothing: for pictures, leases seem to use a part of theirs. */
  use(lease: Lease, at_s: number): Lease {
    const seed = lease.id.charCodeAt(3) + lease.id.charCodeAt(5);
    const part = Math.max(0.05, 0.75 + 0.3 * noise(at_s * 5 + seed * 40));
    return lease.state === "queued" ? lease : {
      ...lease, holding: seed % 2 === 0, waiting: seed % 2 === 1,
      share_used: lease.share * part,
      memory_used_bytes: Math.round(lease.memory_bytes * (0.5 + (seed % 40) / 100)),
    };
  }

  /* null: not even the double knows it. */
  async answer(method: string, url: URL): Promise<Answer | null> {
    if (method !== "GET") return null;
    switch (url.pathname) {
    case "/v1/advice": return this.advice();
    case "/v1/history": return this.history(url.searchParams);
    default: return null;
    }
  }

  private async leases(): Promise<Lease[]> {
    return (await this.agent.json<Leases>("/v1/leases")).items;
  }

  private async advice(): Promise<Answer> {
    const [first, second] = (await this.leases()).filter((each) => each.state === "active");
    const of = (lease: Lease) => ({ share: lease.share, memory_bytes: lease.memory_bytes,
      class: lease.class });
    const items = [];
    if (first) items.push({ lease: first.id, name: first.name, tenant: first.tenant,
      kind: "too_large", text: `${first.name} used at most half of its share in the last hour.`,
      current: of(first), proposed: { ...of(first), share: first.share / 2, profile: null },
      expected_slowdown: 1.02, confidence: "high", observed_seconds: 3600 });
    if (second) items.push({ lease: second.id, name: second.name, tenant: second.tenant,
      kind: "use_profile", text: `${second.name} would fit a partition of its own.`,
      current: of(second), proposed: { ...of(second), profile: "1g.5gb" },
      expected_slowdown: 1, confidence: "medium", observed_seconds: 7200 });
    return json({ items, next: null });
  }

  private history(query: URLSearchParams): Answer {
    const step = query.get("resolution") === "minute" ? 60 : 1;
    const end = Math.floor(Date.now() / 1000 / step) * step;
    const asked = Math.floor(Date.parse(query.get("from") ?? "") / 1000 / step) * step;
    const start = Math.max(asked || end - 3600, end - (step === 60 ? 31 * 86400 : 3600));
    const rows: History["rows"] = [];

    for (let at = start; at <= end; at += step) {
      const n = noise(at / step);
      /* An hour without an agent, so that gaps are drawn too. */
      rows.push(step === 60 && at % 864000 < 14400 ? null
        : [Math.max(0, 0.35 + 0.2 * n), 0.5, (3 + n) * 2 ** 30, 5 * 2 ** 30, n > 0.6 ? 1 : 0, 0]);
    }
    return json({ of: query.get("of") ?? "", resolution: step, step, start, rows,
      from: new Date(start * 1000).toISOString(),
      columns: ["share_used", "share_promised", "memory_used_bytes", "memory_quota_bytes",
        "waiting", "throttled"] });
  }
}
