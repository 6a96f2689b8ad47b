/* SPDX-License-Identifier: Apache-2.0 */
/* A double of the routes that the agent under test does not have.  It is asked only when
 * the agent itself has answered that there is no such path, so it goes out of use by
 * itself; its figures are made up, and nothing of it is part of the console. */
import type { AuditEntry, Device, History, Lease, Token } from "../../src/api/types";
import type { Agent, Answer } from "./agent";

interface Leases {
  items: Lease[];
}

const json = (value: unknown, status = 200): Answer =>
  ({ status, type: "application/json", text: JSON.stringify(value) });

const problem = (status: number, code: string, detail: string): Answer =>
  ({ status, type: "application/problem+json", text: JSON.stringify({ status, code, detail }) });

const noise = (at: number) => (Math.sin(at / 97) + Math.sin(at / 31.7) + Math.sin(at / 7.3)) / 3;

export class Double {
  private readonly agent: Agent;
  private readonly cordoned = new Map<string, string>();
  private readonly audit: AuditEntry[] = [];
  private tokens: Token[] = [
    { id: "a1b2c3", name: "grafana", scope: "viewer", tenant: null,
      created_at: "2026-01-12T09:30:00Z", expires_at: "2027-01-12T09:30:00Z",
      last_used_at: "2026-01-31T11:59:20Z" },
    { id: "9f8e7d", name: "ci", scope: "tenant", tenant: "alice",
      created_at: "2026-01-20T14:02:00Z", expires_at: null, last_used_at: null },
  ];

  constructor(agent: Agent) {
    this.agent = agent;
  }

  /* What a newer agent says of a device more than this one. */
  dress(device: Device): Device {
    const reason = this.cordoned.get(device.name);
    const seed = device.name.length * 31 + (device.name.codePointAt(3) ?? 0);
    return {
      health: { state: "ok", reasons: [], since: null },
      cordoned: reason !== undefined,
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

  note(method: string, path: string, status: number): void {
    if (method === "GET") return;
    const [, , kind = "", name = ""] = path.split("?")[0]!.split("/");
    this.audit.push({
      id: this.audit.length + 1, time: new Date().toISOString(),
      who: { subject: "root", uid: 0, token: null }, from: "unix",
      action: `${kind.replace(/s$/, "")}.${method.toLowerCase()}`,
      object: decodeURIComponent(name) || "-", detail: `${method} ${path}`,
      result: status < 400 ? "ok" : String(status),
    });
  }

  /* null: not even the double knows it. */
  async answer(method: string, url: URL, body: string): Promise<Answer | null> {
    const path = url.pathname;
    const service = /^\/v1\/devices\/(.+)\/(cordon|uncordon|drain)$/.exec(path);

    if (service) return this.service(decodeURIComponent(service[1]!), service[2]!, body);
    if (path.startsWith("/v1/tokens")) return this.token(method, path, body);
    if (method !== "GET") return null;
    switch (path) {
    case "/v1/whoami":
      return json({ subject: "root", uid: 0, scope: "admin", token: null, node: "",
        version: "0.1.0", system: true });
    case "/v1/audit": return json({ items: this.audit, next: null });
    case "/v1/tenants": return this.tenants();
    case "/v1/advice": return this.advice();
    case "/v1/history": return this.history(url.searchParams);
    default: return null;
    }
  }

  private async service(name: string, act: string, body: string): Promise<Answer> {
    const { items } = await this.agent.json<{ items: Device[] }>("/v1/devices");
    const device = items.find((each) => each.name === name);
    if (!device) return problem(404, "no_such_device", `there is no device ${name}`);
    if (act === "uncordon") this.cordoned.delete(name);
    else this.cordoned.set(name, (JSON.parse(body || "{}") as { reason?: string }).reason ?? "");
    return json(this.dress(device), act === "drain" ? 202 : 200);
  }

  private token(method: string, path: string, body: string): Answer {
    const id = path.split("/")[3];
    if (method === "GET") return json({ items: this.tokens, next: null });
    if (method === "DELETE") {
      if (!this.tokens.some((each) => each.id === id))
        return problem(404, "not_found", `there is no token ${id}`);
      this.tokens = this.tokens.filter((each) => each.id !== id);
      return { status: 204, type: "", text: "" };
    }
    const asked = JSON.parse(body) as { name: string; scope: Token["scope"]; tenant?: string;
      expires_in?: number };
    const made: Token = {
      id: `d0${this.tokens.length}bee`, name: asked.name, scope: asked.scope,
      tenant: asked.tenant ?? null, created_at: new Date().toISOString(), last_used_at: null,
      expires_at: asked.expires_in
        ? new Date(Date.now() + asked.expires_in * 1000).toISOString() : null,
    };
    this.tokens.push(made);
    return json({ ...made, secret: `clv_${made.id}_not-a-real-secret` }, 201);
  }

  private async leases(): Promise<Lease[]> {
    return (await this.agent.json<Leases>("/v1/leases")).items;
  }

  private async tenants(): Promise<Answer> {
    const leases = await this.leases();
    const active = leases.filter((each) => each.state === "active");
    const sum = (of: (lease: Lease) => number) => active.reduce((n, each) => n + of(each), 0);
    return json({ next: null, items: [
      { name: "root", uid: 0, leases: active.length, queued: leases.length - active.length,
        share: sum((each) => each.share), memory_bytes: sum((each) => each.memory_bytes),
        gpu_seconds: 184320, allowance: { share: 4, memory_bytes: null, leases: 8,
          profiles: null, classes: ["normal", "batch"] } },
      { name: "alice", uid: 1000, leases: 0, queued: 0, share: 0, memory_bytes: 0,
        gpu_seconds: 5400, allowance: { share: 2, memory_bytes: 64 * 2 ** 30, leases: 4,
          profiles: ["1g.5gb"], classes: null } },
    ] });
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
