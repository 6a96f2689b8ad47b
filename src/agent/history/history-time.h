/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/history/history-rows.h"

/* The rules for the moments of rows, and the sums of seconds to minutes.  Pure.  The time
 * is wall-clock time, because queries use it: it may stop, jump ahead and go back. */

#define CLV_HISTORY_NEVER INT64_MIN

struct clv_history_advance {
	uint32_t n_missing; /* moments without a row, to be skipped first */
	uint32_t n_rows;    /* then this many times the new row; 0: none this time */
	bool begins; /* a new block begins: the row does not continue the last one */
};

/* last: the moment of the last row (CLV_HISTORY_NEVER: none); now: that of the new one;
 * both multiples of step.
 *
 * The agent's seconds are a little longer than the clock's: a single second without a row
 * gets the next one.  More of them stay without rows.  If the clock has gone back, no row
 * is written for up to a minute until it has caught up; if it went back further, a new
 * block begins. */
struct clv_history_advance clv_history_advance(int64_t last, int64_t now, uint32_t step);

/* The sums over the seconds of one minute. */
struct clv_history_fold {
	int64_t minute; /* its first second; CLV_HISTORY_NEVER: none is begun */
	uint32_t n;
	uint64_t sums[_CLV_HISTORY_MEANS];
	uint64_t share_used_max, memory_used_max;
};

void clv_history_fold_clear(struct clv_history_fold *fold);

/* Whether a second of this time belongs to another minute than the current one. */
bool clv_history_fold_is_over(const struct clv_history_fold *fold, int64_t time);

void clv_history_fold_add(
	struct clv_history_fold *fold, int64_t time, const struct clv_history_row *row);

/* The row of the minute: means over its seconds, and maxima.  False: it has no second. */
bool clv_history_fold_get(
	const struct clv_history_fold *fold, struct clv_history_row *ret);

/* Rounds time down to a multiple of step. */
static inline int64_t clv_history_floor(int64_t time, uint32_t step)
{
	return time - ((time % step) + step) % step;
}
