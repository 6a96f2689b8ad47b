/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/event-record.h"
#include "base/histogram.h"

#include <stddef.h>
#include <stdint.h>

/* What the agent counts of itself, from its start on.  Loop thread only. */

/* The statuses that the API answers with; the last stands for all others. */
#define CLV_COUNTED_STATUSES 16u
extern const unsigned int clv_counted_statuses[CLV_COUNTED_STATUSES];

struct clv_route_counters {
	uint64_t statuses[CLV_COUNTED_STATUSES];
	struct clv_histogram busy; /* the loop was, without what a request waited */
};

enum clv_counted_result {
	CLV_COUNTED_DONE,
	CLV_COUNTED_FAILED,
	CLV_COUNTED_ROLLED_BACK,
	_CLV_COUNTED_RESULT_MAX,
};

struct clv_counters {
	uint64_t events[_CLV_EVENT_TYPE_MAX];
	uint64_t operations[_CLV_COUNTED_RESULT_MAX];
	struct clv_histogram applies; /* in microseconds instead of nanoseconds */
	size_t n_routes;              /* one more than there are: what has none */
	struct clv_route_counters routes[];
};

/* For so many routes.  NULL without memory. */
struct clv_counters *clv_counters_new(size_t n_routes);

/* A request that has its answer.  route: the number of its route, n_routes or more if it
 * has none. */
void clv_counters_note(struct clv_counters *counters, size_t route, unsigned int status,
	uint64_t busy_ns);
