/* SPDX-License-Identifier: Apache-2.0 */
/* The balance policy, which is of this project.  The cost of a place is the sum, in
 * thousandths of a device, of
 *
 * - what the request strands for the workload, as FGD measures it;
 * - what it puts out of balance: processors are counted as the devices that the workload
 *   would use them with, and what a node has left of one and not of the other is useless;
 * - what it takes from requests that accept few models only, by how scarce the model is;
 * - the room that it takes from requests that few nodes can take, by the probability that
 *   there is too little of it (room.h).
 *
 * There are no weights, because all four are devices lost, except that the second and
 * third count for as long as they last: in full while no lease ends.  Costs that differ
 * by less than a fiftieth of a device count as equal, so that of many good nodes the
 * first is filled. */
#include "core/place/policy.h"

#include "core/fleet/fleet.h"
#include "core/place/frag.h"
#include "core/place/prices.h"
#include "core/place/room.h"

#include <stdlib.h>

#define STEP_MILLI 20

static int64_t out_of_balance(
	const struct clv_place_view *view, int64_t cpu_milli, int64_t milli)
{
	uint32_t each = view->prices->cpu_per_device;

	return each ? llabs(cpu_milli * CLV_PLACE_WHOLE / each - milli) : 0;
}

/* The part of the gain that does not depend on the devices. */
static int64_t gain_on_node(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	int64_t milli)
{
	int64_t gain = out_of_balance(view, node->free_cpu_milli, node->free_milli);

	gain -= out_of_balance(view, (int64_t)node->free_cpu_milli - request->cpu_milli,
		node->free_milli - milli);
	gain -= milli * view->prices->wanted[node->model] / CLV_PLACE_WHOLE;
	return view->room ? gain * view->room->weight / 10 : gain;
}

static int64_t room_taken(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	uint64_t devices)
{
	struct clv_room_use use = {
		.cpu_milli = request->cpu_milli,
		.memory_mib = request->memory_mib,
		.milli = (uint32_t)request->milli * request->n_devices,
	};

	for (uint64_t left = devices; left; left &= left - 1) {
		const struct clv_fleet_device *device =
			&view->fleet->devices[node->first_device +
					      (uint32_t)__builtin_ctzll(left)];

		use.n_whole += device->free_milli == CLV_PLACE_WHOLE;
	}
	return clv_room_cost(view->room, view->fleet, node, &use);
}

/* Finds the place with the highest gain on the node. */
static int64_t find_best(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_place_at *ret_at)
{
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX];
	unsigned n = clv_frag_options(view->frag, view->fleet, node, request, options);
	int64_t milli = clv_fleet_request_milli(view->fleet, request);
	bool has_room = view->room && view->room->n_priced > 0 && !request->profile;
	int64_t most = INT64_MIN;

	for (unsigned i = 0; i < n; i++) {
		int64_t gain = options[i].gain / clv_frag_weight(view->frag);

		if (has_room)
			gain -= room_taken(view, node, request, options[i].devices);
		if (gain <= most)
			continue;
		most = gain;
		ret_at->devices = options[i].devices;
		ret_at->start = options[i].start;
	}
	return most + gain_on_node(view, node, request, milli);
}

int32_t clv_place_score_balance(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	struct clv_place_at at;
	int64_t gain = find_best(view, node, request, &at);

	/* Rounds towards minus infinity. */
	return (int32_t)((gain - (gain < 0 ? STEP_MILLI - 1 : 0)) / STEP_MILLI);
}

void clv_place_choose_balance(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_place_at *ret_at)
{
	find_best(view, node, request, ret_at);
}
