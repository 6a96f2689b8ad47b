/* SPDX-License-Identifier: Apache-2.0 */
/* Fragmentation gradient descent (FGD) as published: what the request strands, mapped to
 * 0..100 by a sigmoid and truncated to an integer.  Truncation makes many nodes equal, of
 * which the first wins.  This packs: without it the result is worse.
 *
 * With power it is PWR+FGD: a second score of 0..100 for the power that a place adds, and
 * the mean of both by the weight.  The published program scales that score by the nodes
 * that fit at the time, which makes the score of a node depend on all others; here 0 is
 * the most that the request can add on any kind of node. */
#include "core/fleet/fleet.h"
#include "core/fleet/power.h"
#include "core/place/frag.h"
#include "core/place/policy.h"

#include <math.h>

#define BEST 100

static int32_t sigmoid(const struct clv_place_view *view, int64_t gain)
{
	double devices =
		(double)gain / (double)clv_frag_weight(view->frag) / CLV_PLACE_WHOLE;

	return (int32_t)(BEST / (1 + exp(-devices)));
}

static int32_t score_power(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	uint64_t devices)
{
	uint32_t most = clv_fleet_watts_most(view->fleet, request);
	uint32_t added =
		clv_fleet_watts_added(view->fleet, node, request->cpu_milli, devices);

	return most ? (int32_t)(BEST - (uint64_t)BEST * added / most) : BEST;
}

static int32_t score_of(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	const struct clv_frag_option *option)
{
	int32_t weight = (int32_t)view->power_milli, score = sigmoid(view, option->gain);

	if (weight == 0)
		return score;
	return (1000 - weight) * score +
	       weight * score_power(view, node, request, option->devices);
}

/* The first of the places with the highest score on the node. */
static int32_t find_best(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_frag_option *ret)
{
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX];
	unsigned n = clv_frag_options(view->frag, view->fleet, node, request, options);
	int32_t most = INT32_MIN;

	for (unsigned i = 0; i < n; i++) {
		int32_t score;

		/* Without power the score only rises with the gain. */
		if (i > 0 && view->power_milli == 0 && options[i].gain <= ret->gain)
			continue;
		score = score_of(view, node, request, &options[i]);
		if (score <= most)
			continue;
		most = score;
		*ret = options[i];
	}
	return most;
}

int32_t clv_place_score_fgd(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	struct clv_frag_option best = {0};

	return find_best(view, node, request, &best);
}

void clv_place_choose_fgd(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_place_at *ret_at)
{
	struct clv_frag_option best = {0};

	find_best(view, node, request, &best);
	ret_at->devices = best.devices;
	ret_at->start = best.start;
}
