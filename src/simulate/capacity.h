/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "simulate/runs.h"

struct clv_fleet_node_spec;

/* Finds how many nodes of one kind a trace needs for a given part of it to be
 * accepted. */

#define CLV_CAPACITY_POINTS_MAX 64

struct clv_capacity_point {
	uint32_t n_nodes;
	double accepted; /* 0..1 */
};

struct clv_capacity {
	uint32_t n_nodes; /* 0: no number up to the maximum suffices */
	/* If none suffices: of the numbers tried, or, where a part of the requests fits
	 * on no node of this kind, the most that any number could accept. */
	double most_accepted;
	/* The numbers of nodes that were tried, ascending: the curve. */
	struct clv_capacity_point points[CLV_CAPACITY_POINTS_MAX];
	unsigned n_points;
};

struct clv_capacity_search {
	/* Path and options of the trace, which must not be filled up; the fleet of the
	 * first run has the schemes. */
	const struct clv_runs *runs;
	const struct clv_place_policy *policy;
	const struct clv_fleet_node_spec *kind;
	double accepted;     /* 0..1 */
	uint32_t most_nodes; /* the upper bound of the search */
	/* May be NULL.  Before a number of nodes is tried (part 0), and while it is,
	 * every tenth of a second. */
	void (*trying)(void *userdata, uint32_t n_nodes, double part);
	void *userdata;
};
int clv_capacity_find(const struct clv_capacity_search *search, struct clv_capacity *ret,
	struct clv_error *err);

/* Lists the distinct kinds of nodes with devices in a fleet, at most n_max.  Names are
 * borrowed from the fleet. */
size_t clv_capacity_kinds(
	const struct clv_fleet *fleet, struct clv_fleet_node_spec *ret, size_t n_max);
