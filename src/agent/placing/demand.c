/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of the most recent requests. */
#include "agent/placing/demand.h"

#include "agent/device/devices.h"
#include "agent/lease/lease.h"

#include <stdio.h>
#include <stdlib.h>

#define PPM_PER_MILLI 1000u
#define MIB_SHIFT 20

#define KEPT 32u

struct clv_demand {
	struct clv_demand_item {
		char profile[40]; /* of a partition, "" for a whole device */
		uint32_t device_mib;
		uint16_t milli;
		uint8_t n_devices;
	} items[KEPT];
	uint64_t n_seen;
};

struct clv_demand *clv_demand_new(void)
{
	return calloc(1, sizeof(struct clv_demand));
}

struct clv_demand *clv_demand_free(struct clv_demand *demand)
{
	free(demand);
	return NULL;
}

struct clv_demand *clv_demand_copy(const struct clv_demand *demand)
{
	struct clv_demand *copy = clv_demand_new();

	if (copy)
		*copy = *demand;
	return copy;
}

uint16_t clv_demand_milli(uint32_t compute_ppm)
{
	uint32_t milli = compute_ppm / PPM_PER_MILLI;

	return milli > 0 ? (uint16_t)milli : 1;
}

void clv_demand_note(struct clv_demand *demand, const struct clv_lease *lease)
{
	struct clv_demand_item *item = &demand->items[demand->n_seen++ % KEPT];
	const struct clv_share *share = &lease->record.share;

	*item = (struct clv_demand_item){
		.device_mib = (uint32_t)(share->memory_bytes >> MIB_SHIFT),
		.milli = clv_demand_milli(clv_share_promise_ppm(share)),
		.n_devices = (uint8_t)(lease->n_others + 1),
	};
	snprintf(item->profile, sizeof(item->profile), "%s", lease->device->info.profile);
}

void clv_demand_model(const char *profile, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes, "%s", profile[0] ? profile : "whole");
}

/* A request without a profile fits any model; one for a partition only the model of its
 * profile. */
static int expect(const struct clv_demand_item *item, const struct clv_fleet *fleet,
	struct clv_workload *workload)
{
	struct clv_place_request request = {
		.device_mib = item->device_mib,
		.milli = item->milli,
		.n_devices = item->n_devices,
	};
	char name[sizeof(*fleet->models)];
	int model;

	if (item->profile[0]) {
		clv_demand_model(item->profile, name, sizeof(name));
		model = clv_fleet_find_model(fleet, name);
		if (model < 0)
			return 0;
		request.models = UINT64_C(1) << model;
	}
	return clv_workload_add(workload, &request, 1);
}

int clv_demand_expect(const struct clv_demand *demand, const struct clv_fleet *fleet,
	struct clv_workload *workload)
{
	static const struct clv_place_request whole = {
		.milli = CLV_PLACE_WHOLE, .n_devices = 1};
	int r = clv_workload_add(workload, &whole, 1);

	for (uint64_t i = 0; r == 0 && i < demand->n_seen && i < KEPT; i++)
		r = expect(&demand->items[i], fleet, workload);
	return r;
}
