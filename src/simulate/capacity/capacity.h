/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "simulate/runs.h"

/* Finds the cheapest nodes, of several kinds together, on which a part of a trace is
 * accepted.  The search is a heuristic: it proves what it finds, and not that nothing is
 * cheaper. */

#define CLV_CAPACITY_KINDS_MAX 32

struct clv_capacity_kind {
	struct clv_fleet_node_spec spec; /* names are borrowed */
	double price;                    /* of a node, more than 0 */
	uint32_t n_nodes;                /* the result */
};

struct clv_capacity {
	bool is_found;
	double accepted; /* 0..1; if nothing was found, the most that was possible */
	double cost;     /* of all nodes */
	unsigned n_trials;
};

struct clv_capacity_search {
	/* Path, options, queue and moves of the replays.  The trace must not be filled
	 * up. */
	const struct clv_runs *like;
	const struct clv_fleet *fleet; /* has the schemes */
	const struct clv_place_policy *policy;
	struct clv_capacity_kind *kinds;
	size_t n_kinds;
	double accepted;      /* the target, 0..1 */
	uint32_t most_nodes;  /* of one kind */
	unsigned most_trials; /* replays */
	/* May be NULL.  Called every tenth of a second with the replays so far, the part
	 * of the present ones, and the lowest cost so far, or 0. */
	void (*trying)(void *userdata, unsigned n_trials, double part, double cost);
	void *userdata;
};

/* Fills n_nodes of the kinds.  Returns 0, also if no numbers suffice; else an error of
 * the trace, or -ENOMEM. */
int clv_capacity_find(const struct clv_capacity_search *search, struct clv_capacity *ret,
	struct clv_error *err);

/* Lists the distinct kinds of nodes in a fleet.  prices: by node, or NULL; without a
 * price a node costs as much as it has devices, and at least 1.  -E2BIG: more than
 * CLV_CAPACITY_KINDS_MAX; else their number. */
int clv_capacity_kinds(const struct clv_fleet *fleet, const double *prices,
	struct clv_capacity_kind ret[CLV_CAPACITY_KINDS_MAX]);
/* What a node of the fleet was added with.  The name is borrowed. */
struct clv_fleet_node_spec clv_capacity_spec_of(
	const struct clv_fleet *fleet, uint32_t node);
