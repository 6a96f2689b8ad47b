/* SPDX-License-Identifier: Apache-2.0 */
/* Where a bar shows what leases take beyond their shares: in what is promised to nobody, and
 * in what others leave idle of theirs. */
import type { Lease } from "../api/types";

const LEAST_WIDTH = 0.005;

/* As parts of the bar's width. */
interface Gap {
  from: number;
  width: number;
}

export interface Piece extends Gap {
  lease: Lease;
  /* All that it takes beyond, of which this may be a part. */
  more: number;
}

/* The leases lie side by side from the left; end: where what is promised ends. */
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
