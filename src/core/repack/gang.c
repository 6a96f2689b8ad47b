/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs: one request after the other, and all are taken back if one has no room. */
#include "core/repack/gang.h"

int clv_gang_place(const struct clv_place_request *requests, size_t n,
	const struct clv_gang_steps *steps, void *userdata, uint32_t *ret_leases)
{
	for (size_t i = 0; i < n; i++) {
		int r = steps->place(userdata, &requests[i], i, ret_leases);

		if (r == 0)
			continue;
		steps->take_back(userdata, ret_leases, i);
		return r;
	}
	return 0;
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

	return clv_gang_place(requests, n, &steps, placer, ret_leases);
}
