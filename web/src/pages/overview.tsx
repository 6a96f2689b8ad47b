/* SPDX-License-Identifier: Apache-2.0 */
import { useEffect, useReducer } from "preact/hooks";
import type { Lease } from "../api/types";
import { bytes, clock, count, percent, since } from "../lib/format";
import {
  type DeviceView, memoryPromisedOf, memoryUsedOf, promisedOf, totalsOf, type Totals, usedOf,
} from "../lib/model";
import { celsius, type Heat, heatOf, readingsLine, watts } from "../lib/readings";
import { type Trouble, troublesOf } from "../lib/troubles";
import { Badge, EventName, StatusBadge } from "../ui/badge";
import { DeviceBar, Meter } from "../ui/bar";
import { href, useSession } from "../ui/hooks";
import { Page, Section } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { Table } from "../ui/table";
import { type All, useViews } from "../ui/views";

const LATEST = 6;
const MOST_TROUBLES = 8;

function Tile({ name, value, text, tone = "" }: {
  name: string; value: string; text: string; tone?: string;
}) {
  return (
    <div class={`tile ${tone}`}>
      <dt>{name}</dt>
      <dd><span class="tile-value">{value}</span><span class="tile-text">{text}</span></dd>
    </div>
  );
}

/* The power of all devices; only for a node with a driver that reports it. */
function PowerTile({ heat }: { heat: Heat }) {
  const hottest = heat.hottest && `${celsius(heat.hottest.celsius)} at most, ${heat.hottest.name}`;
  if (heat.watts === null && !hottest) return null;
  return <Tile name="Power" value={watts(heat.watts) ?? "–"} text={hottest ?? "temperature not reported"} />;
}

function Tiles({ totals, heat, troubles }: { totals: Totals; heat: Heat; troubles: number }) {
  const of = (part: number, whole: number) => percent(whole > 0 ? part / whole : 0);

  return (
    <dl class="tiles">
      <Tile name="Devices" value={String(totals.devices)}
        text={totals.divided > 0
          ? `${totals.divided} divided, ${count(totals.partitions, "partition")}`
          : "none divided"} />
      <Tile name="Compute promised" value={of(totals.promised, totals.devices)}
        text={`${of(totals.used, totals.devices)} used in leases now`} />
      <Tile name="Memory promised" value={of(totals.memory_promised_bytes, totals.memory_bytes)}
        text={`${bytes(totals.memory_promised_bytes)} of ${bytes(totals.memory_bytes)}`} />
      <Tile name="Leases" value={String(totals.active)}
        text={totals.queued > 0 ? `${totals.queued} in the queue` : "none in the queue"} />
      <PowerTile heat={heat} />
      <Tile name="Health" tone={troubles > 0 ? "warn" : ""}
        value={troubles > 0 ? String(troubles) : "Good"}
        text={troubles > 0 ? (troubles === 1 ? "problem" : "problems")
          : "no known problems"} />
    </dl>
  );
}

function DeviceRow({ view }: { view: DeviceView }) {
  const [promised, used] = [promisedOf(view), usedOf(view)];
  const readings = readingsLine(view.device);
  const [kept, filled] = [memoryPromisedOf(view), memoryUsedOf(view)];

  return (
    <li class="device-row">
      <div class="device-name">
        <a href={href("devices", view.name)}>{view.name}</a>
        <StatusBadge status={view.status} />
        <span class="device-model">{view.model}</span>
        {readings && <span class="device-model">{readings}</span>}
      </div>
      <div class="device-bars">
        <DeviceBar view={view} />
        <Meter whole={view.memory_bytes} promised={kept} used={filled}
          label={`Memory of ${view.name}: ${bytes(filled)} used, ${bytes(kept)} ` +
            `promised of ${bytes(view.memory_bytes)}`} />
      </div>
      <dl class="device-figures">
        <div><dt>Used in leases</dt><dd>{percent(used)}</dd></div>
        <div><dt>Promised</dt><dd>{percent(promised)}</dd></div>
        <div><dt>Memory</dt><dd>{bytes(view.memory_bytes)}</dd></div>
      </dl>
    </li>
  );
}

function Legend() {
  return (
    <ul class="legend">
      <li><span class="key key-use" />used now</li>
      <li><span class="key key-promised" />promised</li>
      <li><span class="key key-beyond" />beyond its promise</li>
      <li><span class="key key-aside" />set aside</li>
      <li><span class="key key-held" />held by others</li>
      <li><span class="key key-free" />free</li>
    </ul>
  );
}

function Queue({ queued }: { queued: Lease[] }) {
  if (queued.length === 0) return <p class="quiet-line">No lease waits for a device.</p>;
  return (
    <Table caption="Leases in the queue" rows={queued} keyOf={(lease) => lease.id} columns={[
      { head: "Place", isNumber: true, cell: (lease) => lease.queue_position ?? "–" },
      { head: "Lease", isHead: true,
        cell: (lease) => <a href={href("leases", lease.id)}>{lease.name}</a> },
      { head: "Tenant", cell: (lease) => lease.tenant },
      { head: "Device", cell: (lease) => lease.device },
      { head: "Share", isNumber: true, cell: (lease) => percent(lease.share) },
      { head: "Waits", isNumber: true, cell: (lease) => since(lease.created_at) },
    ]} />
  );
}

function Latest() {
  const { feed } = useSession();
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => feed.subscribe(() => redraw(0)), [feed]);
  const events = feed.events.slice(-LATEST).reverse();

  if (events.length === 0) return <p class="quiet-line">Nothing has happened yet.</p>;
  return (
    <ol class="latest">
      {events.map((event) => (
        <li key={event.id}>
          <time dateTime={event.time}>{clock(event.time)}</time>
          <EventName type={event.type} />
          <span class="event-text">
            {[event.name ?? event.device, event.message].filter(Boolean).join(": ")}
          </span>
        </li>
      ))}
    </ol>
  );
}

function Troubles({ all, troubles }: { all: All; troubles: Trouble[] }) {
  const more = troubles.length - MOST_TROUBLES;
  if (troubles.length === 0 && all.problems.length === 0 && !all.trouble) return null;
  return (
    <Note icon="warn" tone="warn" title="Needs attention">
      <ul>
        {troubles.slice(0, MOST_TROUBLES).map((each) => (
          <li key={`${each.argument} ${each.text}`}>
            <a href={href(each.page, each.argument)}>{each.name}</a>: {each.text}
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
        {all.problems.map((line) => <li key={line}>{line}</li>)}
        {all.trouble && <li>How devices are divided is not known: {all.trouble.message ||
          "this agent does not say"}</li>}
      </ul>
    </Note>
  );
}

function Content({ all }: { all: All }) {
  const troubles = troublesOf(all.views, all.leases);
  const queued = all.leases.filter((each) => each.state === "queued");

  return (
    <>
      <Tiles totals={totalsOf(all.views, all.leases, all.devices)} heat={heatOf(all.views)}
        troubles={troubles.length + all.problems.length} />
      <Troubles all={all} troubles={troubles} />
      <Section title="Devices" actions={<Legend />}>
        {all.views.length > 0 ? (
          <ul class="device-rows">
            {all.views.map((view) => <DeviceRow key={view.name} view={view} />)}
          </ul>
        ) : (
          <Note icon="devices" title="No device was found">
            <code>cleave doctor</code> says why, and what to do.
          </Note>
        )}
      </Section>
      <div class="columns">
        <Section title="Queue" actions={<Badge>{count(queued.length, "lease")}</Badge>}>
          <Queue queued={queued} />
        </Section>
        <Section title="Latest" actions={<a href={href("events")}>All events</a>}>
          <Latest />
        </Section>
      </div>
    </>
  );
}

export function Overview() {
  const session = useSession();
  const state = useViews();

  return (
    <Page title="Overview">
      <Loaded state={state} rows={8} retry={() => session.wake()}>
        {(all) => <Content all={all} />}
      </Loaded>
    </Page>
  );
}
