/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table that are picked for one action on all of them. */
import { useState } from "preact/hooks";
import { Problem } from "../api/problem";
import type { Column } from "./table";

export interface Picked<T> {
  /* The picked rows that are still there. */
  rows: T[];
  column: Column<T>;
  clear: () => void;
}

export function usePicked<T>(rows: T[], keyOf: (row: T) => string, nameOf: (row: T) => string): Picked<T> {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const toggle = (key: string, isOn: boolean) => {
    const next = new Set(keys);
    if (isOn) next.add(key);
    else next.delete(key);
    setKeys(next);
  };

  return {
    rows: rows.filter((row) => keys.has(keyOf(row))),
    clear: () => setKeys(new Set()),
    /* Behind the others: the name of a row begins with the row's. */
    column: { head: "Pick", cell: (row) => (
      <input type="checkbox" aria-label={`Pick ${nameOf(row)}`} checked={keys.has(keyOf(row))}
        onChange={(event) => toggle(keyOf(row), event.currentTarget.checked)} />
    ) },
  };
}

/* Acts on each item, also after one that fails, and then reports all that failed. */
export async function actOnAll<T>(items: T[], nameOf: (item: T) => string,
  act: (item: T) => Promise<unknown>): Promise<void> {
  const failed: string[] = [];

  for (const item of items) {
    try {
      await act(item);
    } catch (cause) {
      failed.push(`${nameOf(item)}: ${Problem.of(cause).message}`);
    }
  }
  if (failed.length > 0)
    throw new Problem(409, "in_use", `${failed.length} of ${items.length} failed. ${failed.join(" ")}`);
}
