/* SPDX-License-Identifier: Apache-2.0 */
/* Several agents together; the page queries each of them with its own token. */
import { useEffect, useReducer } from "preact/hooks";
import type { Session } from "../api/session";
import { bytes, count, percent } from "../lib/format";
import {
  type DeviceView, fleetOf, memoryPromisedOf, promisedOf, type Totals, totalsOf, viewsOf,
} from "../lib/model";
import { readingsLine } from "../lib/readings";
import { StatusBadge } from "../ui/badge";
import { DeviceBar } from "../ui/bar";
import { href, SessionContext } from "../ui/hooks";
import { Page } from "../ui/page";
import { Loaded } from "../ui/states";
import { useViews } from "../ui/views";
import { SignIn } from "./sign-in";

function Inventory({ views }: { views: DeviceView[] }) {
  return (
    <ul class="inventory">
      {views.map((view) => (
        <li key={view.name}>
          <div class="inventory-head">
            <strong>{view.name}</strong>
            <StatusBadge status={view.status} />
            <span class="number">{percent(promisedOf(view))}</span>
          </div>
          <DeviceBar view={view} />
          <span class="quiet-text">{view.model}, {bytes(view.memory_bytes)},{" "}
            {bytes(memoryPromisedOf(view))} promised</span>
          {readingsLine(view.device) && <span class="beneath">{readingsLine(view.device)}</span>}
        </li>
      ))}
    </ul>
  );
}

function NodeColumn({ session, isCurrent, onChoose }: {
  session: Session; isCurrent: boolean; onChoose: () => void;
}) {
  const state = useViews();
  const mustSignIn = state.phase === "failed" && state.problem.status === 401;

  return (
    <section class="node" aria-label={session.agent.name}>
      <header class="section-head">
        <h2>{session.agent.name}</h2>
        {isCurrent ? <a href={href("overview")}>Shown now</a>
          : <button type="button" class="button small" onClick={onChoose}>
            Show<span class="sr"> {session.agent.name}</span></button>}
      </header>
      {mustSignIn ? <SignIn session={session} isSmall onDone={() => session.wake()} /> : (
        <Loaded state={state} rows={5} retry={() => session.wake()}>
          {({ views, leases }) => (
            <>
              <p class="hint">{count(views.length, "device")},{" "}
                {count(leases.filter((each) => each.state === "active").length, "lease")},{" "}
                {leases.filter((each) => each.state === "queued").length} in the queue</p>
              <Inventory views={views} />
            </>
          )}
        </Loaded>
      )}
    </section>
  );
}

/* What is known of a node at present; null while it does not answer. */
function totalsOfNode(session: Session): Totals | null {
  const { devices, leases, node } = session;
  if (devices.state.phase !== "ready" || leases.state.phase !== "ready") return null;
  const survey = node.state.phase === "ready" ? node.state.data : null;
  const { items } = devices.state.data;
  return totalsOf(viewsOf(survey, items, leases.state.data), leases.state.data, items);
}

/* The sums over all nodes that answer. */
function FleetTotals({ sessions }: { sessions: Session[] }) {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const ends = sessions.flatMap((session) => [session.devices, session.leases, session.node]
      .map((each) => each.subscribe(() => redraw(0))));
    return () => ends.forEach((end) => end());
  }, [sessions]);
  const known = sessions.map(totalsOfNode).filter((each) => each !== null);
  const fleet = fleetOf(known);
  const tiles: [string, string][] = [
    ["Nodes", known.length === sessions.length ? String(known.length)
      : `${known.length} of ${sessions.length}`],
    ["Devices", String(fleet.devices)],
    ["Promised", percent(fleet.promised)],
    ["Free", percent(fleet.free)],
    ["Leases", String(fleet.leases)],
  ];

  return (
    <section aria-label="All nodes">
      <dl class="tiles">
        {tiles.map(([name, value]) => (
          <div class="tile" key={name}><dt>{name}</dt><dd><span class="tile-value">{value}</span></dd></div>
        ))}
      </dl>
    </section>
  );
}

export function Nodes({ sessions, current, onChoose }: {
  sessions: Session[]; current: Session; onChoose: (session: Session) => void;
}) {
  return (
    <Page title="Nodes">
      <FleetTotals sessions={sessions} />
      <div class="nodes">
        {sessions.map((session) => (
          <SessionContext.Provider key={session.agent.base} value={session}>
            <NodeColumn session={session} isCurrent={session === current}
              onChoose={() => onChoose(session)} />
          </SessionContext.Provider>
        ))}
      </div>
    </Page>
  );
}
