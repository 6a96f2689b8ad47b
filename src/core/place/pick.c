/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of the devices of a node for policies that do not choose them. */
#include "core/place/pick.h"

#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"

/* Whether a device is preferred to another that precedes it in the node. */
static bool is_before(const struct clv_fleet_device *device,
	const struct clv_fleet_device *other, enum clv_pick pick)
{
	if (pick == CLV_PICK_TIGHTEST)
		return device->free_milli < other->free_milli;
	return pick == CLV_PICK_LOOSEST && device->free_milli > other->free_milli;
}

static uint64_t pick_shares(const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	enum clv_pick pick)
{
	const struct clv_fleet_device *devices = &fleet->devices[node->first_device];
	uint64_t fitting = clv_fit_devices(fleet, node, request), picked = 0;

	for (unsigned i = 0; i < request->n_devices && fitting; i++) {
		int best = __builtin_ctzll(fitting);

		for (uint64_t left = fitting & (fitting - 1); left; left &= left - 1) {
			int other = __builtin_ctzll(left);

			if (is_before(&devices[other], &devices[best], pick))
				best = other;
		}
		picked |= UINT64_C(1) << best;
		fitting &= ~(UINT64_C(1) << best);
	}
	return picked;
}

/* The last free start of the preferred device (with CLV_PICK_FIRST, the first): on
 * NVIDIA's GPUs this leaves the starts that large profiles need. */
static void pick_start(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request, enum clv_pick pick,
	struct clv_place_at *ret_at)
{
	const struct clv_mig_profile *profile =
		&fleet->schemes[request->scheme - 1]
			 .model->profiles[request->profile - 1];
	const struct clv_fleet_device *devices = &fleet->devices[node->first_device];
	int best = -1;

	for (int i = 0; i < node->n_devices; i++) {
		if (best >= 0 && !is_before(&devices[i], &devices[best], pick))
			continue;
		for (unsigned j = 0; j < profile->n_starts; j++) {
			unsigned from =
				pick == CLV_PICK_FIRST ? j : profile->n_starts - 1u - j;

			if (!clv_fit_start(fleet, node->first_device + (uint32_t)i,
				    request, profile->starts[from]))
				continue;
			best = i;
			ret_at->devices = UINT64_C(1) << i;
			ret_at->start = profile->starts[from];
			break;
		}
	}
}

void clv_pick_devices(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request, enum clv_pick pick,
	struct clv_place_at *ret_at)
{
	ret_at->devices = 0;
	ret_at->start = 0;
	if (request->profile)
		pick_start(fleet, node, request, pick, ret_at);
	else if (request->n_devices > 0)
		ret_at->devices = pick_shares(fleet, node, request, pick);
}
