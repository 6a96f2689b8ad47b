/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs: one request after the other, and all are taken back if one has no room.  For one
 * rack this is tried in each. */
#include "core/repack/gang.h"

#include "base/cleanup.h"
#include "core/fleet/fleet-fit.h"

#include <errno.h>
#include <stdlib.h>

struct gang {
	const struct clv_fleet *fleet;
	const struct clv_place_request *requests;
	size_t n;
	const struct clv_gang_steps *steps;
	void *userdata;
	uint32_t *leases;
};

/* rack: 0: any. */
static int place_all(const struct gang *gang, uint16_t rack)
{
	for (size_t i = 0; i < gang->n; i++) {
		struct clv_place_request request = gang->requests[i];
		int r;

		if (rack)
			request.rack = rack;
		r = gang->steps->place(gang->userdata, &request, i, gang->leases);
		if (r == 0)
			continue;
		gang->steps->take_back(gang->userdata, gang->leases, i);
		return r;
	}
	return 0;
}

struct rack {
	uint64_t free_milli;
	uint16_t number;
};

static int compare_racks(const void *a, const void *b)
{
	const struct rack *one = a, *other = b;

	if (one->free_milli != other->free_milli)
		return one->free_milli < other->free_milli ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

/* The racks in the order in which they are tried, fleet->n_racks of them; NULL if out of
 * memory. */
static struct rack *order_racks(const struct clv_fleet *fleet)
{
	struct rack *racks = calloc((size_t)fleet->n_racks + 1, sizeof(*racks));

	if (!racks)
		return NULL;
	for (uint32_t i = 0; i < fleet->n_racks; i++)
		racks[i].number = (uint16_t)(i + 1);
	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		const struct clv_fleet_node *node = &fleet->nodes[i];

		if (node->rack && !node->is_lost)
			racks[node->rack - 1].free_milli += node->free_milli;
	}
	qsort(racks, fleet->n_racks, sizeof(*racks), compare_racks);
	return racks;
}

static int place_in_one_rack(const struct gang *gang)
{
	_cleanup_free_ struct rack *racks = order_racks(gang->fleet);
	uint64_t milli = 0;
	int r = -ENOSPC;

	if (!racks)
		return -ENOMEM;
	for (size_t i = 0; i < gang->n; i++)
		milli += clv_fleet_request_milli(gang->fleet, &gang->requests[i]);
	for (uint32_t i = 0; r == -ENOSPC && i < gang->fleet->n_racks; i++) {
		if (racks[i].free_milli >= milli)
			r = place_all(gang, racks[i].number);
	}
	return r;
}

int clv_gang_place(const struct clv_fleet *fleet,
	const struct clv_place_request *requests, size_t n,
	const struct clv_gang_steps *steps, void *userdata, uint32_t *ret_leases)
{
	struct gang gang = {.fleet = fleet,
		.requests = requests,
		.n = n,
		.steps = steps,
		.userdata = userdata,
		.leases = ret_leases};
	uint32_t home = CLV_FLEET_NONE;

	if (n < 2 || requests[0].rule != CLV_PLACE_ONE_RACK)
		return place_all(&gang, 0);
	if (requests[0].group)
		home = clv_fit_home_of_group(fleet, requests[0].group);
	return home == CLV_FLEET_NONE ? place_in_one_rack(&gang)
				      : place_all(&gang, fleet->nodes[home].rack);
}

static int place_by_policy(void *userdata, const struct clv_place_request *request,
	size_t member, uint32_t *leases)
{
	return clv_placer_place(userdata, request, &leases[member]);
}

static void release(void *userdata, uint32_t *leases, size_t n)
{
	while (n-- > 0)
		clv_fleet_release(clv_placer_fleet(userdata), leases[n]);
}

int clv_place_gang(struct clv_placer *placer, const struct clv_place_request *requests,
	size_t n, uint32_t *ret_leases)
{
	static const struct clv_gang_steps steps = {
		.place = place_by_policy, .take_back = release};

	return clv_gang_place(
		clv_placer_fleet(placer), requests, n, &steps, placer, ret_leases);
}

bool clv_gang_is_in_one_rack(
	const struct clv_fleet *fleet, const uint32_t *leases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t rack = fleet->nodes[fleet->leases[leases[i]].node].rack;

		if (!rack || rack != fleet->nodes[fleet->leases[leases[0]].node].rack)
			return false;
	}
	return true;
}
