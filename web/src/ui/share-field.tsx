/* SPDX-License-Identifier: Apache-2.0 */
/* A field for a share: one number, or two bounds between which the share follows demand. */
import type { Range } from "../api/types";
import { percent } from "../lib/format";
import { RoomSlider } from "./field";

const STEP = 0.01;

export interface ShareValue {
  share: number;
  range: Range | null;
}

const show = (value: number) => percent(value);

/* A new range begins at the share so far, and ends at twice that. */
function begin(share: number): Range {
  return { least: share, most: Math.min(1, Math.round(share * 200) / 100) };
}

function Ends({ range, room, onChange }: {
  range: Range; room: number; onChange: (range: Range) => void;
}) {
  return (
    <>
      <RoomSlider label="Least share" value={range.least} step={STEP} whole={1} most={room} show={show}
        onInput={(least) => onChange({ least, most: Math.max(least, range.most) })} />
      <RoomSlider label="Most share" value={range.most} step={STEP} whole={1} most={1} show={show}
        hint="The lower bound is promised; the share rises with demand while other promises leave room."
        onInput={(most) => onChange({ least: Math.min(range.least, most), most })} />
    </>
  );
}

export function ShareField({ value, room, onChange }: {
  value: ShareValue; room: number; onChange: (value: ShareValue) => void;
}) {
  const { share, range } = value;
  const toggle = (isOn: boolean) => onChange(isOn ? { share, range: begin(share) }
    : { share: Math.max(STEP, Math.min(range?.least ?? share, room)), range: null });

  return (
    <>
      {range ? <Ends range={range} room={room} onChange={(next) => onChange({ share, range: next })} />
        : <RoomSlider label="Share of the compute" value={share} step={STEP} whole={1} most={room}
          show={show} onInput={(next) => onChange({ share: next, range: null })} />}
      <label class="check">
        <input type="checkbox" checked={range !== null}
          onChange={(event) => toggle(event.currentTarget.checked)} />
        The share follows demand, between a lower and an upper bound
      </label>
    </>
  );
}
