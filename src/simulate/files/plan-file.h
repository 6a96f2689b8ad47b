/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

struct clv_node_notes;

/* Fleets and traces in YAML; docs/placement.md describes the format.  A trace is a list
 * of requests, or a mix from which a generator draws them. */

enum clv_plan_life {
	CLV_PLAN_FIXED,
	CLV_PLAN_UNIFORM, /* from 0 to twice the mean */
	CLV_PLAN_EXPONENTIAL,
	_CLV_PLAN_LIFE_MAX,
};

/* One entry of a trace: requests of one kind. */
struct clv_plan_entry {
	struct clv_place_request request;
	uint64_t at_ns, for_ns; /* of a list; for_ns 0: forever */
	uint64_t count;         /* of a list: how many; of a mix: its weight */
	uint64_t n_gang;        /* size of the gang, placed all or none; 0: no gang */
	uint32_t priority;
	bool is_of_no_model;
	char name[64];
	size_t number; /* index in its list */
	/* Only for entries that are placed at the start. */
	struct clv_place_at at;
	bool is_fixed; /* must not be moved */
};

struct clv_plan_trace {
	struct clv_plan_entry *entries;
	size_t n_entries;
	struct clv_plan_entry *placed; /* placed at the start */
	size_t n_placed;
	/* Of a mix; per_hour 0: the entries are a list. */
	double per_hour;
	uint64_t until_ns, mean_life_ns;
	enum clv_plan_life life;
};

/* Adds the nodes of the document, and what else it says of them to notes, which may be
 * NULL.  -EINVAL with line and column. */
int clv_plan_read_fleet(const char *path, struct clv_fleet *fleet,
	struct clv_node_notes *notes, struct clv_error *err);
/* Reads a trace, which clv_plan_trace_done() frees.  A list is sorted by arrival. */
int clv_plan_read_trace(const char *path, const struct clv_fleet *fleet,
	struct clv_plan_trace *ret, struct clv_error *err);
/* Takes the places of trace->placed in the fleet.  taken is called for each lease, and
 * may be NULL.  -EINVAL: one has no room. */
int clv_plan_take_placed(const struct clv_plan_trace *trace, struct clv_fleet *fleet,
	void (*taken)(void *userdata, const struct clv_plan_entry *entry, uint32_t lease),
	void *userdata, struct clv_error *err);
void clv_plan_trace_done(struct clv_plan_trace *trace);
