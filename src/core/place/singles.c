/* SPDX-License-Identifier: Apache-2.0 */
/* Each device is a node of a fleet, in the same order. */
#include "core/place/singles.h"

#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/frag.h"
#include "core/place/policy.h"
#include "core/place/prices.h"

#include <errno.h>
#include <stdlib.h>

#define POLICY "balance"

struct clv_singles {
	const struct clv_place_policy *policy;
	struct clv_fleet *fleet;
	struct clv_frag *frag;
	struct clv_place_prices prices;
	struct clv_place_view view;
};

static int add_device(struct clv_fleet *fleet, const struct clv_single *device)
{
	struct clv_fleet_node_spec spec = {
		.model = device->model[0] ? device->model : "-",
		.device_mib = device->memory_mib,
		.n_devices = 1};
	struct clv_place_request taken = {
		.milli = (uint16_t)(CLV_PLACE_WHOLE - device->free_milli),
		.device_mib = device->memory_mib - device->free_mib,
		.n_devices = 1,
	};
	struct clv_place_at at = {.devices = 1, .node = fleet->n_nodes};
	uint32_t lease;
	int r;

	r = clv_fleet_add_node(fleet, &spec, NULL);
	if (r < 0 || (taken.milli == 0 && taken.device_mib == 0))
		return r;
	return clv_fleet_take(fleet, &taken, &at, &lease);
}

static int expect(const struct clv_place_request *shapes, size_t n_shapes,
	struct clv_workload *workload)
{
	static const struct clv_place_request whole = {
		.milli = CLV_PLACE_WHOLE, .n_devices = 1};
	int r = clv_workload_add(workload, &whole, 1);

	for (size_t i = 0; i < n_shapes && r >= 0; i++)
		r = clv_workload_add(workload, &shapes[i], 1);
	return r;
}

static int learn(struct clv_singles *singles, const struct clv_place_request *shapes,
	size_t n_shapes)
{
	struct clv_workload workload = {0};
	int r = expect(shapes, n_shapes, &workload);

	if (r >= 0) {
		singles->frag = clv_frag_new(singles->fleet, &workload);
		r = singles->frag ? 0 : -ENOMEM;
	}
	if (r >= 0)
		clv_place_prices_init(&singles->prices, singles->fleet, &workload);
	clv_workload_done(&workload);
	singles->view = (struct clv_place_view){.fleet = singles->fleet,
		.frag = singles->frag,
		.prices = &singles->prices};
	return r;
}

int clv_singles_new(const struct clv_single *devices, size_t n_devices,
	const struct clv_place_request *shapes, size_t n_shapes, struct clv_singles **ret)
{
	struct clv_singles *singles = calloc(1, sizeof(*singles));
	int r = singles ? 0 : -ENOMEM;

	if (r >= 0) {
		singles->policy = clv_place_policy_find(POLICY);
		singles->fleet = clv_fleet_new();
		r = singles->fleet ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < n_devices && r >= 0; i++)
		r = add_device(singles->fleet, &devices[i]);
	if (r >= 0)
		r = learn(singles, shapes, n_shapes);
	if (r < 0) {
		clv_singles_free(singles);
		return r;
	}
	*ret = singles;
	return 0;
}

struct clv_singles *clv_singles_free(struct clv_singles *singles)
{
	if (!singles)
		return NULL;
	clv_frag_free(singles->frag);
	clv_fleet_free(singles->fleet);
	free(singles);
	return NULL;
}

struct clv_place_request clv_singles_complete(const struct clv_singles *singles,
	size_t at, const struct clv_place_request *request)
{
	const struct clv_fleet_node *node = &singles->fleet->nodes[at];
	uint64_t memory_mib = singles->fleet->devices[node->first_device].memory_mib;
	struct clv_place_request on = *request;

	if (on.milli == 0 && memory_mib > 0) {
		uint64_t milli =
			(on.device_mib * (uint64_t)CLV_PLACE_WHOLE + memory_mib - 1) /
			memory_mib;

		/* A value that fits on no device. */
		on.milli =
			milli > CLV_PLACE_WHOLE ? CLV_PLACE_WHOLE + 1 : (uint16_t)milli;
	}
	if (on.device_mib == 0)
		on.device_mib = (uint32_t)(on.milli * memory_mib / CLV_PLACE_WHOLE);
	return on;
}

int clv_singles_find(const struct clv_singles *singles, size_t first, size_t n,
	const struct clv_place_request *request, int64_t *ret_score)
{
	int best = -ENOSPC;

	for (size_t i = first; i < first + n; i++) {
		const struct clv_fleet_node *node = &singles->fleet->nodes[i];
		struct clv_place_request on = clv_singles_complete(singles, i, request);
		int64_t score;

		if (on.milli > CLV_PLACE_WHOLE ||
			!clv_fit_node(singles->fleet, node, &on))
			continue;
		score = singles->policy->score(&singles->view, node, &on);
		if (best >= 0 && score <= *ret_score)
			continue;
		*ret_score = score;
		best = (int)i;
	}
	return best;
}

int clv_singles_take(struct clv_singles *singles, size_t at,
	const struct clv_place_request *request, uint32_t *ret_lease)
{
	struct clv_place_request on = clv_singles_complete(singles, at, request);
	struct clv_place_at place = {.devices = 1, .node = (uint32_t)at};

	return clv_fleet_take(singles->fleet, &on, &place, ret_lease);
}

void clv_singles_release(struct clv_singles *singles, uint32_t lease)
{
	clv_fleet_release(singles->fleet, lease);
}
