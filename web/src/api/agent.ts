/* SPDX-License-Identifier: Apache-2.0 */
/* One agent, by its address.  The token lives in sessionStorage: it goes with the tab. */
import { Problem, problemFrom } from "./problem";

const TIMEOUT_MS = 20000;

export interface Ask {
  method?: string;
  json?: unknown;
  yaml?: string;
  /* For a request that the agent answers late on purpose. */
  patience_ms?: number;
  signal?: AbortSignal;
}

export class Agent {
  readonly name: string;
  readonly base: string;

  constructor(name: string, base: string) {
    this.name = name;
    this.base = base.replace(/\/+$/, "");
  }

  private get key(): string {
    return `cleave.token ${this.base}`;
  }

  get token(): string | null {
    try {
      return sessionStorage.getItem(this.key);
    } catch {
      return null;
    }
  }

  set token(value: string | null) {
    try {
      if (value) sessionStorage.setItem(this.key, value);
      else sessionStorage.removeItem(this.key);
    } catch {
      /* Without storage the next request is refused, and says so. */
    }
  }

  headers(more: Record<string, string> = {}): Record<string, string> {
    const token = this.token;
    return token ? { ...more, Authorization: `Bearer ${token}` } : more;
  }

  /* The parsed answer, or undefined for an empty one; else throws a Problem. */
  async ask<T>(path: string, ask: Ask = {}): Promise<T> {
    const response = await this.send(path, ask);
    const text = await response.text().catch(() => {
      throw Problem.unreachable();
    });
    if (!response.ok) throw problemFrom(response.status, text);
    if (!text) return undefined as T;
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new Problem(response.status, "", "");
    }
  }

  private async send(path: string, ask: Ask): Promise<Response> {
    const headers: Record<string, string> = {};
    const timer = new AbortController();
    const timeout = setTimeout(() => timer.abort(), TIMEOUT_MS + (ask.patience_ms ?? 0));
    const stop = () => timer.abort();

    if (ask.json !== undefined) headers["Content-Type"] = "application/json";
    if (ask.yaml !== undefined) headers["Content-Type"] = "application/yaml";
    ask.signal?.addEventListener("abort", stop);
    try {
      return await fetch(this.base + path, {
        method: ask.method ?? "GET",
        headers: this.headers(headers),
        body: ask.yaml ?? (ask.json === undefined ? undefined : JSON.stringify(ask.json)),
        cache: "no-store",
        signal: timer.signal,
      });
    } catch {
      throw Problem.unreachable();
    } finally {
      clearTimeout(timeout);
      ask.signal?.removeEventListener("abort", stop);
    }
  }
}
