/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/event-record.h"
#include "base/histogram.h"

#include <stddef.h>
#include <stdint.h>

/* Counters of the agent itself since its start, for the metrics.  Loop thread only. */

/* The statuses of the API's answers; the last entry, 0, counts all others. */
#define CLV_COUNTED_STATUSES 16u
extern const unsigned int clv_counted_statuses[CLV_COUNTED_STATUSES];

struct clv_route_counters {
	uint64_t statuses[CLV_COUNTED_STATUSES];
	struct clv_histogram busy; /* time in the loop, without waits */
};

enum clv_counted_result {
	CLV_COUNTED_DONE,
	CLV_COUNTED_FAILED,
	CLV_COUNTED_ROLLED_BACK,
	_CLV_COUNTED_RESULT_MAX,
};

/* Why a connection was closed. */
enum clv_counted_limit {
	CLV_COUNTED_OF_USER,    /* the user, or the token, has too many */
	CLV_COUNTED_OF_ADDRESS, /* the address has too many without a token */
	CLV_COUNTED_OF_ALL,     /* the server has too many */
	_CLV_COUNTED_LIMIT_MAX,
};

struct clv_counters {
	uint64_t limited[_CLV_COUNTED_LIMIT_MAX]; /* connections closed for a limit */
	uint64_t events[_CLV_EVENT_TYPE_MAX];
	uint64_t operations[_CLV_COUNTED_RESULT_MAX];
	struct clv_histogram applies; /* durations of operations; in us, not ns */
	size_t n_routes; /* with one more at the end, for requests without a route */
	struct clv_route_counters routes[];
};

/* NULL: out of memory. */
struct clv_counters *clv_counters_new(size_t n_routes);

/* Counts an answered request.  route: the number of its route; any number out of range if
 * it has none. */
void clv_counters_add_request(struct clv_counters *counters, size_t route,
	unsigned int status, uint64_t busy_ns);
