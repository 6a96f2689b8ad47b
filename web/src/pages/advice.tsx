/* SPDX-License-Identifier: Apache-2.0 */
/* The size that would suffice for each lease, by its measured use. */
import { useState } from "preact/hooks";
import type { Advice as Item, Lease, Part } from "../api/types";
import { bytes, duration, percent } from "../lib/format";
import { roomOn } from "../lib/model";
import { changeLines, isResize, lackText, proposedSize, sizeOf } from "../lib/share";
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

interface Taken {
  item: Item;
  lease: Lease;
  /* The proposed values, or values that the user edited. */
  how: "apply" | "change";
}

function partText(part: Part): string {
  const words = [percent(part.share), bytes(part.memory_bytes), part.class];
  if (part.cap) words.push(`at most ${percent(part.cap)}`);
  return part.profile ? `${part.profile}: ${words.join(", ")}` : words.join(", ");
}

function slowdown(item: Item): string {
  const more = item.expected_slowdown - 1;
  if (more < 0.005) return "no slower than alone";
  return `at worst ${percent(more)} slower than alone`;
}

function ApplyDialog({ taken, onClose }: { taken: Taken; onClose: () => void }) {
  const session = useSession();
  const { item, lease } = taken;
  const size = proposedSize(lease, item);
  const device = useData(session.devices, { items: [] }).items.find((each) => each.name === lease.device);
  const lack = device ? lackText(size, roomOn(device, lease)) : "";
  const apply = async () => {
    await resize(session, lease, size);
    await session.list<Item>("/v1/advice").refresh();
  };
  return (
    <Confirm title={`Resize ${lease.name}?`} action="Resize" onClose={onClose} onConfirm={apply}
      lines={[...changeLines(sizeOf(lease), size), ...(lack ? [lack] : []),
        `Its programs continue. Expect it to be ${slowdown(item)}.`]} />
  );
}

function Buttons({ item, onTake }: { item: Item; onTake: (how: Taken["how"]) => void }) {
  return (
    <div class="actions">
      <button type="button" class="button primary" onClick={() => onTake("apply")}>
        Apply<span class="sr"> to {item.name}</span></button>
      <button type="button" class="button" onClick={() => onTake("change")}>
        Resize otherwise<span class="sr"> {item.name}</span></button>
    </div>
  );
}

function Card({ item, lease, onTake }: {
  item: Item; lease?: Lease; onTake: (how: Taken["how"]) => void;
}) {
  const canResize = useMayChange() && lease !== undefined && isResize(item);

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
      {canResize && <Buttons item={item} onTake={onTake} />}
      {item.kind === "idle" && <a class="button" href={href("leases", item.lease)}>
        Look at it<span class="sr"> {item.name}</span></a>}
      {item.proposed.profile && <p class="hint">A lease cannot be moved while it runs: begin it
        anew with <code>--profile {item.proposed.profile}</code>.</p>}
    </li>
  );
}

export function Advice() {
  const session = useSession();
  const resource = session.list<Item>("/v1/advice");
  const state = useResource(resource);
  const leases = useData(session.leases, []);
  const devices = useData(session.devices, { items: [] });
  const [taken, setTaken] = useState<Taken | null>(null);
  const close = () => setTaken(null);

  return (
    <Page title="Advice">
      <Loaded state={state} rows={4} retry={() => void resource.refresh()}>
        {(items) => items.length === 0
          ? <Note icon="ok" title="No advice">Every lease that was watched for half a minute has a part
            that suits it.</Note>
          : <ul class="advices">
            {items.map((item) => {
              const lease = leases.find((each) => each.id === item.lease);
              return <Card key={`${item.lease} ${item.kind}`} item={item} lease={lease}
                onTake={(how) => lease && setTaken({ item, lease, how })} />;
            })}
          </ul>}
      </Loaded>
      {taken?.how === "apply" && <ApplyDialog taken={taken} onClose={close} />}
      {taken?.how === "change" && <ResizeDialog lease={taken.lease} devices={devices.items}
        proposed={proposedSize(taken.lease, taken.item)} onClose={close} />}
    </Page>
  );
}
