/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"

/* The worth of parts of a fleet to a workload, before anything is placed. */
struct clv_place_prices {
	/* Processors, in thousandths, that the workload asks for per device; 0: none. */
	uint32_t cpu_per_device;
	/* By model, in thousandths of a device: the demand of shapes that accept a few
	 * models only, if the workload were as large as the fleet. */
	uint32_t wanted[CLV_PLACE_MODELS_MAX];
};

struct clv_room;

void clv_place_prices_init(struct clv_place_prices *prices, const struct clv_fleet *fleet,
	const struct clv_workload *workload);

/* Follows the requests that came; small differences are left.  Returns whether anything
 * changed. */
bool clv_place_prices_follow(struct clv_place_prices *prices,
	const struct clv_fleet *fleet, const struct clv_room *room);
