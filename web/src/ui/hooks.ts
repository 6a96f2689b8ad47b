/* SPDX-License-Identifier: Apache-2.0 */
import { createContext } from "preact";
import { useContext, useEffect, useMemo, useReducer, useState } from "preact/hooks";
import type { Resource, State } from "../api/resource";
import type { Session } from "../api/session";
import type { Scope } from "../api/types";

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("no session around this component");
  return session;
}

export function useResource<T>(resource: Resource<T>): State<T> {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => resource.subscribe(() => redraw(0)), [resource]);
  return resource.state;
}

/* The data, or a fallback while there is none: for data that a page does not need. */
export function useData<T>(resource: Resource<T>, otherwise: T): T {
  const state = useResource(resource);
  return state.phase === "ready" ? state.data : otherwise;
}

/* An agent without whoami is reached over its own socket: every caller has all permissions. */
export function useScope(): Scope {
  const state = useResource(useSession().whoami);
  return state.phase === "ready" ? state.data.scope : "admin";
}

/* Ends when the component is no longer shown. */
export function useShown(): AbortSignal {
  const shown = useMemo(() => new AbortController(), []);
  useEffect(() => () => shown.abort(), []);
  return shown.signal;
}

export function useMayChange(): boolean {
  return useScope() !== "viewer";
}

export interface Route {
  page: string;
  argument: string;
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page = "", ...rest] = path.split("/");
  return {
    page: page || "overview",
    argument: rest.map(decodeURIComponent).join("/"),
    query: new URLSearchParams(query),
  };
}

export function href(page: string, argument = "", query: Record<string, string> = {}): string {
  const text = new URLSearchParams(query).toString();
  const path = argument ? `${page}/${encodeURIComponent(argument)}` : page;
  return `#/${path}${text ? `?${text}` : ""}`;
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const listener = () => setHash(location.hash);
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, []);
  return parseRoute(hash);
}
