/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles the number of nodes until it suffices, then bisects.  More nodes almost never
 * accept less (a policy may do better by chance), so the result is the smallest number
 * that was found to suffice. */
#include "simulate/capacity.h"
#include "core/fleet/fleet.h"
#include "core/place/policy.h"
#include "simulate/replay.h"

#include <errno.h>
#include <string.h>

static int fleet_of(const struct clv_fleet *like, const struct clv_fleet_node_spec *kind,
	uint32_t n, struct clv_fleet **ret, struct clv_error *err)
{
	struct clv_fleet *fleet = clv_fleet_new();
	int r = fleet ? 0 : clv_error_errno(err, ENOMEM, "cannot create a fleet");

	for (uint32_t i = 0; r == 0 && i < like->n_schemes; i++)
		r = clv_fleet_add_scheme(fleet, &like->schemes[i]) < 0 ? -ENOMEM : 0;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = clv_fleet_add_node(fleet, kind, err);
	if (r < 0) {
		clv_fleet_free(fleet);
		return r;
	}
	*ret = fleet;
	return 0;
}

struct trial {
	const struct clv_capacity_search *search;
	uint32_t n_nodes;
};

static void tick(void *userdata, double part)
{
	const struct trial *trial = userdata;

	if (trial->search->trying)
		trial->search->trying(trial->search->userdata, trial->n_nodes, part);
}

struct result {
	double accepted;
	double possible; /* the rest is of no model, or too large for an empty node */
};

/* Replays the trace on n nodes. */
static int try_nodes(const struct clv_capacity_search *search, uint32_t n,
	struct clv_capacity *capacity, struct result *ret, struct clv_error *err)
{
	const struct clv_runs *like = search->runs;
	struct trial trial = {search, n};
	struct clv_run run = {.policy = search->policy};
	struct clv_runs runs = {
		.trace_path = like->trace_path,
		.options = like->options,
		.runs = &run,
		.n_runs = 1,
		.most_moves = like->most_moves,
	};
	const struct clv_replay_counts *counts;
	int r = fleet_of(like->runs[0].fleet, search->kind, n, &run.fleet, err);

	tick(&trial, 0);
	runs.options.was_read = capacity->n_points > 0;
	if (r == 0)
		r = clv_runs_learn(&runs, run.fleet, err);
	if (r == 0)
		r = clv_runs_play(&runs, tick, &trial, err);
	if (r == 0) {
		counts = clv_replay_counts(run.replay);
		ret->accepted = (double)counts->placed / (double)counts->arrived;
		ret->possible = 1 - (double)(counts->of_no_model + counts->too_large) /
					    (double)counts->arrived;
		if (ret->accepted > capacity->most_accepted)
			capacity->most_accepted = ret->accepted;
		if (capacity->n_points < CLV_CAPACITY_POINTS_MAX)
			capacity->points[capacity->n_points++] =
				(struct clv_capacity_point){n, ret->accepted};
	}
	clv_runs_done(&runs);
	return r;
}

static void sort_points(struct clv_capacity *capacity)
{
	for (unsigned i = 1; i < capacity->n_points; i++) {
		struct clv_capacity_point point = capacity->points[i];
		unsigned at = i;

		for (; at > 0 && capacity->points[at - 1].n_nodes > point.n_nodes; at--)
			capacity->points[at] = capacity->points[at - 1];
		capacity->points[at] = point;
	}
}

int clv_capacity_find(const struct clv_capacity_search *search, struct clv_capacity *ret,
	struct clv_error *err)
{
	double accepted = search->accepted;
	struct clv_capacity capacity = {0};
	uint32_t low = 0, high = 1;
	struct result now = {0};
	int r;

	for (;; high *= 2) {
		if (high > search->most_nodes)
			high = search->most_nodes;
		r = try_nodes(search, high, &capacity, &now, err);
		if (r < 0 || now.accepted >= accepted || high == search->most_nodes)
			break;
		/* Without this the search would replay up to the most nodes. */
		if (now.possible < accepted) {
			capacity.most_accepted = now.possible;
			break;
		}
		low = high;
	}
	while (r == 0 && now.accepted >= accepted && high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		struct result there = {0};

		r = try_nodes(search, middle, &capacity, &there, err);
		if (there.accepted >= accepted)
			high = middle;
		else
			low = middle;
	}
	if (r < 0)
		return r;
	capacity.n_nodes = now.accepted >= accepted ? high : 0;
	sort_points(&capacity);
	*ret = capacity;
	return 0;
}

static bool is_alike(
	const struct clv_fleet_node_spec *one, const struct clv_fleet_node_spec *other)
{
	return strcmp(one->model, other->model) == 0 &&
	       one->cpu_milli == other->cpu_milli &&
	       one->memory_mib == other->memory_mib &&
	       one->device_mib == other->device_mib &&
	       one->n_devices == other->n_devices && one->n_numa == other->n_numa &&
	       one->scheme == other->scheme;
}

size_t clv_capacity_kinds(
	const struct clv_fleet *fleet, struct clv_fleet_node_spec *ret, size_t n_max)
{
	size_t n = 0;

	for (uint32_t i = 0; i < fleet->n_nodes && n < n_max; i++) {
		const struct clv_fleet_node *node = &fleet->nodes[i];
		const struct clv_fleet_device *devices =
			&fleet->devices[node->first_device];
		struct clv_fleet_node_spec kind = {
			.model = fleet->models[node->model],
			.cpu_milli = node->cpu_milli,
			.memory_mib = node->memory_mib,
			.n_devices = node->n_devices,
		};
		size_t k = 0;

		if (node->n_devices == 0)
			continue;
		kind.device_mib = devices[0].memory_mib;
		kind.scheme = devices[0].scheme;
		kind.n_numa = (uint8_t)(devices[node->n_devices - 1].numa + 1);
		while (k < n && !is_alike(&ret[k], &kind))
			k++;
		if (k == n)
			ret[n++] = kind;
	}
	return n;
}
