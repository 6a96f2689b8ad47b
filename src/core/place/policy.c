/* SPDX-License-Identifier: Apache-2.0 */
/* The table of policies, and the scores that depend on a single node.  Best fit, packing,
 * dot product and clustering reproduce the simulator of "Beware of Fragmentation",
 * including its roundings, to be comparable with the published results. */
#include "core/place/policy.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "core/fleet/fleet.h"

#include <string.h>

/* The published scores are scaled by this largest node. */
#define MOST_CPU_MILLI 128000.0
#define MOST_MILLI 8000

static int32_t score_random(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	uint64_t x = view->seed * UINT64_C(0x9e3779b97f4a7c15) + view->n_decisions;

	(void)request;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9) +
	    (uint64_t)(node - view->fleet->nodes);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return (int32_t)(x >> 33);
}

static int32_t score_first(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	(void)view, (void)node, (void)request;
	return 0;
}

static int32_t score_best(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	double left = 0;

	left += (double)(node->free_cpu_milli - request->cpu_milli) / MOST_CPU_MILLI *
		0.5;
	left += ((double)node->free_milli -
			clv_fleet_request_milli(view->fleet, request)) /
		MOST_MILLI * 0.5;
	return (int32_t)((1.0 - left) * 100);
}

static int32_t score_worst(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	return -score_best(view, node, request);
}

static int32_t score_dot(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	double dot = 0;

	dot += (double)node->free_cpu_milli / MOST_CPU_MILLI *
	       ((double)request->cpu_milli / MOST_CPU_MILLI);
	dot += (double)node->free_milli / MOST_MILLI *
	       ((double)clv_fleet_request_milli(view->fleet, request) / MOST_MILLI);
	return (int32_t)(100 * (1 - dot / 2));
}

static int32_t larger(int32_t one, int32_t other)
{
	return one > other ? one : other;
}

/* Wholly free nodes score lowest, then nodes on which whole devices would be broken. */
static int32_t score_packing(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	const struct clv_fleet_device *devices =
		&view->fleet->devices[node->first_device];
	int32_t n_whole = 0, percent = 0;
	struct clv_place_at at;

	if (request->n_devices == 0)
		return 0;
	if (node->n_whole == node->n_devices)
		return larger(100 / 3 - node->n_whole, node->n_whole);
	clv_pick_devices(view->fleet, node, request, CLV_PICK_TIGHTEST, &at);
	for (uint64_t left = at.devices; left; left &= left - 1) {
		uint16_t free_milli = devices[__builtin_ctzll(left)].free_milli;

		n_whole += free_milli == CLV_PLACE_WHOLE;
		percent += free_milli * 100 / (int32_t)CLV_PLACE_WHOLE;
	}
	if (n_whole > 0)
		return larger(100 / 2 - n_whole, 100 / 3);
	return larger(100 - percent / 10, 100 / 2);
}

static unsigned size_of(const struct clv_place_request *request)
{
	if (request->n_devices == 1 && request->milli < CLV_PLACE_WHOLE)
		return 0;
	return request->n_devices == 1   ? 1
	       : request->n_devices == 2 ? 2
	       : request->n_devices <= 4 ? 3
					 : 4;
}

/* Nodes with leases of the same size score highest, and among these the ones without
 * other sizes. */
static int32_t score_clustering(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	bool has_same = node->n_leases[size_of(request)] > 0;
	int32_t n_sizes = 0, base;

	(void)view;
	if (request->n_devices == 0)
		return 0;
	for (unsigned i = 0; i < CLV_FLEET_SIZES; i++)
		n_sizes += node->n_leases[i] > 0;
	if (has_same)
		base = n_sizes == 1 ? 75 : 50;
	else
		base = n_sizes == 0 ? 25 : 0;
	return 25 * (MOST_MILLI - (int32_t)node->free_milli) / MOST_MILLI + base;
}

/* clang-format off */
const struct clv_place_policy clv_place_policies[] = {
	{.name = "random", .help = "any node that fits, by the seed",
	 .score = score_random, .pick = CLV_PICK_TIGHTEST, .is_uncacheable = true},
	{.name = "first-fit", .help = "the first node and device that fit",
	 .score = score_first, .pick = CLV_PICK_FIRST},
	{.name = "best-fit", .help = "the node with the least left over",
	 .score = score_best, .pick = CLV_PICK_TIGHTEST},
	{.name = "worst-fit", .help = "the node with the most left over",
	 .score = score_worst, .pick = CLV_PICK_LOOSEST},
	{.name = "packing", .help = "devices in use before free ones, and nodes likewise",
	 .score = score_packing, .pick = CLV_PICK_TIGHTEST},
	{.name = "dot-product", .help = "the node whose free parts are least like the request",
	 .score = score_dot, .pick = CLV_PICK_TIGHTEST},
	{.name = "clustering", .help = "nodes that have requests of the same size",
	 .score = score_clustering, .pick = CLV_PICK_TIGHTEST},
	{.name = "fgd", .help = "where the least becomes stranded for the workload",
	 .score = clv_place_score_fgd, .choose = clv_place_choose_fgd, .is_learned = true},
	{.name = "balance", .help = "the same, and processors and devices run out together",
	 .score = clv_place_score_balance, .bound = clv_place_bound_balance, .need = clv_place_need_balance,
	 .choose = clv_place_choose_balance, .is_learned = true, .keeps_room = true},
	{.name = "pwr-fgd", .help = "fgd, and where the least power is added",
	 .score = clv_place_score_fgd, .choose = clv_place_choose_fgd, .is_learned = true, .counts_power = true},
	{.name = "pwr-balance", .help = "balance, and where the least power is added",
	 .score = clv_place_score_balance, .choose = clv_place_choose_balance, .is_learned = true, .keeps_room = true,
	 .counts_power = true},
};
/* clang-format on */
const size_t clv_place_n_policies = CLV_ARRAY_SIZE(clv_place_policies);

const struct clv_place_policy *clv_place_policy_find(const char *name)
{
	for (size_t i = 0; i < clv_place_n_policies; i++) {
		if (strcmp(clv_place_policies[i].name, name) == 0)
			return &clv_place_policies[i];
	}
	return NULL;
}

void clv_place_list_policies(char *ret, size_t ret_bytes)
{
	ret[0] = '\0';
	for (size_t i = 0; i < clv_place_n_policies; i++)
		clv_text_list(ret, ret_bytes, clv_place_policies[i].name);
}
