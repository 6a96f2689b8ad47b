/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of parts: each profile or number, with the size of a part. */
import { useId } from "preact/hooks";
import type { Scheme } from "../api/types";
import { type Choice, isMixed } from "../lib/configure";
import { bytes } from "../lib/format";
import { codecs } from "../lib/readings";
import type { DeviceView } from "../lib/model";
import { SelectField } from "../ui/field";
import { Note } from "../ui/states";
import { type Column, Table } from "../ui/table";

export const SCHEME_WORDS: Record<Scheme, string> = {
  none: "nothing",
  mig: "MIG",
  xcp: "compute and memory modes",
  vf: "virtual functions",
  cores: "sets of processors",
};

export interface PartsChange {
  scheme?: Scheme;
  counts?: Record<string, number>;
  isWhole?: boolean;
  vgpu_type?: string;
}

function Stepper({ choice, value, onChange }: {
  choice: Choice; value: number; onChange: (value: number) => void;
}) {
  const id = useId();
  const set = (asked: number) => onChange(Math.max(0, Math.min(choice.most, asked || 0)));

  return (
    <span class="stepper">
      <button type="button" class="button small" aria-label={`One ${choice.profile} less`}
        disabled={value <= 0} onClick={() => set(value - 1)}>−</button>
      <label class="sr" for={id}>Number of {choice.profile} on each device</label>
      <input id={id} class="input number" type="number" inputMode="numeric" min={0} max={choice.most}
        value={value} onChange={(event) => set(Number(event.currentTarget.value))} />
      <button type="button" class="button small" aria-label={`One ${choice.profile} more`}
        disabled={value >= choice.most} onClick={() => set(value + 1)}>+</button>
    </span>
  );
}

function Radio({ choice, isOn, onChoose }: {
  choice: Choice; isOn: boolean; onChoose: () => void;
}) {
  return (
    <label class="radio">
      <input type="radio" name="profile" checked={isOn} onChange={onChoose} />
      <span class="sr">Choose {choice.profile}</span>
    </label>
  );
}

function columns(scheme: Scheme, counts: Record<string, number>,
  set: (counts: Record<string, number>) => void): Column<Choice>[] {
  const pick: Column<Choice> = isMixed(scheme) ? {
    head: "On each device", isNumber: true, cell: (each) => (
      <Stepper choice={each} value={counts[each.profile] ?? 0}
        onChange={(value) => set({ ...counts, [each.profile]: value })} />
    ),
  } : {
    head: "Choose", cell: (each) => (
      <Radio choice={each} isOn={(counts[each.profile] ?? 0) > 0}
        onChoose={() => set({ [each.profile]: each.most })} />
    ),
  };
  return [
    { head: "Profile", isHead: true, cell: (each) => <code>{each.profile}</code> },
    { head: isMixed(scheme) ? "At most" : "Parts", isNumber: true, cell: (each) => each.most },
    { head: "Memory each", isNumber: true, cell: (each) => bytes(each.memory_bytes) },
    { head: "Units each", isNumber: true, cell: (each) => each.compute_units || "–" },
    { head: "Enc / dec each", isNumber: true, isMinor: true,
      cell: (each) => codecs(each.engines) },
    ...(isMixed(scheme) ? [{ head: "Fit now", isNumber: true,
      cell: (each: Choice) => each.fits }] : []),
    pick,
    { head: "Note", isMinor: true, cell: (each) => each.note || "–" },
  ];
}

function Whole({ chosen, isWhole, onChange }: {
  chosen: DeviceView[]; isWhole: boolean; onChange: (isWhole: boolean) => void;
}) {
  if (chosen.every((view) => view.scheme === "none")) return null;
  return (
    <label class="check">
      <input type="checkbox" checked={isWhole}
        onChange={(event) => onChange(event.currentTarget.checked)} />
      Make them whole again: remove all partitions
    </label>
  );
}

export function ChooseParts({ chosen, choices, schemes, scheme, counts, isWhole, vgpuType, set }: {
  chosen: DeviceView[]; choices: Choice[]; schemes: Scheme[]; scheme: Scheme;
  counts: Record<string, number>; isWhole: boolean; vgpuType: string;
  set: (more: PartsChange) => void;
}) {
  const types = chosen[0]?.node?.vf?.types ?? [];

  if (chosen.length === 0) return <p class="quiet-line">No device is chosen.</p>;
  if (choices.length === 0)
    return <Note icon="info" title="The chosen devices have no profile in common" />;
  return (
    <>
      {schemes.length > 1 && (
        <SelectField label="Way to divide" value={scheme}
          options={schemes.map((each) => [each, SCHEME_WORDS[each]])}
          onChange={(value) => set({ scheme: value as Scheme, counts: {} })} />
      )}
      <Whole chosen={chosen} isWhole={isWhole} onChange={(value) => set({ isWhole: value })} />
      {!isWhole && (
        <Table caption="What the devices can be divided into, and what each part gets"
          rows={choices.filter((each) => each.scheme === scheme)} keyOf={(each) => each.profile}
          columns={columns(scheme, counts, (value) => set({ counts: value }))} />
      )}
      {!isWhole && scheme === "vf" && types.length > 0 && (
        <SelectField label="Type of the functions" value={vgpuType}
          onChange={(value) => set({ vgpu_type: value })}
          options={[["", "The driver's choice"], ...types.map((each): [string, string] =>
            [each.name, `${each.name}, ${bytes(each.memory_bytes)}, at most ${each.max_instances}`])]} />
      )}
    </>
  );
}
