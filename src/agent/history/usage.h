/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/usage-counters.h"

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

/* More users than this on one node are not distinguished. */
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
