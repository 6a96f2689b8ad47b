/* SPDX-License-Identifier: Apache-2.0 */
/* Events as they happen, and the audit: which caller requested what. */
import { useEffect, useReducer, useState } from "preact/hooks";
import type { Way } from "../api/feed";
import type { AgentEvent, AuditEntry } from "../api/types";
import { eventWords } from "../lib/events";
import { clock } from "../lib/format";
import { Badge, EventName } from "../ui/badge";
import { SelectField, TextField } from "../ui/field";
import { href, useResource, useSession } from "../ui/hooks";
import { Page } from "../ui/page";
import { Loaded, Loading, Note } from "../ui/states";
import { Table } from "../ui/table";

const SHOWN = 200;

const WAYS: Record<Way, { words: string; tone: string }> = {
  connecting: { words: "Connecting", tone: "plain" },
  stream: { words: "Live", tone: "good" },
  polls: { words: "Live", tone: "good" },
  cut: { words: "Cut off, trying again", tone: "bad" },
  refused: { words: "Not permitted", tone: "warn" },
};

function matches(event: AgentEvent, type: string, text: string): boolean {
  if (type && event.type !== type) return false;
  const all = [event.type, eventWords(event.type), event.name, event.lease, event.device, event.message];
  return all.filter(Boolean).join(" ").toLowerCase().includes(text.toLowerCase());
}

function useEvents(isPaused: boolean): { events: AgentEvent[]; way: Way } {
  const { feed } = useSession();
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [held, setHeld] = useState<AgentEvent[] | null>(null);
  useEffect(() => feed.subscribe(() => redraw(0)), [feed]);
  useEffect(() => setHeld(isPaused ? feed.events : null), [isPaused, feed]);
  return { events: held ?? feed.events, way: feed.way };
}

function EventList({ initial }: { initial: string }) {
  const [isPaused, setPaused] = useState(false);
  const [type, setType] = useState("");
  const [text, setText] = useState(initial);
  const { events, way } = useEvents(isPaused);
  const shown = events.filter((event) => matches(event, type, text)).slice(-SHOWN).reverse();
  const types = [...new Set(events.map((event) => event.type))].sort();

  return (
    <>
      <div class="filter">
        <TextField label="Filter" value={text} onInput={setText} />
        <SelectField label="Type" value={type} onChange={setType}
          options={[["", "All"], ...types.map((each): [string, string] =>
            [each, eventWords(each)])]} />
        <button type="button" class="button" aria-pressed={isPaused}
          onClick={() => setPaused(!isPaused)}>{isPaused ? "Go on" : "Pause"}</button>
        <Badge tone={isPaused ? "warn" : WAYS[way].tone}>{isPaused ? "Paused" : WAYS[way].words}</Badge>
      </div>
      {events.length === 0 && way === "connecting" && <Loading rows={6} />}
      {events.length === 0 && way !== "connecting" && <Note icon="events" title="Nothing has happened yet" />}
      {events.length > 0 && shown.length === 0 && <Note icon="events" title="No event matches" />}
      {shown.length > 0 && (
        <Table caption="Events, newest first" rows={shown} keyOf={(event) => event.id} columns={[
          { head: "#", isNumber: true, isMinor: true, cell: (event) => event.id },
          { head: "Time", isNumber: true, cell: (event) => (
            <time dateTime={event.time} title={event.time}>{clock(event.time)}</time>) },
          { head: "Event", isHead: true, cell: (event) => <EventName type={event.type} /> },
          { head: "Lease", cell: (event) => event.lease
            ? <a href={href("leases", event.lease)}>{event.name}</a> : "–" },
          { head: "Device", cell: (event) => event.device
            ? <a href={href("devices", event.device.split("/")[0])}>{event.device}</a> : "–" },
          { head: "What", cell: (event) => event.message },
        ]} />
      )}
    </>
  );
}

function whoOf(entry: AuditEntry): string {
  return entry.who.token ? `${entry.who.subject} by token ${entry.who.token}` : entry.who.subject;
}

function Audit() {
  const session = useSession();
  const resource = session.list<AuditEntry>("/v1/audit");
  const state = useResource(resource);
  const [text, setText] = useState("");

  return (
    <Loaded state={state} rows={6} retry={() => void resource.refresh()}>
      {(entries) => {
        const shown = entries.filter((entry) => JSON.stringify(entry).toLowerCase()
          .includes(text.toLowerCase())).slice(-SHOWN).reverse();
        if (entries.length === 0) return <Note icon="events" title="No changes yet" />;
        return (
          <>
            <div class="filter">
              <TextField label="Filter" value={text} onInput={setText} />
              <p class="hint" role="status">{shown.length} of {entries.length}</p>
            </div>
            <Table caption="Audit, newest first" rows={shown} keyOf={(entry) => entry.id} columns={[
              { head: "Time", isNumber: true, cell: (entry) => clock(entry.time) },
              { head: "Action", isHead: true, cell: (entry) => entry.action },
              { head: "Who", cell: whoOf },
              { head: "From", cell: (entry) => entry.from, isMinor: true },
              { head: "Object", cell: (entry) => entry.object },
              { head: "Detail", cell: (entry) => entry.detail },
              { head: "Result", cell: (entry) => entry.result === "ok"
                ? <Badge icon="ok" tone="good">ok</Badge>
                : <Badge icon="warn" tone="bad">{entry.result}</Badge> },
            ]} />
          </>
        );
      }}
    </Loaded>
  );
}

export function Events({ tab, text }: { tab: string; text: string }) {
  const isAudit = tab === "audit";
  return (
    <Page title="Events" actions={
      <nav class="choice" aria-label="Kind of list">
        <a href={href("events")} aria-current={isAudit ? undefined : "page"}>Events</a>
        <a href={href("events", "audit")} aria-current={isAudit ? "page" : undefined}>Audit</a>
      </nav>
    }>
      {isAudit ? <Audit /> : <EventList key={text} initial={text} />}
    </Page>
  );
}
