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

/* Those of the devices that are on the I/O die of the first of them. */
static uint64_t on_first_die(const uint8_t *dies, uint64_t devices)
{
	uint8_t die = dies[__builtin_ctzll(devices)];
	uint64_t same = 0;

	for (uint64_t left = devices; left; left &= left - 1) {
		if (dies[__builtin_ctzll(left)] == die)
			same |= left & -left;
	}
	return same;
}

/* Of the dies with n devices or more the one with the fewest, so that other dies stay
 * whole; if there is none, the one with the most. */
static uint64_t best_die(const uint8_t *dies, uint64_t devices, int n)
{
	uint64_t best = 0;

	for (uint64_t left = devices; left;) {
		uint64_t same = on_first_die(dies, left);
		int n_same = __builtin_popcountll(same),
		    n_best = __builtin_popcountll(best);

		left &= ~same;
		if (n_best < n ? n_same > n_best : n_same >= n && n_same < n_best)
			best = same;
	}
	return best;
}

/* Of the devices, n that are on as few I/O dies as possible. */
static uint64_t on_fewest_dies(const uint8_t *dies, uint64_t devices, int n)
{
	uint64_t picked = 0;

	while (n > 0 && devices) {
		uint64_t same = best_die(dies, devices, n);

		devices &= ~same;
		for (; n > 0 && same; n--, same &= same - 1)
			picked |= same & -same;
	}
	return picked;
}

static uint64_t with_equal_room(
	const struct clv_fleet_device *devices, uint64_t among, int device)
{
	uint64_t equal = 0;

	for (uint64_t left = among; left; left &= left - 1) {
		if (devices[__builtin_ctzll(left)].free_milli ==
			devices[device].free_milli)
			equal |= left & -left;
	}
	return equal;
}

/* Of equally good devices those on as few I/O dies as possible are picked; where nothing
 * is known of dies, the first. */
static uint64_t pick_shares(const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	enum clv_pick pick)
{
	const struct clv_fleet_device *devices = &fleet->devices[node->first_device];
	const uint8_t *dies = fleet->dies && pick != CLV_PICK_FIRST
				      ? &fleet->dies[node->first_device]
				      : NULL;
	uint64_t fitting = clv_fit_devices(fleet, node, request), picked = 0;
	int n_left = request->n_devices;

	while (n_left > 0 && fitting) {
		int best = __builtin_ctzll(fitting);
		uint64_t taken;

		for (uint64_t left = fitting & (fitting - 1); left; left &= left - 1) {
			int other = __builtin_ctzll(left);

			if (is_before(&devices[other], &devices[best], pick))
				best = other;
		}
		taken = dies ? on_fewest_dies(dies,
				       with_equal_room(devices, fitting, best), n_left)
			     : UINT64_C(1) << best;
		picked |= taken;
		fitting &= ~taken;
		n_left -= __builtin_popcountll(taken);
	}
	return picked;
}

unsigned clv_pick_count_dies(const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, uint64_t devices)
{
	unsigned n = 0;

	for (; fleet->dies && devices; n++)
		devices &= ~on_first_die(&fleet->dies[node->first_device], devices);
	return n;
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
