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

/* Whether the member has to be in the rack of the gang. */
static bool is_bound(const struct gang *gang, size_t member)
{
	return gang->n > 1 && gang->requests[member].rule == CLV_PLACE_ONE_RACK;
}

/* rack: 0: any. */
static int place_all(const struct gang *gang, uint16_t rack)
{
	for (size_t i = 0; i < gang->n; i++) {
		struct clv_place_request request = gang->requests[i];
		int r;

		if (is_bound(gang, i))
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
	uint64_t milli, free_milli;
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

		if (!node->rack || node->is_lost)
			continue;
		racks[node->rack - 1].milli +=
			(uint64_t)node->n_devices * CLV_PLACE_WHOLE;
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
	for (size_t i = 0; i < gang->n; i++) {
		if (is_bound(gang, i))
			milli += clv_fleet_request_milli(gang->fleet, &gang->requests[i]);
	}
	for (uint32_t i = 0; r == -ENOSPC && i < gang->fleet->n_racks; i++) {
		uint64_t most =
			gang->steps->moves_others ? racks[i].milli : racks[i].free_milli;

		if (most >= milli)
			r = place_all(gang, racks[i].number);
	}
	return r;
}

/* Finds the rack of the groups of the gang, 0 if none has a lease; -ENOSPC if these are
 * in several. */
static int find_rack_of_groups(const struct gang *gang, uint16_t *ret)
{
	uint32_t home, before = 0;

	*ret = 0;
	for (size_t i = 0; i < gang->n; i++) {
		uint32_t group = gang->requests[i].group;

		if (!is_bound(gang, i) || !group || group == before)
			continue;
		before = group;
		home = clv_fit_home_of_group(gang->fleet, group);
		if (home == CLV_FLEET_NONE)
			continue;
		if (*ret && *ret != gang->fleet->nodes[home].rack)
			return -ENOSPC;
		*ret = gang->fleet->nodes[home].rack;
	}
	return 0;
}

bool clv_gang_needs_rack(const struct clv_place_request *requests, size_t n)
{
	for (size_t i = 0; n > 1 && i < n; i++) {
		if (requests[i].rule == CLV_PLACE_ONE_RACK)
			return true;
	}
	return false;
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
	uint16_t rack;
	int r;

	if (!clv_gang_needs_rack(requests, n))
		return place_all(&gang, 0);
	r = find_rack_of_groups(&gang, &rack);
	if (r < 0)
		return r;
	return rack ? place_all(&gang, rack) : place_in_one_rack(&gang);
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
