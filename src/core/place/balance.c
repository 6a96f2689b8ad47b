/* SPDX-License-Identifier: Apache-2.0 */
/* The balance policy, which is of this project.  The cost of a place is the sum, in
 * thousandths of a device, of
 *
 * - what the request strands for the workload, as FGD measures it;
 * - what it puts out of balance: processors are counted as the devices that the workload
 *   would use them with, and what a node has left of one and not of the other is useless;
 * - what it takes from requests that accept few models only, by how scarce the model is.
 *
 * There are no weights, because all three are devices lost, and no parameters, because
 * all figures come from the fleet and the workload.  Costs that differ by less than a
 * fiftieth of a device count as equal, so that of many good nodes the first is filled. */
#include "core/place/policy.h"

#include "core/fleet/fleet.h"
#include "core/place/frag.h"
#include "core/place/prices.h"

#include <stdlib.h>

#define STEP_MILLI 20

static int64_t out_of_balance(
	const struct clv_place_view *view, int64_t cpu_milli, int64_t milli)
{
	uint32_t each = view->prices->cpu_per_device;

	return each ? llabs(cpu_milli * CLV_PLACE_WHOLE / each - milli) : 0;
}

static int64_t gain_of(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	int64_t least_stranded)
{
	int64_t milli = clv_fleet_request_milli(view->fleet, request);
	int64_t gain = least_stranded / clv_frag_weight(view->frag);

	gain += out_of_balance(view, node->free_cpu_milli, node->free_milli);
	gain -= out_of_balance(view, (int64_t)node->free_cpu_milli - request->cpu_milli,
		node->free_milli - milli);
	return gain - milli * view->prices->wanted[node->model] / CLV_PLACE_WHOLE;
}

static unsigned best_of(const struct clv_frag_option *options, unsigned n)
{
	unsigned best = 0;

	for (unsigned i = 1; i < n; i++) {
		if (options[i].gain > options[best].gain)
			best = i;
	}
	return best;
}

int32_t clv_place_score_balance(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX];
	unsigned n = clv_frag_options(view->frag, view->fleet, node, request, options);
	int64_t gain = gain_of(view, node, request, options[best_of(options, n)].gain);

	/* Rounds towards minus infinity. */
	return (int32_t)((gain - (gain < 0 ? STEP_MILLI - 1 : 0)) / STEP_MILLI);
}

void clv_place_choose_balance(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_place_at *ret_at)
{
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX];
	unsigned n = clv_frag_options(view->frag, view->fleet, node, request, options);
	unsigned best = best_of(options, n);

	ret_at->devices = options[best].devices;
	ret_at->start = options[best].start;
}
