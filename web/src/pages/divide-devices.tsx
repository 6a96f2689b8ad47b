/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of devices: those of one kind together, and why not the others. */
import { kindOf, kindsOf, preselect, whyNot } from "../lib/configure";
import { bytes, count } from "../lib/format";
import type { DeviceView } from "../lib/model";
import { StatusBadge } from "../ui/badge";
import { Note } from "../ui/states";

function Choice({ view, chosen, onChoose }: {
  view: DeviceView; chosen: DeviceView[]; onChoose: (name: string, isOn: boolean) => void;
}) {
  const isOn = chosen.includes(view);
  const reason = isOn ? "" : whyNot(view, chosen);
  const inUse = view.holders[0]?.text ??
    (view.leases.length > 0 ? count(view.leases.length, "lease") : "");

  return (
    <li class={reason ? "device-choice off" : "device-choice"}>
      <label>
        <input type="checkbox" checked={isOn} disabled={reason !== ""}
          onChange={(event) => onChoose(view.name, event.currentTarget.checked)} />
        <span class="choice-name">{view.name}</span>
        <StatusBadge status={view.status} />
        <span class="choice-text">{view.model}, {bytes(view.memory_bytes)}</span>
        {inUse && !reason && <span class="choice-text">in use: {inUse}</span>}
        {view.slots.length > 0 && !reason &&
          <span class="choice-text">{count(view.slots.length, "partition")} now</span>}
        {reason && <span class="reason">{reason}</span>}
      </label>
    </li>
  );
}

/* On a node with several kinds of devices: switches from one kind to another. */
function Kinds({ views, chosen, onChooseAll }: {
  views: DeviceView[]; chosen: DeviceView[]; onChooseAll: (names: string[]) => void;
}) {
  const kinds = [...kindsOf(views).values()];
  if (kinds.length < 2) return null;
  return (
    <div class="kinds" role="group" aria-label="Kinds of devices">
      {kinds.map((set) => (
        <button key={kindOf(set[0]!)} type="button" class="button small"
          aria-pressed={chosen[0] !== undefined && kindOf(chosen[0]) === kindOf(set[0]!)}
          onClick={() => onChooseAll(preselect(set))}>
          {set.length} × {set[0]!.model}
        </button>
      ))}
    </div>
  );
}

export function ChooseDevices({ views, chosen, onChoose, onChooseAll }: {
  views: DeviceView[]; chosen: DeviceView[]; onChoose: (name: string, isOn: boolean) => void;
  onChooseAll: (names: string[]) => void;
}) {
  if (views.every((view) => view.schemes.length === 0))
    return <Note icon="info" title="No device of this node can be divided">
      Shares of whole devices work all the same.
    </Note>;
  return (
    <fieldset class="device-choices">
      <legend class="hint">Devices of one model follow one layout. The largest set is chosen already,
        without those that somebody uses.</legend>
      <Kinds {...{ views, chosen, onChooseAll }} />
      <ul>
        {views.map((view) => <Choice key={view.name} {...{ view, chosen, onChoose }} />)}
      </ul>
    </fieldset>
  );
}
