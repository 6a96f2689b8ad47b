/* SPDX-License-Identifier: Apache-2.0 */
/* The size that would suffice for each lease, by its measured use. */
import { useState } from "preact/hooks";
import type { Advice as Item, Lease, Part } from "../api/types";
import { bytes, duration, percent } from "../lib/format";
import { changeLines, isResize, proposedSize, sizeOf } from "../lib/share";
import { Badge } from "../ui/badge";
import { Confirm } from "../ui/dialog";
import { href, useData, useMayChange, useResource, useSession } from "../ui/hooks";
import { Page } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { resize, ResizeDialog } from "./lease-dialogs";

const KINDS: Record<string, string> = {
  too_large: "Too large", too_small: "Too small", wrong_class: "Other class",
  use_profile: "A partition suffices", idle: "Idle", imbalanced: "Wrongly split",
};

/* An advice for a lease that is still there. */
interface Proposal {
  item: Item;
  lease: Lease;
}

/* Only what differs from the other part: "40 % now, 40 % proposed" would puzzle. */
function partText(part: Part, other: Part): string {
  const words: string[] = [];
  if (part.share !== other.share) words.push(percent(part.share));
  if (part.memory_bytes !== other.memory_bytes) words.push(bytes(part.memory_bytes));
  if (part.class !== other.class) words.push(part.class);
  if (part.cap !== other.cap) words.push(part.cap ? `at most ${percent(part.cap)}` : "no cap");
  return part.profile ? `${part.profile}: ${words.join(", ")}` : words.join(", ");
}

function isChange({ item, lease }: Proposal): boolean {
  return isResize(item) &&
    changeLines(sizeOf(lease), proposedSize(lease, item)).length > 0;
}

/* What becomes smaller comes first, so that there is room for the rest. */
function inOrder(proposals: Proposal[]): Proposal[] {
  const growth = ({ item: { current, proposed } }: Proposal) =>
    Math.max(proposed.share - current.share,
      Math.sign(proposed.memory_bytes - current.memory_bytes));
  return [...proposals].sort((a, b) => growth(a) - growth(b));
}

function slowdown(item: Item): string {
  const more = item.expected_slowdown - 1;
  if (more < 0.005) return "no slower than alone";
  return `at worst ${percent(more)} slower than alone`;
}

function ApplyDialog({ device, proposals, onClose }: {
  device: string; proposals: Proposal[]; onClose: () => void;
}) {
  const session = useSession();
  const apply = async () => {
    try {
      for (const { item, lease } of proposals)
        await resize(session, lease, proposedSize(lease, item));
    } finally {
      await session.list<Item>("/v1/advice").refresh();
    }
  };
  return (
    <Confirm title={`Resize the leases on ${device}?`} action="Resize" onClose={onClose}
      onConfirm={apply}
      lines={[...proposals.flatMap(({ item, lease }) =>
        changeLines(sizeOf(lease), proposedSize(lease, item)).map((line) =>
          `${lease.name}: ${line}`)),
        "Their programs continue. The sizes fit together; smaller ones are applied first."]} />
  );
}

function Card({ item, lease, onResize }: {
  item: Item; lease?: Lease; onResize: (lease: Lease) => void;
}) {
  const canResize = useMayChange() && lease !== undefined && isResize(item);
  const now = partText(item.current, item.proposed);

  return (
    <li class="advice">
      <header>
        <h3><a href={href("leases", item.lease)}>{item.name}</a>
          <span class="quiet-text"> of {item.tenant}</span></h3>
        <Badge tone="accent">{KINDS[item.kind] ?? item.kind}</Badge>
      </header>
      <p>{item.text}</p>
      <dl class="change">
        {now && <div><dt>Now</dt><dd>{now}</dd></div>}
        {now && <div><dt>Proposed</dt><dd>{partText(item.proposed, item.current)}</dd></div>}
        <div><dt>Expect</dt><dd>{slowdown(item)}</dd></div>
        <div><dt>Confidence</dt><dd>{item.confidence}, seen for {duration(item.observed_seconds)}</dd></div>
      </dl>
      {canResize && <button type="button" class="button" onClick={() => onResize(lease)}>
        Resize otherwise<span class="sr"> {item.name}</span></button>}
      {item.kind === "idle" && <a class="button" href={href("leases", item.lease)}>
        Look at it<span class="sr"> {item.name}</span></a>}
      {item.proposed.profile && <p class="hint">A lease cannot be moved while it runs: begin it
        anew with <code>--profile {item.proposed.profile}</code>.</p>}
    </li>
  );
}

function OnDevice({ device, items, onResize, onApply }: {
  device: string; items: Item[]; onResize: (item: Item, lease: Lease) => void;
  onApply: (proposals: Proposal[]) => void;
}) {
  const leases = useData(useSession().leases, []);
  const mayChange = useMayChange();
  const leaseOf = (item: Item) => leases.find((each) => each.id === item.lease);
  const proposals = inOrder(items.flatMap((item) => {
    const lease = leaseOf(item);
    return lease && isChange({ item, lease }) ? [{ item, lease }] : [];
  }));
  const n = new Set(proposals.map(({ lease }) => lease.id)).size;

  return (
    <section class="advised">
      <h2>{device}</h2>
      <ul class="advices">
        {items.map((item) => <Card key={`${item.lease} ${item.kind}`} item={item}
          lease={leaseOf(item)} onResize={(lease) => onResize(item, lease)} />)}
      </ul>
      {mayChange && n > 0 && <button type="button" class="button primary"
        onClick={() => onApply(proposals)}>
        Resize {n === 1 ? "1 lease" : `${n} leases`} on {device}</button>}
    </section>
  );
}

function byDevice(items: Item[]): [string, Item[]][] {
  const groups = new Map<string, Item[]>();
  for (const item of items)
    groups.set(item.device, [...groups.get(item.device) ?? [], item]);
  return [...groups].sort(([a], [b]) => a.localeCompare(b));
}

export function Advice() {
  const session = useSession();
  const resource = session.list<Item>("/v1/advice");
  const state = useResource(resource);
  const devices = useData(session.devices, { items: [] });
  const [taken, setTaken] = useState<Proposal[]>([]);
  const [resized, setResized] = useState<Proposal | null>(null);

  return (
    <Page title="Advice">
      <Loaded state={state} rows={4} retry={() => void resource.refresh()}>
        {(items) => items.length === 0
          ? <Note icon="ok" title="No advice">Every lease that was watched for half a minute has a part
            that suits it.</Note>
          : <>{byDevice(items).map(([device, group]) => <OnDevice key={device} device={device}
            items={group} onApply={setTaken}
            onResize={(item, lease) => setResized({ item, lease })} />)}</>}
      </Loaded>
      {taken.length > 0 && <ApplyDialog device={taken[0]!.item.device} proposals={taken}
        onClose={() => setTaken([])} />}
      {resized && <ResizeDialog lease={resized.lease} devices={devices.items}
        proposed={proposedSize(resized.lease, resized.item)} onClose={() => setResized(null)} />}
    </Page>
  );
}
