/* SPDX-License-Identifier: Apache-2.0 */
/* Limits in space: position and number of units of a part.  No I/O, no clock. */
#include "core/share/sm.h"

#include "base/units.h"

#include <assert.h>

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t end_of(const struct clv_sm *sm)
{
	return sm->first_ppm + sm->ppm;
}

static uint64_t in_common(
	const struct clv_sm *others, size_t n_others, const struct clv_sm *part)
{
	uint64_t sum_ppm = 0;

	for (size_t i = 0; i < n_others; i++) {
		uint32_t first = most(others[i].first_ppm, part->first_ppm);
		uint32_t end = least(end_of(&others[i]), end_of(part));

		sum_ppm += end > first ? end - first : 0;
	}
	return sum_ppm;
}

uint32_t clv_sm_place(const struct clv_sm *others, size_t n_others, uint32_t ppm)
{
	struct clv_sm best = {.ppm = ppm};
	uint64_t least_ppm = in_common(others, n_others, &best);

	assert(ppm <= CLV_PPM);
	/* The best start is 0, the end of another part, or where the part ends with the
	 * device. */
	for (size_t i = 0; i <= n_others; i++) {
		struct clv_sm part = {.ppm = ppm,
			.first_ppm = i < n_others ? end_of(&others[i]) : CLV_PPM - ppm};
		uint64_t common_ppm;

		if (end_of(&part) > CLV_PPM)
			continue;
		common_ppm = in_common(others, n_others, &part);
		if (common_ppm < least_ppm ||
			(common_ppm == least_ppm && part.first_ppm < best.first_ppm)) {
			least_ppm = common_ppm;
			best = part;
		}
	}
	return best.first_ppm;
}

static uint32_t counted(uint32_t ppm, uint32_t n_units, uint32_t step)
{
	return (uint32_t)((uint64_t)n_units * ppm / CLV_PPM) / step * step;
}

struct clv_sm_part clv_sm_count(
	const struct clv_sm *sm, uint32_t n_units, const struct clv_sm_steps *steps)
{
	struct clv_sm_part part = {0};
	uint32_t step = steps->step, n_whole;

	assert(step > 0);
	n_whole = n_units / step * step;
	if (sm->ppm == 0)
		return part;
	part.count = least(most(counted(sm->ppm, n_units, step), steps->least), n_whole);
	part.first = least(counted(sm->first_ppm, n_units, step), n_whole - part.count);
	return part;
}
