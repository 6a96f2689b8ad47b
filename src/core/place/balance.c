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
 * and with a policy that counts power, the power that it adds, by the weight of power
 * over that of devices, where the power of the mean device counts as a device.
 *
 * The four have no weights, because all are devices lost, except that the second and
 * third count for as long as they last: in full while no lease ends.  Costs that differ
 * by less than a fiftieth of a device count as equal, so that of many good nodes the
 * first is filled. */
#include "core/place/policy.h"

#include "core/fleet/fleet.h"
#include "core/fleet/power.h"
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
	unsigned n_whole)
{
	struct clv_room_use use = {
		.cpu_milli = request->cpu_milli,
		.memory_mib = request->memory_mib,
		.milli = (uint32_t)request->milli * request->n_devices,
		.n_whole = n_whole,
	};

	if (!view->room || view->room->n_priced == 0 || request->profile)
		return 0;
	return clv_room_cost(view->room, view->fleet, node, &use);
}

static unsigned count_whole(const struct clv_place_view *view,
	const struct clv_fleet_node *node, uint64_t devices)
{
	unsigned n = 0;

	for (; devices; devices &= devices - 1) {
		const struct clv_fleet_device *device =
			&view->fleet->devices[node->first_device +
					      (uint32_t)__builtin_ctzll(devices)];

		n += device->free_milli == CLV_PLACE_WHOLE;
	}
	return n;
}

static int64_t power_cost(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	uint64_t devices)
{
	uint32_t weight = view->power_milli < 1000 ? view->power_milli : 999;
	uint64_t added =
		clv_fleet_watts_added(view->fleet, node, request->cpu_milli, devices);

	return (int64_t)(added * CLV_PLACE_WHOLE * weight / (1000 - weight) /
			 view->device_w);
}

/* Finds the place with the highest gain on the node. */
static int64_t find_best(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_place_at *ret_at)
{
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX];
	unsigned n = clv_frag_options(view->frag, view->fleet, node, request, options);
	int64_t milli = clv_fleet_request_milli(view->fleet, request);
	int64_t most = INT64_MIN;

	for (unsigned i = 0; i < n; i++) {
		int64_t gain = options[i].gain / clv_frag_weight(view->frag);

		gain -= room_taken(
			view, node, request, count_whole(view, node, options[i].devices));
		if (view->power_milli)
			gain -= power_cost(view, node, request, options[i].devices);
		if (gain <= most)
			continue;
		most = gain;
		ret_at->devices = options[i].devices;
		ret_at->start = options[i].start;
	}
	return most + gain_on_node(view, node, request, milli);
}

/* Rounds towards minus infinity. */
static int64_t quotient(int64_t value, int64_t divisor)
{
	return (value - (value < 0 ? divisor - 1 : 0)) / divisor;
}

int32_t clv_place_score_balance(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	struct clv_place_at at;

	return (int32_t)quotient(find_best(view, node, request, &at), STEP_MILLI);
}

void clv_place_choose_balance(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_place_at *ret_at)
{
	find_best(view, node, request, ret_at);
}

int64_t clv_place_spare(
	const struct clv_place_view *view, const struct clv_fleet_node *node)
{
	uint32_t each = view->prices->cpu_per_device;

	return (each ? (int64_t)node->free_cpu_milli * CLV_PLACE_WHOLE / each : 0) -
	       node->free_milli;
}

/* The room costs least where a share breaks no wholly free device. */
int32_t clv_place_bound_balance(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	uint32_t least_milli)
{
	int64_t gain =
		clv_frag_most(view->frag, view->fleet, request,
			UINT64_C(1) << node->model, node->free_cpu_milli, least_milli) /
		clv_frag_weight(view->frag);

	gain += gain_on_node(
		view, node, request, clv_fleet_request_milli(view->fleet, request));
	gain -= room_taken(view, node, request,
		least_milli >= CLV_PLACE_WHOLE || request->milli == CLV_PLACE_WHOLE
			? request->n_devices
			: 0);
	return (int32_t)quotient(gain, STEP_MILLI);
}

/* With `excess` the spare processors that the request takes, a node's balance improves by
 * |spare| - |spare - excess|: by the whole excess if the node has so much to spare, by
 * less with less.  Rounding may add 1 to the excess. */
struct clv_place_need clv_place_need_balance(const struct clv_place_view *view,
	const struct clv_place_request *request, uint32_t least_milli, int32_t score)
{
	struct clv_place_need need = {.least_spare = INT64_MIN, .most_spare = INT64_MAX};
	int64_t weight = view->room ? view->room->weight : 10;
	int64_t gain = clv_frag_most(view->frag, view->fleet, request, request->models,
			       request->cpu_milli, least_milli) /
		       clv_frag_weight(view->frag);
	uint32_t each = view->prices->cpu_per_device;
	int64_t excess = 0, improves;

	if (each)
		excess = (int64_t)request->cpu_milli * CLV_PLACE_WHOLE / each -
			 clv_fleet_request_milli(view->fleet, request);
	need.most_score = (int32_t)quotient(
		gain + (each ? (llabs(excess) + 1) * weight / 10 : 0), STEP_MILLI);
	improves = quotient(((int64_t)score * STEP_MILLI - gain - 1) * 10, weight);
	if (excess > 0 && improves > -excess)
		need.least_spare = quotient(improves + excess, 2) - 1;
	if (excess < -1 && improves > excess)
		need.most_spare = quotient(excess + 1 - improves, 2) + 1;
	return need;
}
