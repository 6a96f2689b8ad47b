/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/duration.h"

#include <stdint.h>

/* A histogram of durations with fixed buckets: no allocation, no lock, a few comparisons.
 * Durations that are a thousand times as long are counted in microseconds instead of
 * nanoseconds, and the bounds are multiplied by a thousand when shown. */
#define CLV_HISTOGRAM_BOUNDS 12u

static const uint64_t clv_histogram_bounds_ns[CLV_HISTOGRAM_BOUNDS] = {
	100 * CLV_NS_PER_US,
	500 * CLV_NS_PER_US,
	1 * CLV_NS_PER_MS,
	2500 * CLV_NS_PER_US,
	5 * CLV_NS_PER_MS,
	10 * CLV_NS_PER_MS,
	25 * CLV_NS_PER_MS,
	50 * CLV_NS_PER_MS,
	100 * CLV_NS_PER_MS,
	250 * CLV_NS_PER_MS,
	1 * CLV_NS_PER_S,
	10 * CLV_NS_PER_S,
};

struct clv_histogram {
	/* values up to each bound; the last one counts those above all bounds */
	uint64_t counts[CLV_HISTOGRAM_BOUNDS + 1];
	uint64_t sum_ns;
};

static inline void clv_histogram_add(struct clv_histogram *histogram, uint64_t value_ns)
{
	uint32_t at = 0;

	while (at < CLV_HISTOGRAM_BOUNDS && value_ns > clv_histogram_bounds_ns[at])
		at++;
	histogram->counts[at]++;
	histogram->sum_ns += value_ns;
}
