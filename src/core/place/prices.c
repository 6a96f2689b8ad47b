/* SPDX-License-Identifier: Apache-2.0 */
/* Prices for the balance policy: processors per device, and demand by model. */
#include "core/place/prices.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/room.h"

#include <stdlib.h>

/* Thousandths of a device, and the part of the processors, that are not followed. */
#define SLACK_MILLI 60
#define SLACK_PART 16

static uint64_t milli_of(
	const struct clv_fleet *fleet, const struct clv_workload_shape *shape)
{
	uint64_t milli = shape->milli;

	if (shape->profile && shape->scheme <= fleet->n_schemes)
		milli = clv_fleet_profile_milli(fleet, shape->scheme, shape->profile);
	return milli * shape->n_devices * shape->weight;
}

/* Spreads the amount evenly over the devices of the models that are accepted. */
static void add_wanted(struct clv_place_prices *prices, const struct clv_fleet *fleet,
	uint64_t models, const uint64_t *n_devices, double milli)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < fleet->n_models; i++)
		n += models >> i & 1 ? n_devices[i] : 0;
	for (uint32_t i = 0; n > 0 && i < fleet->n_models; i++) {
		if (models >> i & 1)
			prices->wanted[i] += (uint32_t)(milli / (double)n);
	}
}

static void count_devices(const struct clv_fleet *fleet, uint64_t *n_devices)
{
	for (uint32_t i = 0; i < fleet->n_nodes; i++)
		n_devices[fleet->nodes[i].model] += fleet->nodes[i].n_devices;
}

void clv_place_prices_init(struct clv_place_prices *prices, const struct clv_fleet *fleet,
	const struct clv_workload *workload)
{
	uint64_t n_devices[CLV_PLACE_MODELS_MAX] = {0};
	uint64_t milli = 0, cpu_milli = 0;

	*prices = (struct clv_place_prices){0};
	count_devices(fleet, n_devices);
	for (size_t i = 0; i < workload->n_shapes; i++) {
		const struct clv_workload_shape *shape = &workload->shapes[i];

		milli += milli_of(fleet, shape);
		if (shape->n_devices > 0)
			cpu_milli += (uint64_t)shape->cpu_milli * shape->weight;
	}
	if (milli == 0)
		return;
	prices->cpu_per_device =
		(uint32_t)((double)cpu_milli * CLV_PLACE_WHOLE / (double)milli);
	for (size_t i = 0; i < workload->n_shapes; i++) {
		if (workload->shapes[i].models != CLV_PLACE_ANY_MODEL)
			add_wanted(prices, fleet, workload->shapes[i].models, n_devices,
				(double)milli_of(fleet, &workload->shapes[i]) *
					((double)fleet->n_devices * CLV_PLACE_WHOLE /
						(double)milli));
	}
}

static bool is_near(const struct clv_place_prices *one,
	const struct clv_place_prices *other, uint32_t n_models)
{
	for (uint32_t i = 0; i < n_models; i++) {
		if (labs((long)one->wanted[i] - (long)other->wanted[i]) > SLACK_MILLI)
			return false;
	}
	return labs((long)one->cpu_per_device - (long)other->cpu_per_device) *
		       SLACK_PART <=
	       (long)one->cpu_per_device;
}

bool clv_place_prices_follow(struct clv_place_prices *prices,
	const struct clv_fleet *fleet, const struct clv_room *room)
{
	uint64_t n_devices[CLV_PLACE_MODELS_MAX] = {0};
	struct clv_place_prices now = {0};

	if (room->milli <= 0)
		return false;
	count_devices(fleet, n_devices);
	now.cpu_per_device = (uint32_t)(room->cpu_milli * CLV_PLACE_WHOLE / room->milli);
	for (unsigned i = 0; i < room->n_wants; i++)
		add_wanted(&now, fleet, room->wants[i].models, n_devices,
			room->wants[i].milli * (double)fleet->n_devices *
				CLV_PLACE_WHOLE / room->milli);
	if (is_near(prices, &now, fleet->n_models))
		return false;
	*prices = now;
	return true;
}
