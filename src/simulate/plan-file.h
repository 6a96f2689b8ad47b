/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "simulate/trace.h"

/* Fleets and traces in YAML, as people write them: docs/placement.md says what may be in
 * them.  A trace lists requests, or says how they come: a generator's mix. */

#define CLV_PLAN_MIX_MAX 256

enum clv_plan_life {
	CLV_PLAN_FIXED,
	CLV_PLAN_UNIFORM, /* from 0 to twice the mean */
	CLV_PLAN_EXPONENTIAL,
	_CLV_PLAN_LIFE_MAX,
};

/* One entry of a trace: so many requests of a kind. */
struct clv_plan_entry {
	struct clv_place_request request;
	uint64_t at_ns, for_ns; /* of a list; for_ns 0: for ever */
	uint64_t count;         /* of a list: how many; of a mix: its weight */
	uint64_t n_gang;        /* so many of it at once or none; 0: one */
	bool is_of_no_model;
	char name[64];
	size_t number; /* in its list, from 0 */
	/* Of what is placed already. */
	struct clv_place_at at;
	bool is_fixed; /* it may not be moved */
};

struct clv_plan_trace {
	struct clv_plan_entry *entries;
	size_t n_entries;
	struct clv_plan_entry *placed; /* already */
	size_t n_placed;
	/* Of a mix; 0: the entries are a list. */
	double per_hour;
	uint64_t until_ns, mean_life_ns;
	enum clv_plan_life life;
};

/* Adds what the document describes. -EINVAL with the place. */
int clv_plan_read_fleet(const char *path, struct clv_fleet *fleet, struct clv_error *err);
/* For clv_plan_trace_done().  A list is sorted by when its requests come. */
int clv_plan_read_trace(const char *path, const struct clv_fleet *fleet,
	struct clv_plan_trace *ret, struct clv_error *err);
/* Puts what is placed already onto the fleet; taken is told of each lease, and may be
 * NULL.  -EINVAL: it has no room there. */
int clv_plan_take_placed(const struct clv_plan_trace *trace, struct clv_fleet *fleet,
	void (*taken)(void *userdata, const struct clv_plan_entry *entry, uint32_t lease),
	void *userdata, struct clv_error *err);
void clv_plan_trace_done(struct clv_plan_trace *trace);
