/* SPDX-License-Identifier: Apache-2.0 */
/* Data of the agent for pages: fetched repeatedly while a visible page uses it, and not while
 * no page does or the tab is hidden. */
import { Problem } from "./problem";

export type State<T> =
  | { phase: "loading" }
  | { phase: "ready"; data: T; trouble: Problem | null }
  | { phase: "failed"; problem: Problem };

const MAX_PAUSE_MS = 8000;
const ABSENT_PAUSE_MS = 30000;

export class Resource<T> {
  state: State<T> = { phase: "loading" };
  private readonly fetcher: () => Promise<T>;
  private readonly interval: () => number;
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | null = null;
  private underway: Promise<void> | null = null;
  private failures = 0;

  /* An interval of 0: once, and again only when refresh() is called. */
  constructor(fetcher: () => Promise<T>, interval: () => number) {
    this.fetcher = fetcher;
    this.interval = interval;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    if (this.listeners.size === 1) void this.refresh();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.stop();
    };
  }

  /* The answer of a request in flight may be from before the change: request once more. */
  async refresh(): Promise<void> {
    this.stop();
    if (this.underway) await this.underway;
    if (!this.underway) this.underway = this.run();
    await this.underway;
  }

  wake(): void {
    if (this.listeners.size > 0 && !this.underway) void this.refresh();
  }

  private stop(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  private async run(): Promise<void> {
    try {
      this.state = { phase: "ready", data: await this.fetcher(), trouble: null };
      this.failures = 0;
    } catch (cause) {
      this.fail(Problem.of(cause));
    }
    this.underway = null;
    for (const listener of [...this.listeners]) listener();
    this.schedule();
  }

  /* The last data stays on the screen when only the connection fails. */
  private fail(problem: Problem): void {
    this.failures++;
    this.state =
      this.state.phase === "ready" && problem.isUnreachable
        ? { ...this.state, trouble: problem }
        : { phase: "failed", problem };
  }

  private pause(): number {
    if (this.state.phase === "failed" && this.state.problem.isAbsentRoute)
      return ABSENT_PAUSE_MS;
    const interval = this.interval();
    if (this.failures === 0) return interval;
    return Math.min(MAX_PAUSE_MS, Math.max(interval, 500) * 2 ** (this.failures - 1));
  }

  private schedule(): void {
    this.stop();
    const pause = this.pause();
    if (this.listeners.size === 0 || pause <= 0 || document.hidden) return;
    this.timer = setTimeout(() => void this.refresh(), pause);
  }
}
