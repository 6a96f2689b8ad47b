/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"

#include <stddef.h>

struct clv_lease;

/* What the last leases asked for, which is what placing expects of the next ones.
 * Loop thread only. */
struct clv_demand;

/* NULL without memory. */
struct clv_demand *clv_demand_new(void);
struct clv_demand *clv_demand_free(struct clv_demand *demand);

/* Thousandths, rounded down, but never nothing: what fits by the exact figures fits by
 * these. */
uint16_t clv_demand_milli(uint32_t compute_ppm);

void clv_demand_note(struct clv_demand *demand, const struct clv_lease *lease);

/* The fleet's models are called by profile; those that it has not are left out.  Somebody
 * who wants a whole device is always expected, so that devices stay whole where nothing
 * else decides.  0 or -ENOMEM. */
int clv_demand_expect(const struct clv_demand *demand, const struct clv_fleet *fleet,
	struct clv_workload *workload);

/* How a partition of that profile, or a whole device (""), is called as a model. */
void clv_demand_model(const char *profile, char *ret, size_t ret_bytes);
