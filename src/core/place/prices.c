/* SPDX-License-Identifier: Apache-2.0 */
/* Prices for the balance policy: processors per device, and demand by model. */
#include "core/place/prices.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"

static uint64_t milli_of(
	const struct clv_fleet *fleet, const struct clv_workload_shape *shape)
{
	uint64_t milli = shape->milli;

	if (shape->profile && shape->scheme <= fleet->n_schemes)
		milli = clv_fleet_profile_milli(fleet, shape->scheme, shape->profile);
	return milli * shape->n_devices * shape->weight;
}

/* Spreads the shape evenly over the devices of the models that it accepts. */
static void add_wanted(struct clv_place_prices *prices, const struct clv_fleet *fleet,
	const struct clv_workload_shape *shape, const uint64_t *n_devices, double scale)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < fleet->n_models; i++)
		n += shape->models >> i & 1 ? n_devices[i] : 0;
	for (uint32_t i = 0; n > 0 && i < fleet->n_models; i++) {
		if (shape->models >> i & 1)
			prices->wanted[i] += (uint32_t)((double)milli_of(fleet, shape) *
							scale / (double)n);
	}
}

void clv_place_prices_init(struct clv_place_prices *prices, const struct clv_fleet *fleet,
	const struct clv_workload *workload)
{
	uint64_t n_devices[CLV_PLACE_MODELS_MAX] = {0};
	uint64_t milli = 0, cpu_milli = 0;

	*prices = (struct clv_place_prices){0};
	for (uint32_t i = 0; i < fleet->n_nodes; i++)
		n_devices[fleet->nodes[i].model] += fleet->nodes[i].n_devices;
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
			add_wanted(prices, fleet, &workload->shapes[i], n_devices,
				(double)fleet->n_devices * CLV_PLACE_WHOLE /
					(double)milli);
	}
}
