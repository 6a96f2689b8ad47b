/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that sort by their headers and become a list of cards on a phone.  The roles are
 * explicit because "display" removes the implied ones there. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icons";

export interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  /* Right-aligned, with figures of one width. */
  isNumber?: boolean;
  sort?: (row: T) => number | string;
  /* The cell that names the row. */
  isHead?: boolean;
  /* Hidden where there is little room. */
  isMinor?: boolean;
}

/* A browser takes a second for some thousand rows. */
const PAGE_ROWS = 100;

interface Order {
  column: number;
  isDown: boolean;
}

function sorted<T>(rows: T[], columns: Column<T>[], order: Order | null): T[] {
  const by = order && columns[order.column]?.sort;
  if (!order || !by) return rows;
  const sign = order.isDown ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    const less = typeof x === "string" && typeof y === "string"
      ? x.localeCompare(y, undefined, { numeric: true }) : Number(x) - Number(y);
    return sign * less;
  });
}

function Head<T>({ column, at, order, setOrder }: {
  column: Column<T>; at: number; order: Order | null; setOrder: (order: Order) => void;
}) {
  const isMine = order?.column === at;
  const direction = !isMine ? "none" : order.isDown ? "descending" : "ascending";

  return (
    <th role="columnheader" scope="col" class={classOf(column)}
      aria-sort={column.sort ? direction : undefined}>
      {column.sort ? (
        <button type="button" class="sort"
          onClick={() => setOrder({ column: at, isDown: isMine && !order.isDown })}>
          {column.head}
          <span class={isMine ? "sort-mark" : "sort-mark idle"}>
            <Icon name={isMine && order.isDown ? "down" : "up"} size={10} />
          </span>
        </button>
      ) : column.head || <span class="sr">Actions</span>}
    </th>
  );
}

function classOf<T>(column: Column<T>): string {
  return [column.isNumber && "number", column.isMinor && "minor"].filter(Boolean).join(" ");
}

function Cell<T>({ column, row }: { column: Column<T>; row: T }) {
  const content = column.cell(row);
  if (column.isHead)
    return <th role="rowheader" scope="row" class={classOf(column)}>{content}</th>;
  return (
    <td role="cell" class={classOf(column)} data-label={column.head}>
      <div class="cell">{content}</div>
    </td>
  );
}

/* Which of the rows are shown, where there are more than fit a page. */
function Pager({ caption, first, end, all, go }: {
  caption: string; first: number; end: number; all: number; go: (page: number) => void;
}) {
  const page = first / PAGE_ROWS;

  return (
    <nav class="pager" aria-label={`Pages of the table ${caption}`}>
      <button type="button" class="button small" disabled={page === 0}
        onClick={() => go(page - 1)}>Previous</button>
      <span role="status">{first + 1} to {end} of {all}</span>
      <button type="button" class="button small" disabled={end === all}
        onClick={() => go(page + 1)}>Next</button>
    </nav>
  );
}

export function Table<T>({ caption, columns, rows, keyOf }: {
  caption: string; columns: Column<T>[]; rows: T[]; keyOf: (row: T) => string | number;
}) {
  const [order, setOrder] = useState<Order | null>(null);
  const [wanted, setPage] = useState(0);
  const first = Math.min(wanted, Math.ceil(rows.length / PAGE_ROWS) - 1) * PAGE_ROWS;
  const end = Math.min(first + PAGE_ROWS, rows.length);

  return (
    <div class="table-box"><table role="table" class="table">
      <caption class="sr">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column, at) => (
            <Head key={column.head} {...{ column, at, order, setOrder }} />
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {sorted(rows, columns, order).slice(Math.max(first, 0), end).map((row) => (
          <tr role="row" key={keyOf(row)}>
            {columns.map((column) => <Cell key={column.head} {...{ column, row }} />)}
          </tr>
        ))}
      </tbody>
    </table>
    {rows.length > PAGE_ROWS &&
      <Pager caption={caption} first={first} end={end} all={rows.length} go={setPage} />}
    </div>
  );
}
