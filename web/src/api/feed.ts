/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's events as they happen: from its stream where it has one, else by long polls. */
import type { Agent } from "./agent";
import { Problem, problemFrom } from "./problem";
import { readMessages } from "../lib/event-stream";
import type { AgentEvent, ListOf } from "./types";

const KEPT = 500;
const PAGE = 1000;
const WAIT_MS = 25000;
const RETRY_MS = [500, 1000, 2000, 4000, 8000];

export type Way = "connecting" | "stream" | "polls" | "cut" | "refused";

export class Feed {
  events: AgentEvent[] = [];
  way: Way = "connecting";
  private readonly agent: Agent;
  private readonly listeners = new Set<(fresh: AgentEvent[]) => void>();
  private stopped: AbortController | null = null;
  private last = 0;
  private hasStream = true;

  constructor(agent: Agent) {
    this.agent = agent;
  }

  subscribe(listener: (fresh: AgentEvent[]) => void): () => void {
    this.listeners.add(listener);
    if (!this.stopped) void this.run();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      this.stopped?.abort();
      this.stopped = null;
    };
  }

  private async run(): Promise<void> {
    const stopped = new AbortController();
    let failures = 0;

    this.stopped = stopped;
    while (!stopped.signal.aborted) {
      try {
        await this.catchUp(stopped.signal);
        failures = 0;
        if (this.hasStream) await this.stream(stopped.signal);
        else await this.poll(stopped.signal);
      } catch (cause) {
        if (stopped.signal.aborted) return;
        const problem = Problem.of(cause);
        if (problem.isAbsentRoute && this.hasStream) {
          this.hasStream = false;
          continue;
        }
        this.tell([], problem.status === 401 || problem.status === 403 ? "refused" : "cut");
        const pause = RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)];
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  /* An agent that lost its state counts from one again: the events here are of the old state. */
  private async begin(signal: AbortSignal): Promise<void> {
    if (this.last === 0) return;
    const path = `/v1/events?after=${this.last - 1}&limit=1`;
    const { items } = await this.agent.ask<ListOf<AgentEvent>>(path, { signal });
    if (items.length > 0) return;
    this.last = 0;
    this.events = [];
  }

  /* The list begins with the oldest kept event; events that are no longer kept are skipped. */
  private async catchUp(signal: AbortSignal): Promise<void> {
    await this.begin(signal);
    for (;;) {
      const page = await this.page(0, signal);
      this.take(page);
      if (page.length < PAGE) return;
    }
  }

  private async poll(signal: AbortSignal): Promise<void> {
    this.tell([], "polls");
    while (!signal.aborted) this.take(await this.page(WAIT_MS, signal));
  }

  private async page(wait_ms: number, signal: AbortSignal): Promise<AgentEvent[]> {
    const path = `/v1/events?after=${this.last}&limit=${PAGE}&wait_ms=${wait_ms}`;
    return (await this.agent.ask<ListOf<AgentEvent>>(path, { patience_ms: wait_ms, signal }))
      .items;
  }

  private async stream(signal: AbortSignal): Promise<void> {
    const response = await fetch(
      `${this.agent.base}/v1/events/stream?after=${this.last}`,
      { headers: this.agent.headers({ Accept: "text/event-stream" }), signal },
    ).catch(() => {
      throw Problem.unreachable();
    });
    if (!response.ok || !response.body)
      throw problemFrom(response.status, await response.text());
    this.tell([], "stream");
    for await (const data of readMessages(response.body))
      this.take([JSON.parse(data) as AgentEvent]);
    /* A stream ends only when the agent does. */
    throw Problem.unreachable();
  }

  private take(events: AgentEvent[]): void {
    const fresh = events.filter((event) => event.id > this.last);
    const newest = fresh.at(-1);

    if (!newest) return;
    this.last = newest.id;
    this.events = [...this.events, ...fresh].slice(-KEPT);
    this.tell(fresh, this.way);
  }

  private tell(fresh: AgentEvent[], way: Way): void {
    this.way = way;
    for (const listener of [...this.listeners]) listener(fresh);
  }
}
