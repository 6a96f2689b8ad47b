/* SPDX-License-Identifier: Apache-2.0 */
/* The places of a bar where the use of leases beyond their shares is drawn: in the part that is
 * not promised, and in the parts that other leases leave idle. */
import type { Lease } from "../api/types";

const LEAST_WIDTH = 0.005;

/* As parts of the bar's width. */
interface Gap {
  from: number;
  width: number;
}

export interface Piece extends Gap {
  lease: Lease;
  /* The lease's whole use beyond its share, of which this may be a part. */
  more: number;
}

/* The leases are side by side from the left; end: the end of the promised part. */
function gapsOf(leases: Lease[], end: number): Gap[] {
  let from = 0;
  const idle = leases.map((lease) => {
    const used = Math.min(lease.share_used, lease.share);
    const gap = { from: from + used, width: lease.share - used };
    from += lease.share;
    return gap;
  });
  return [{ from: end, width: 1 - end }, ...idle.sort((a, b) => b.width - a.width)]
    .filter((gap) => gap.width > LEAST_WIDTH);
}

export function beyondOf(leases: Lease[], end: number): Piece[] {
  const gaps = gapsOf(leases, end);
  const pieces: Piece[] = [];

  for (const lease of leases) {
    const more = lease.share_used - lease.share;
    let left = more;
    while (left > LEAST_WIDTH && gaps.length > 0) {
      const gap = gaps[0]!;
      const width = Math.min(left, gap.width);
      pieces.push({ lease, more, from: gap.from, width });
      left -= width;
      gap.from += width;
      gap.width -= width;
      if (gap.width <= LEAST_WIDTH) gaps.shift();
    }
  }
  return pieces;
}
