/* SPDX-License-Identifier: Apache-2.0 */
/* All leases of an agent.  After the first time only what has changed is fetched. */
import type { Agent } from "./agent";
import type { Lease, LeaseList as Answer } from "./types";

const LIMIT = 100;
const MOST_PAGES = 400;

export class LeaseList {
  private readonly agent: Pick<Agent, "ask" | "token">;
  private leases = new Map<string, Lease>();
  private revision: string | undefined;
  /* Another token may see other leases. */
  private token: string | null = null;

  constructor(agent: Pick<Agent, "ask" | "token">) {
    this.agent = agent;
  }

  /* The leases, oldest first. */
  async fetch(): Promise<Lease[]> {
    const token = this.agent.token;
    if (token !== this.token) this.revision = undefined;
    const first = await this.page();
    const leases = first.whole === false ? new Map(this.leases) : new Map<string, Lease>();
    let page = first;

    this.take(leases, page);
    for (let n = 1; n < MOST_PAGES && page.next !== null && page.next !== undefined; n++) {
      page = await this.page(page.next);
      this.take(leases, page);
    }
    /* The first page's: what has changed while the others were fetched is fetched again.  A
     * list that could not be fetched whole is not kept. */
    this.leases = leases;
    this.revision = first.revision;
    this.token = token;
    return [...leases.values()];
  }

  private page(after?: number): Promise<Answer> {
    const since = this.revision === undefined ? "" : `&since=${this.revision}`;
    const from = after === undefined ? "" : `&after=${after}`;
    return this.agent.ask<Answer>(`/v1/leases?limit=${LIMIT}${since}${from}`);
  }

  private take(leases: Map<string, Lease>, page: Answer): void {
    for (const lease of page.items) leases.set(lease.id, lease);
    for (const id of page.ended ?? []) leases.delete(id);
  }
}
