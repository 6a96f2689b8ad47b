/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a device, a lease, a partition or a tenant: an hour by seconds, a month by
 * minutes. */
import { useMemo, useState } from "preact/hooks";
import type { Agent } from "../api/agent";
import { Resource } from "../api/resource";
import type { History } from "../api/types";
import { bytes, percent } from "../lib/format";
import { joined, knownUntil, type Seen, type Series, seriesOf } from "../lib/series";
import { Chart, type Line } from "./chart";
import { useResource, useSession } from "./hooks";
import { Section } from "./page";
import { Loading, Note, Trouble } from "./states";

const SPANS = {
  minutes: { title: "10 min", resolution: "second", seconds: 600, every_ms: 1000 },
  hour: { title: "Hour", resolution: "second", seconds: 3600, every_ms: 5000 },
  day: { title: "Day", resolution: "minute", seconds: 86400, every_ms: 60000 },
  month: { title: "Month", resolution: "minute", seconds: 30 * 86400, every_ms: 300000 },
} as const;

type Span = keyof typeof SPANS;

const COMPUTE: Line[] = [
  { column: "share_used", label: "Used", colour: "hue-0", isFilled: true },
  { column: "share_promised", label: "Promised", colour: "hue-1", isDashed: true },
];
const MEMORY: Line[] = [
  { column: "memory_used_bytes", label: "Used", colour: "hue-2", isFilled: true },
  { column: "memory_quota_bytes", label: "Quota", colour: "hue-1", isDashed: true },
];

/* Fetches the whole span first, and then only newer rows. */
function historyOf(agent: Agent, of: string, span: Span): () => Promise<History> {
  const { resolution, seconds } = SPANS[span];
  let kept: History | null = null;

  return async () => {
    const from_s = kept ? knownUntil(kept) : Date.now() / 1000 - seconds;
    const path = `/v1/history?of=${encodeURIComponent(of)}&resolution=${resolution}` +
      `&from=${new Date(from_s * 1000).toISOString()}`;
    const fresh = await agent.ask<History>(path);
    kept = kept ? joined(kept, fresh, seconds / fresh.step) : fresh;
    return kept;
  };
}

function Charts({ series }: { series: Series }) {
  return (
    <div class="charts">
      <Chart title="Compute, as part of the device" lines={COMPUTE} series={series}
        show={(value) => percent(value)} />
      <Chart title="Memory" lines={MEMORY} series={series} show={bytes} />
    </div>
  );
}

function Kept({ history }: { history: History }) {
  const series = useMemo(() => seriesOf(history), [history]);
  if (series.times.length === 0)
    return <Note icon="info" title="Nothing has been measured in this time" />;
  return <Charts series={series} />;
}

/* For an agent that keeps no history: the figures since the page was opened. */
function Unkept({ seen }: { seen?: Seen }) {
  if (!seen) return <Note icon="info" title="This agent keeps no history yet" />;
  return (
    <>
      <p class="hint">This agent keeps no history yet: this is what the page has seen since
        it was opened.</p>
      {seen.length > 0 ? <Charts series={seen.series()} /> : <Loading rows={2} />}
    </>
  );
}

export function HistorySection({ of, seen }: { of: string; seen?: Seen }) {
  const session = useSession();
  const [span, setSpan] = useState<Span>("hour");
  const resource = useMemo(() => new Resource(historyOf(session.agent, of, span),
    () => SPANS[span].every_ms), [session, of, span]);
  const state = useResource(resource);

  return (
    <Section title="History" actions={
      <div class="choice" role="group" aria-label="Time shown">
        {(Object.keys(SPANS) as Span[]).map((each) => (
          <button key={each} type="button" aria-pressed={each === span}
            onClick={() => setSpan(each)}>{SPANS[each].title}</button>
        ))}
      </div>
    }>
      <div class="history">
        {state.phase === "loading" && <Loading rows={2} />}
        {state.phase === "ready" && <Kept key={span} history={state.data} />}
        {state.phase === "failed" && (state.problem.isAbsentRoute
          ? <Unkept seen={seen} />
          : <Trouble problem={state.problem} retry={() => void resource.refresh()} />)}
      </div>
    </Section>
  );
}
