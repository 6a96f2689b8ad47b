/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/events.h"
#include "base/histogram.h"

#include <stddef.h>
#include <stdint.h>

struct clv_request;

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
	uint64_t state_errors;
	size_t n_routes; /* one more than there are: what has none */
	struct clv_route_counters routes[];
};

/* NULL without memory. */
struct clv_counters *clv_counters_new(void);

/* A request that has its answer. */
void clv_counters_note(struct clv_counters *counters, const struct clv_request *request);
