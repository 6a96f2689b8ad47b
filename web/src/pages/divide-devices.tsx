/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices: those of one kind together, and why not the others. */
import { whyNot } from "../lib/configure";
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

export function ChooseDevices({ views, chosen, onChoose }: {
  views: DeviceView[]; chosen: DeviceView[]; onChoose: (name: string, isOn: boolean) => void;
}) {
  if (views.every((view) => view.schemes.length === 0))
    return <Note icon="info" title="No device of this node can be divided">
      Shares of whole devices work all the same.
    </Note>;
  return (
    <fieldset class="device-choices">
      <legend class="hint">Devices of one model follow one layout. The largest set that is free is
        chosen already; choose none to begin with another kind.</legend>
      <ul>
        {views.map((view) => <Choice key={view.name} {...{ view, chosen, onChoose }} />)}
      </ul>
    </fieldset>
  );
}
