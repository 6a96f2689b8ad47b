/* SPDX-License-Identifier: Apache-2.0 */
/* What leases could do with, by what they were seen to use. */
import { useState } from "preact/hooks";
import type { Advice as Item, Lease, Part } from "../api/types";
import { bytes, duration, percent } from "../lib/format";
import { Badge } from "../ui/badge";
import { href, useData, useMayChange, useResource, useSession } from "../ui/hooks";
import { Page } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { ResizeDialog } from "./lease-dialogs";

const KINDS: Record<string, string> = {
  too_large: "Too large", too_small: "Too small", wrong_class: "Other class",
  use_profile: "A partition would do", idle: "Idle", imbalanced: "Imbalanced",
};

function partText(part: Part): string {
  const words = [percent(part.share), bytes(part.memory_bytes), part.class];
  return part.profile ? `${part.profile}: ${words.join(", ")}` : words.join(", ");
}

function slowdown(item: Item): string {
  const more = item.expected_slowdown - 1;
  if (more < 0.005) return "no slowdown expected";
  return `about ${percent(more)} slower`;
}

function Card({ item, lease, onResize }: { item: Item; lease?: Lease; onResize: () => void }) {
  const canResize = useMayChange() && lease !== undefined && !item.proposed.profile && item.kind !== "idle";

  return (
    <li class="advice">
      <header>
        <h2><a href={href("leases", item.lease)}>{item.name}</a>
          <span class="quiet-text"> of {item.tenant}</span></h2>
        <Badge tone="accent">{KINDS[item.kind] ?? item.kind}</Badge>
      </header>
      <p>{item.text}</p>
      <dl class="change">
        <div><dt>Now</dt><dd>{partText(item.current)}</dd></div>
        <div><dt>Proposed</dt><dd>{partText(item.proposed)}</dd></div>
        <div><dt>Expect</dt><dd>{slowdown(item)}</dd></div>
        <div><dt>Confidence</dt><dd>{item.confidence}, seen for {duration(item.observed_seconds)}</dd></div>
      </dl>
      {canResize && <button type="button" class="button" onClick={onResize}>
        Resize<span class="sr"> {item.name}</span></button>}
    </li>
  );
}

export function Advice() {
  const session = useSession();
  const resource = session.list<Item>("/v1/advice");
  const state = useResource(resource);
  const leases = useData(session.leases, []);
  const devices = useData(session.devices, { items: [] });
  const [taken, setTaken] = useState<{ item: Item; lease: Lease } | null>(null);

  return (
    <Page title="Advice">
      <Loaded state={state} rows={4} retry={() => void resource.refresh()}>
        {(items) => items.length === 0
          ? <Note icon="ok" title="No advice">Every lease that was watched for long enough has a part
            that suits it.</Note>
          : <ul class="advices">
            {items.map((item) => {
              const lease = leases.find((each) => each.id === item.lease);
              return <Card key={`${item.lease} ${item.kind}`} item={item} lease={lease}
                onResize={() => lease && setTaken({ item, lease })} />;
            })}
          </ul>}
      </Loaded>
      {taken && <ResizeDialog lease={taken.lease} devices={devices.items}
        proposed={taken.item.proposed} onClose={() => setTaken(null)} />}
    </Page>
  );
}
