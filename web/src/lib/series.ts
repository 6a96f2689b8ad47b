/* SPDX-License-Identifier: Apache-2.0 */
/* Histories in the form that charts and texts need. */
import type { History } from "../api/types";

export interface Series {
  /* Unix seconds. */
  times: number[];
  columns: Record<string, (number | null)[]>;
}

/* Appends new rows to earlier ones, so that a page requests only new rows.  Times without data
 * between them are null. */
export function joined(old: History, fresh: History, most: number): History {
  const at = (fresh.start - old.start) / old.step;

  if (old.step !== fresh.step || at < 0 || !Number.isInteger(at)) return fresh;
  const gap = Math.max(0, at - old.rows.length);
  const rows = [...old.rows.slice(0, at), ...Array<null>(gap).fill(null), ...fresh.rows];
  const over = Math.max(0, rows.length - most);
  return { ...fresh, start: old.start + over * old.step, rows: rows.slice(over) };
}

/* The time of the last row with data, in Unix seconds. */
export function knownUntil(history: History): number {
  let last = history.rows.length - 1;
  while (last >= 0 && history.rows[last] === null) last--;
  return history.start + Math.max(0, last) * history.step;
}

/* Charts draw at most one point per pixel; more points are averaged. */
export function seriesOf(history: History, most = 2000): Series {
  const every = Math.max(1, Math.ceil(history.rows.length / most));
  const times: number[] = [];
  const columns: Record<string, (number | null)[]> = {};

  for (const name of history.columns) columns[name] = [];
  for (let at = 0; at < history.rows.length; at += every) {
    times.push(history.start + at * history.step);
    const rows = history.rows.slice(at, at + every).filter((row) => row !== null);
    history.columns.forEach((name, column) => {
      columns[name]!.push(mean(rows.map((row) => row[column] ?? null)));
    });
  }
  return { times, columns };
}

function present(list: (number | null)[]): number[] {
  return list.filter((value): value is number => value !== null);
}

export function mean(list: (number | null)[]): number | null {
  const values = present(list);
  return values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : null;
}

export interface Summary {
  mean: number;
  most: number;
  last: number;
  /* The number of times in the span with data. */
  known: number;
}

export function summaryOf(list: (number | null)[]): Summary | null {
  const values = present(list);
  if (values.length === 0) return null;
  return {
    mean: mean(list)!,
    most: values.reduce((a, b) => Math.max(a, b)),
    last: values[values.length - 1]!,
    known: values.length / list.length,
  };
}

/* The figures since a page was opened, for agents that keep no history: a ring of points. */
export class Seen {
  private readonly most: number;
  private points: { time: number; values: Record<string, number> }[] = [];

  constructor(most: number) {
    this.most = most;
  }

  add(time: number, values: Record<string, number>): void {
    if (this.points.at(-1)?.time === time) return;
    this.points.push({ time, values });
    if (this.points.length > this.most) this.points.splice(0, this.points.length - this.most);
  }

  get length(): number {
    return this.points.length;
  }

  series(): Series {
    const columns: Record<string, (number | null)[]> = {};
    for (const name of Object.keys(this.points.at(-1)?.values ?? {}))
      columns[name] = this.points.map((point) => point.values[name] ?? null);
    return { times: this.points.map((point) => point.time), columns };
  }
}
