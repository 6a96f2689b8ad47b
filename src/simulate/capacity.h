/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "simulate/runs.h"

struct clv_fleet_node_spec;

/* How many nodes of one kind a trace needs, for so much of it to be accepted. */

#define CLV_CAPACITY_POINTS_MAX 64

struct clv_capacity_point {
	uint32_t n_nodes;
	double accepted; /* 0..1 */
};

struct clv_capacity {
	uint32_t n_nodes; /* 0: no number of them will do */
	double most_accepted;
	/* What was tried, by number of nodes: the curve. */
	struct clv_capacity_point points[CLV_CAPACITY_POINTS_MAX];
	unsigned n_points;
};

/* runs: its path and options say what is played, which must not be filled up; the fleet
 * of its first run, what schemes there are.  most_nodes: where to give up. */
int clv_capacity_find(const struct clv_runs *runs, const struct clv_place_policy *policy,
	const struct clv_fleet_node_spec *kind, double accepted, uint32_t most_nodes,
	struct clv_capacity *ret, struct clv_error *err);

/* The different kinds of node that a fleet has, at most n_max.  Names are borrowed from
 * the fleet. */
size_t clv_capacity_kinds(
	const struct clv_fleet *fleet, struct clv_fleet_node_spec *ret, size_t n_max);
