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

/* Usage by lease, device and tenant: counters since the agent's start, which only grow,
 * and the rates of the last second.  History and metrics are derived from these.  Loop
 * thread only. */

/* The usage of more tenants than this on a node is not counted. */
#define CLV_USAGE_TENANTS_MAX 1024u

struct clv_usage_tenant {
	uid_t uid; /* the owner of its leases, as clv_owner_of() */
	char name[64];
	struct clv_usage usage;
	struct clv_usage_idle idle;
};

struct clv_usage_book;

struct clv_usage_book *clv_usage_new(struct clv_agent *agent);
struct clv_usage_book *clv_usage_free(struct clv_usage_book *book);

/* Begins the sums of a second.  If leases have changed: begin() with empty sums,
 * add_idle() for each lease without processes, keep_idle() to save the sums.  Otherwise:
 * begin_as_kept() with the saved sums. */
void clv_usage_begin(struct clv_usage_book *book);
void clv_usage_add_idle(struct clv_usage_book *book, struct clv_lease *lease);
void clv_usage_save_idle(struct clv_usage_book *book);
void clv_usage_begin_from_saved(struct clv_usage_book *book);
/* Then adds each lease with processes, by its sample. */
void clv_usage_add(struct clv_usage_book *book, struct clv_lease *lease,
	const struct clv_arbiter_sample *sample);

/* Adds what an ending lease has used since its last sample. */
void clv_usage_end(struct clv_usage_book *book, struct clv_lease *lease);

/* NULL: `at` is not below the number of tenants. */
struct clv_usage_tenant *clv_usage_tenant_at(
	const struct clv_usage_book *book, size_t at);
