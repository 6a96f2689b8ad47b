/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"

/* What a workload says of the worth of a fleet's parts, before anything is placed. */
struct clv_place_prices {
	/* Processors, in thousandths, that the workload asks for with each device; 0:
	 * with none. */
	uint32_t cpu_per_device;
	/* By model, in thousandths: how much of it is wanted by those that have no other
	 * choice than a few models, were the workload as large as the fleet. */
	uint32_t wanted[CLV_PLACE_MODELS_MAX];
};

void clv_place_prices_init(struct clv_place_prices *prices, const struct clv_fleet *fleet,
	const struct clv_workload *workload);
