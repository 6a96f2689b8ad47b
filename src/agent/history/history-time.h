/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/history/history-rows.h"

/* When rows are written, and how seconds become minutes.  Pure: the wall clock is an
 * argument, because queries use it, and it stops, jumps ahead and goes back.
 */

#define CLV_HISTORY_NEVER INT64_MIN

struct clv_history_advance {
	uint32_t n_missing; /* moments without a row, to be skipped first */
	uint32_t n_rows;    /* then the same row so many times; 0: none this time */
	bool begins;        /* in a new block: it does not go on from the one before */
};

/* last: the moment of the last row (CLV_HISTORY_NEVER: none); now: that of the new one;
 * both multiples of step.
 *
 * A second that was left out, since the agent's seconds are a little longer than the
 * clock's, has the row of the next one.  After a longer time it is missing.  A clock that
 * went back is waited for, for a minute; if it went back further, time begins anew. */
struct clv_history_advance clv_history_advance(int64_t last, int64_t now, uint32_t step);

/* Seconds that become a minute. */
struct clv_history_fold {
	int64_t minute; /* its first second; CLV_HISTORY_NEVER: none is begun */
	uint32_t n;
	uint64_t sums[_CLV_HISTORY_MEANS];
	uint64_t share_used_max, memory_used_max;
};

void clv_history_fold_clear(struct clv_history_fold *fold);

/* Whether a second of this time belongs to another minute than the one that is begun. */
bool clv_history_fold_is_over(const struct clv_history_fold *fold, int64_t time);

void clv_history_fold_add(
	struct clv_history_fold *fold, int64_t time, const struct clv_history_row *row);

/* The minute: means of the seconds that there were, and maxima.  False: there were none.
 */
bool clv_history_fold_get(
	const struct clv_history_fold *fold, struct clv_history_row *ret);

/* The moment that time is in, of so many seconds. */
static inline int64_t clv_history_floor(int64_t time, uint32_t step)
{
	return time - ((time % step) + step) % step;
}
