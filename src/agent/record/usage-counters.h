/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/histogram.h"

#include <stdint.h>

struct clv_history_series;
struct clv_usage_tenant;

/* What a lease, a device or a tenant has used; agent/history/usage.h fills it in. */

enum clv_history_column {
	CLV_HISTORY_SHARE_USED,
	CLV_HISTORY_SHARE_PROMISED,
	CLV_HISTORY_MEMORY_USED,
	CLV_HISTORY_MEMORY_QUOTA,
	CLV_HISTORY_WAITING,
	CLV_HISTORY_THROTTLED,
	_CLV_HISTORY_MEANS,
	/* Only in rows of minutes, whose means hide peaks. */
	CLV_HISTORY_SHARE_USED_MAX = _CLV_HISTORY_MEANS,
	CLV_HISTORY_MEMORY_USED_MAX,
	_CLV_HISTORY_COLUMN_MAX,
};

/* Whole numbers; clv_history_columns has their units. */
struct clv_history_row {
	uint64_t values[_CLV_HISTORY_COLUMN_MAX];
};

enum clv_usage_counter {
	CLV_USAGE_HELD_NS,
	CLV_USAGE_THROTTLED_NS,
	CLV_USAGE_WAITING_NS,
	CLV_USAGE_TURNS,
	CLV_USAGE_REVOCATIONS,
	CLV_USAGE_OVERDUE,
	CLV_USAGE_REFUSED,
	CLV_USAGE_WAIT_SUM_NS,
	CLV_USAGE_WAITS, /* the first bucket of the histogram; the others follow */
	_CLV_USAGE_MAX = CLV_USAGE_WAITS + CLV_HISTOGRAM_BOUNDS + 1,
};

struct clv_usage {
	uint64_t counts[_CLV_USAGE_MAX];   /* they only grow */
	struct clv_history_row now;        /* of the last second */
	struct clv_history_series *series; /* NULL: no row was written yet */
	uint32_t n_leases, n_queued;       /* of a device or tenant */
};

/* Of a device or tenant: the part of the row that comes from leases without attached
 * processes, which is summed up only after a change. */
struct clv_usage_idle {
	struct clv_history_row row;
	uint32_t n_leases, n_queued;
};

struct clv_lease_usage {
	struct clv_usage usage;
	uint64_t seen[_CLV_USAGE_MAX]; /* the arbiter's counters at seen_ns */
	uint64_t seen_ns;              /* time of the last sample; 0: none */
	int64_t lag_ns;
	struct clv_usage_tenant *tenant; /* NULL: not looked up, or too many exist */
};
