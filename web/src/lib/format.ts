/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and times for people.  Sizes are binary, as on the command line. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(n: number): string {
  let value = n;
  let unit = 0;

  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  /* 1023.99 MiB would round to 1024 MiB. */
  if (value >= 1023.95 && unit > 0 && unit < UNITS.length - 1) {
    value = 1;
    unit++;
  }
  const digits = unit === 0 || value >= 100 || Number.isInteger(value) ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/* "1.5 of 8 GiB": both in the unit of the whole. */
export function bytesOf(part: number, whole: number): string {
  const text = bytes(whole);
  const unit = text.slice(text.indexOf(" ") + 1);
  const value = part / 1024 ** Math.max(0, UNITS.indexOf(unit));
  if (value > 0 && value < 0.05) return `<0.1 of ${text}`;
  return `${value === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} of ${text}`;
}

/* A size for the command line: exact if that is short, else in MiB, rounded down so that it
 * still fits. */
export function sizeArgument(n: number): string {
  const GIB = 2 ** 30;
  const MIB = 2 ** 20;

  if (n >= GIB && n % GIB === 0) return `${n / GIB}G`;
  return `${Math.floor(n / MIB)}M`;
}

export function percent(fraction: number, digits = 0): string {
  const value = fraction * 100;
  if (digits === 0 && value > 0 && value < 1) return "<1%";
  return `${value.toFixed(digits)}%`;
}

/* A fraction for the command line, without rounding noise. */
export function fractionArgument(fraction: number): string {
  return String(Math.round(fraction * 1000) / 1000);
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));

  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
}

export function since(time: string, now_ms = Date.now()): string {
  return duration((now_ms - Date.parse(time)) / 1000);
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

/* Local time, with the day unless it is today. */
export function clock(time: string, now = new Date()): string {
  const t = new Date(time);
  if (Number.isNaN(t.getTime())) return time;
  const hms = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
  return t.toDateString() === now.toDateString() ? hms : `${day(t)} ${hms}`;
}

function day(t: Date): string {
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
}

export function date(time: string | null | undefined): string {
  if (!time) return "–";
  const t = new Date(time);
  return `${day(t)} ${two(t.getHours())}:${two(t.getMinutes())}`;
}

/* "a, b and c"; beyond `most`, "a, b and 4 more". */
export function names(list: string[], most = 6): string {
  const unique = [...new Set(list)];
  const shown = unique.slice(0, unique.length > most ? most - 1 : most);
  const left = unique.length - shown.length;
  const all = left > 0 ? [...shown, `${left} more`] : shown;
  const last = all.pop();

  if (last === undefined) return "";
  return all.length > 0 ? `${all.join(", ")} and ${last}` : last;
}

/* What of a resource can be chosen. */
export function roomText(most: number, whole: number, show: (value: number) => string): string {
  if (most >= whole) return `All of it, ${show(whole)}, is free.`;
  return `${show(most)} of ${show(whole)} is free; the rest is promised to others.`;
}
