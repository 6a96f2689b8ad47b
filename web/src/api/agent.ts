/* SPDX-License-Identifier: Apache-2.0 */
/* One agent, by its address.  The token is in sessionStorage, so it is deleted with the tab. */
import { Problem, problemFrom } from "./problem";

const TIMEOUT_MS = 20000;

export interface Ask {
  method?: string;
  json?: unknown;
  yaml?: string;
  /* The tag that the replaced object must still have. */
  tag?: string | null;
  /* For a request that the agent answers late on purpose. */
  patience_ms?: number;
  signal?: AbortSignal;
}

export class Agent {
  name: string;
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
      /* Without storage the agent refuses the next request, and the page shows that. */
    }
  }

  headers(more: Record<string, string> = {}): Record<string, string> {
    const token = this.token;
    return token ? { ...more, Authorization: `Bearer ${token}` } : more;
  }

  /* The parsed answer, or undefined for an empty one; else throws a Problem. */
  async ask<T>(path: string, ask: Ask = {}): Promise<T> {
    return (await this.askTagged<T>(path, ask)).data;
  }

  /* The same with the answer's tag; null where there is none, or where another agent does not
   * let this page read it. */
  async askTagged<T>(path: string, ask: Ask = {}): Promise<{ data: T; tag: string | null }> {
    const response = await this.send(path, ask);
    const tag = response.headers.get("ETag");
    const text = await response.text().catch(() => {
      throw Problem.unreachable();
    });
    if (!response.ok) throw problemFrom(response.status, text);
    if (!text) return { data: undefined as T, tag };
    try {
      return { data: JSON.parse(text) as T, tag };
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
    if (ask.tag) headers["If-Match"] = ask.tag;
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
