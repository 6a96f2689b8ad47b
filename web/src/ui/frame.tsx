/* SPDX-License-Identifier: Apache-2.0 */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { pace, type Session } from "../api/session";
import { href, type Route, useResource, useScope } from "./hooks";
import { Icon, type IconName } from "./icons";
import { ThemeButton } from "./theme";

const PAGES: [string, string, IconName][] = [
  ["overview", "Overview", "overview"],
  ["devices", "Devices", "devices"],
  ["partitions", "Partitions", "partitions"],
  ["machines", "Virtual machines", "screen"],
  ["leases", "Leases", "leases"],
  ["services", "Services", "services"],
  ["advice", "Advice", "advice"],
  ["events", "Events", "events"],
  ["tenants", "Tenants", "tenants"],
  ["tokens", "Tokens", "tokens"],
];

const PACES: [string, string][] = [["1000", "Every second"], ["5000", "Every 5 s"], ["0", "Paused"]];

function Pages({ route, hasNodes }: { route: Route; hasNodes: boolean }) {
  const here = route.page === "divide" ? "partitions" : route.page;
  const isAdmin = useScope() === "admin";
  const own = PAGES.filter(([page]) => page !== "tokens" || isAdmin);
  const pages = hasNodes ? [...own, ["nodes", "Nodes", "nodes"] as const] : own;

  return (
    <ul>
      {pages.map(([page, title, icon]) => (
        <li key={page}>
          <a href={href(page)} aria-current={page === here ? "page" : undefined}>
            <Icon name={icon} />{title}
          </a>
        </li>
      ))}
    </ul>
  );
}

function NodeChoice({ sessions, session, onChoose }: {
  sessions: Session[]; session: Session; onChoose: (session: Session) => void;
}) {
  const whoami = useResource(session.whoami);
  const node = useResource(session.node);
  /* A simulated node has a name of its own, independent of the machine. */
  const own = node.phase === "ready" && node.data.name;
  const name = own || (whoami.phase === "ready" && whoami.data.node) || session.agent.name;

  if (sessions.length < 2) return <span class="node-name">{name}</span>;
  return (
    <select class="input node-choice" aria-label="Node" value={session.agent.base}
      onChange={(event) => {
        const chosen = sessions.find((each) => each.agent.base === event.currentTarget.value);
        if (chosen) onChoose(chosen);
      }}>
      {sessions.map((each) => (
        <option key={each.agent.base} value={each.agent.base}>{each.agent.name}</option>
      ))}
    </select>
  );
}

function Pulse({ session }: { session: Session }) {
  const devices = useResource(session.devices);
  const isCut = (devices.phase === "ready" && devices.trouble !== null) ||
    (devices.phase === "failed" && devices.problem.isUnreachable);

  return (
    <span class={isCut ? "pulse cut" : "pulse"} role="status">
      <Icon name={isCut ? "warn" : "ok"} size={14} />
      <span class="pulse-words">
        {isCut ? "No answer" : devices.phase === "loading" ? "Connecting" : "Connected"}
      </span>
    </span>
  );
}

function Who({ session }: { session: Session }) {
  const state = useResource(session.whoami);
  if (state.phase !== "ready") return null;
  const leave = () => {
    session.agent.token = null;
    location.reload();
  };
  return (
    <span class="who">
      <Icon name="user" size={14} />{state.data.subject}
      <span class="quiet-text">{state.data.scope}</span>
      {session.agent.token && <button type="button" class="link" onClick={leave}>Sign out</button>}
    </span>
  );
}

function Pace({ session }: { session: Session }) {
  const [value, setValue] = useState(String(pace.ms));
  return (
    <select class="input pace" aria-label="How often figures are fetched" value={value}
      onChange={(event) => {
        pace.ms = Number(event.currentTarget.value);
        setValue(event.currentTarget.value);
        session.wake();
      }}>
      {PACES.map(([ms, words]) => <option key={ms} value={ms}>{words}</option>)}
    </select>
  );
}

/* While the agent does not answer, the figures on the screen are old: the line says since when. */
function Banner({ session }: { session: Session }) {
  const state = useResource(session.devices);
  const isCut = state.phase === "ready" && state.trouble !== null;

  return (
    <div role="alert" class={isCut ? "banner" : "banner empty"}>
      {isCut && <><Icon name="warn" />No answer from the agent: what is shown is the last that it
        said. Trying again.</>}
    </div>
  );
}

export function Frame({ route, sessions, session, onChoose, children }: {
  route: Route; sessions: Session[]; session: Session; onChoose: (session: Session) => void;
  children: ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [route.page, route.argument]);

  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}>To the content</a>
      <header class="top">
        <button type="button" class="button quiet menu" aria-expanded={isOpen}
          aria-controls="pages" onClick={() => setOpen(!isOpen)}>
          <Icon name="menu" /><span class="sr">Pages</span>
        </button>
        <a class="brand" href={href("overview")}>cleave</a>
        <NodeChoice {...{ sessions, session, onChoose }} />
        <Pulse session={session} />
        <span class="spring" />
        <Who session={session} />
        <Pace session={session} />
        <ThemeButton />
      </header>
      <nav id="pages" class={isOpen ? "side open" : "side"} aria-label="Pages">
        <Pages route={route} hasNodes={sessions.length > 1} />
      </nav>
      <main id="main" class="main" tabIndex={-1}>
        <Banner session={session} />
        {children}
      </main>
    </div>
  );
}
