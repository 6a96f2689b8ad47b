/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the history for the clock, and for the rows of minutes. */
#include "agent/history/history-time.h"

#define PATIENCE_S 60
/* A gap within a block costs two bytes; a new block would waste the rest of the old one.
 */
#define GAP_MAX 1024

struct clv_history_advance clv_history_advance(int64_t last, int64_t now, uint32_t step)
{
	struct clv_history_advance ret = {.n_rows = 1};
	int64_t n;

	if (last == CLV_HISTORY_NEVER) {
		ret.begins = true;
		return ret;
	}
	n = (now - last) / step;
	if (n <= 0 && last - now <= PATIENCE_S)
		return (struct clv_history_advance){0};
	ret.begins = n <= 0 || n > GAP_MAX;
	if (ret.begins || n == 1)
		return ret;
	if (n == 2 && step == CLV_HISTORY_SECOND)
		ret.n_rows = 2;
	else
		ret.n_missing = (uint32_t)n - 1;
	return ret;
}

void clv_history_fold_clear(struct clv_history_fold *fold)
{
	*fold = (struct clv_history_fold){.minute = CLV_HISTORY_NEVER};
}

bool clv_history_fold_is_over(const struct clv_history_fold *fold, int64_t time)
{
	return fold->minute != CLV_HISTORY_NEVER &&
	       fold->minute != clv_history_floor(time, CLV_HISTORY_MINUTE);
}

void clv_history_fold_add(
	struct clv_history_fold *fold, int64_t time, const struct clv_history_row *row)
{
	fold->minute = clv_history_floor(time, CLV_HISTORY_MINUTE);
	fold->n++;
	for (unsigned int i = 0; i < _CLV_HISTORY_MEANS; i++)
		fold->sums[i] += row->values[i];
	if (row->values[CLV_HISTORY_SHARE_USED] > fold->share_used_max)
		fold->share_used_max = row->values[CLV_HISTORY_SHARE_USED];
	if (row->values[CLV_HISTORY_MEMORY_USED] > fold->memory_used_max)
		fold->memory_used_max = row->values[CLV_HISTORY_MEMORY_USED];
}

bool clv_history_fold_get(
	const struct clv_history_fold *fold, struct clv_history_row *ret)
{
	if (fold->n == 0)
		return false;
	for (unsigned int i = 0; i < _CLV_HISTORY_MEANS; i++)
		ret->values[i] = (fold->sums[i] + fold->n / 2) / fold->n;
	ret->values[CLV_HISTORY_SHARE_USED_MAX] = fold->share_used_max;
	ret->values[CLV_HISTORY_MEMORY_USED_MAX] = fold->memory_used_max;
	return true;
}
