/* SPDX-License-Identifier: Apache-2.0 */
/* The data of one agent, shared by all parts of a page, so that two parts make one request. */
import { Agent } from "./agent";
import { Feed } from "./feed";
import { LeaseList } from "./lease-list";
import { Resource } from "./resource";
import type { Devices, Lease, ListOf, Node, Operation, Profile, WhoAmI } from "./types";

const MOST_PAGES = 20;

/* How often figures are fetched.  The user may choose; 0 means only on request. */
export const pace = {
  get ms(): number {
    try {
      const text = localStorage.getItem("cleave.pace");
      return text === null ? 1000 : Math.max(0, Number(text) || 0);
    } catch {
      return 1000;
    }
  },
  set ms(value: number) {
    try {
      localStorage.setItem("cleave.pace", String(value));
    } catch {
      /* Without storage the default applies. */
    }
  },
};

const slow = () => (pace.ms === 0 ? 0 : pace.ms * 5);

export class Session {
  readonly agent: Agent;
  readonly feed: Feed;
  readonly devices: Resource<Devices>;
  readonly leases: Resource<Lease[]>;
  readonly node: Resource<Node>;
  readonly profiles: Resource<Profile[]>;
  readonly operations: Resource<Operation[]>;
  readonly whoami: Resource<WhoAmI>;
  private readonly others = new Map<string, Resource<unknown>>();

  constructor(agent: Agent) {
    const live = () => pace.ms;
    const list = new LeaseList(agent);
    this.agent = agent;
    this.feed = new Feed(agent);
    this.devices = new Resource(() => agent.ask<Devices>("/v1/devices"), live);
    this.leases = new Resource(() => list.fetch(), live);
    this.node = new Resource(() => agent.ask<Node>("/v1/node"), slow);
    this.profiles = new Resource(() => this.all<Profile>("/v1/profiles"), () => 0);
    this.operations = new Resource(() => this.all<Operation>("/v1/operations"), slow);
    this.whoami = new Resource(() => agent.ask<WhoAmI>("/v1/whoami"), () => 60000);
  }

  /* A list of a route that only some pages use. */
  list<T>(path: string, interval: () => number = slow): Resource<T[]> {
    return this.keyed(path, () => this.all<T>(path), interval);
  }

  one<T>(path: string, interval: () => number = slow): Resource<T> {
    return this.keyed(path, () => this.agent.ask<T>(path), interval);
  }

  private keyed<T>(key: string, fetcher: () => Promise<T>, interval: () => number): Resource<T> {
    const found = this.others.get(key) as Resource<T> | undefined;
    if (found) return found;
    const made = new Resource(fetcher, interval);
    this.others.set(key, made as Resource<unknown>);
    return made;
  }

  /* All items of a list, page by page. */
  private async all<T>(path: string): Promise<T[]> {
    const items: T[] = [];
    let after = "";

    for (let page = 0; page < MOST_PAGES; page++) {
      const separator = path.includes("?") ? "&" : "?";
      const more = after ? `${separator}after=${encodeURIComponent(after)}` : "";
      const answer = await this.agent.ask<ListOf<T>>(path + more);
      items.push(...answer.items);
      if (answer.next === undefined || answer.next === null) break;
      after = String(answer.next);
    }
    return items;
  }

  private get everything(): Resource<unknown>[] {
    return [this.devices, this.leases, this.node, this.profiles, this.operations,
      this.whoami, ...this.others.values()] as Resource<unknown>[];
  }

  /* After a change, and when the tab becomes visible again. */
  wake(): void {
    for (const each of this.everything) each.wake();
  }

  async refreshNode(): Promise<void> {
    await Promise.all([this.node, this.devices, this.leases, this.profiles]
      .map((each) => each.refresh()));
  }
}
