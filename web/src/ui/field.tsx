/* SPDX-License-Identifier: Apache-2.0 */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { roomText } from "../lib/format";
import { Icon } from "./icons";
import { notify } from "./toasts";

export function Field({ label, hint, children }: {
  label: string; hint?: string; children: (id: string) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint && <p class="hint">{hint}</p>}
    </div>
  );
}

export function TextField({ label, hint, value, onInput, required = false }: {
  label: string; hint?: string; value: string; onInput: (value: string) => void; required?: boolean;
}) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <input id={id} class="input" value={value} required={required} autocomplete="off"
          spellcheck={false} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
    </Field>
  );
}

export function SelectField({ label, hint, value, options, onChange }: {
  label: string; hint?: string; value: string; options: [string, string][];
  onChange: (value: string) => void;
}) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <select id={id} class="input" value={value}
          onChange={(event) => onChange(event.currentTarget.value)}>
          {options.map(([key, text]) => <option key={key} value={key}>{text}</option>)}
        </select>
      )}
    </Field>
  );
}

/* A slider over a whole resource, of which only the free part can be chosen: the rest is
 * drawn as taken, and a value beyond the free part is reset to its end. */
export function RoomSlider({ label, value, step, most, whole, show, onInput, hint }: {
  label: string; value: number; step: number; most: number; whole: number;
  show: (value: number) => string; onInput: (value: number) => void; hint?: string;
}) {
  const free = whole > 0 ? Math.max(0, Math.min(1, most / whole)) : 0;
  const set = (asked: number) => onInput(Math.max(step, Math.min(asked, most)));

  return (
    <Field label={label}
      hint={hint ?? roomText(most, whole, show)}>
      {(id) => (
        <div class="slider">
          <div class="slider-track" style={{ "--free": `${free * 100}%` }}>
            <input id={id} type="range" min={0} max={whole} step={step} value={value}
              aria-valuetext={`${show(value)}, ${show(most)} is free`}
              onInput={(event) => {
                set(Number(event.currentTarget.value));
                /* The thumb must not stay at a value that is not allowed. */
                const kept = Math.max(step, Math.min(Number(event.currentTarget.value), most));
                event.currentTarget.value = String(kept);
              }} />
          </div>
          <output class="slider-value">{show(value)}</output>
        </div>
      )}
    </Field>
  );
}

export function Copy({ text, what }: { text: string; what: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      notify(`Copied ${what}.`);
      setTimeout(() => setDone(false), 2000);
    } catch {
      notify("The browser does not let this page copy: select the text instead.", true);
    }
  };
  return (
    <button type="button" class="button small" onClick={() => void copy()}>
      <Icon name={isDone ? "ok" : "copy"} size={14} />Copy<span class="sr"> {what}</span>
    </button>
  );
}

export function Code({ text, what }: { text: string; what: string }) {
  return (
    <div class="code">
      <pre tabIndex={0} aria-label={what}><code>{text}</code></pre>
      <Copy text={text} what={what} />
    </div>
  );
}
