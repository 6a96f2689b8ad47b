/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/history-rows.h"
#include "base/histogram.h"

#include <stdint.h>
#include <sys/types.h>

struct clv_agent;
struct clv_agent_device;
struct clv_arbiter_sample;
struct clv_history_series;
struct clv_lease;

/* What was used, by lease, device and tenant: counters that only grow, from this agent's
 * start on, and the rates of the last second.  History and metrics are made of these.
 * Loop thread only. */

enum clv_usage_counter {
	CLV_USAGE_HELD_NS,
	CLV_USAGE_THROTTLED_NS,
	CLV_USAGE_WAITING_NS,
	CLV_USAGE_TURNS,
	CLV_USAGE_REVOCATIONS,
	CLV_USAGE_OVERDUE,
	CLV_USAGE_REFUSED,
	CLV_USAGE_WAIT_SUM_NS,
	CLV_USAGE_WAITS, /* the first bucket, and so on */
	_CLV_USAGE_MAX = CLV_USAGE_WAITS + CLV_HISTOGRAM_BOUNDS + 1,
};

struct clv_usage {
	uint64_t counts[_CLV_USAGE_MAX];
	struct clv_history_row now;
	struct clv_history_series *series; /* NULL: none yet */
	uint32_t n_leases, n_queued;       /* of a device or tenant */
};

/* Of a device or tenant: the part of its rates that leases with nothing in them have. */
struct clv_usage_idle {
	struct clv_history_row row;
	uint32_t n_leases, n_queued;
};

struct clv_lease_usage {
	struct clv_usage usage;
	uint64_t seen[_CLV_USAGE_MAX];
	uint64_t seen_ns; /* 0: never */
	int64_t lag_ns;
	struct clv_usage_tenant *tenant; /* NULL: not known yet, or there are too many */
};

/* More users than this on one node are not told apart. */
#define CLV_USAGE_TENANTS_MAX 1024u

struct clv_usage_tenant {
	uid_t uid; /* its owner, as clv_owner_of() has it */
	char name[64];
	struct clv_usage usage;
	struct clv_usage_idle idle;
};

struct clv_usage_book;

struct clv_usage_book *clv_usage_new(struct clv_agent *agent);
struct clv_usage_book *clv_usage_free(struct clv_usage_book *book);

/* Once a second, first: where leases have changed, from nothing, then those with nothing
 * in them, and keep; else as they were kept. */
void clv_usage_begin(struct clv_usage_book *book);
void clv_usage_add_idle(struct clv_usage_book *book, struct clv_lease *lease);
void clv_usage_keep_idle(struct clv_usage_book *book);
void clv_usage_begin_as_kept(struct clv_usage_book *book);
/* Then each of the others with its sample. */
void clv_usage_add(struct clv_usage_book *book, struct clv_lease *lease,
	const struct clv_arbiter_sample *sample);

/* A lease that ends: what it used since its last sample is not lost. */
void clv_usage_end(struct clv_usage_book *book, struct clv_lease *lease);

/* NULL behind the last. */
struct clv_usage_tenant *clv_usage_tenant_at(
	const struct clv_usage_book *book, size_t at);
