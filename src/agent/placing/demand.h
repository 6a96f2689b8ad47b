/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"

#include <stddef.h>

struct clv_lease;

/* What the most recent leases requested.  Placing expects the next requests to be
 * similar, and keeps room of use to them.  Loop thread only. */
struct clv_demand;

/* NULL without memory. */
struct clv_demand *clv_demand_new(void);
struct clv_demand *clv_demand_free(struct clv_demand *demand);
/* NULL without memory. */
struct clv_demand *clv_demand_copy(const struct clv_demand *demand);

/* A share in thousandths, rounded down but at least 1, so that what fits by exact figures
 * fits by these. */
uint16_t clv_demand_milli(uint32_t compute_ppm);

/* Records a lease that was added to the ledger. */
void clv_demand_note(struct clv_demand *demand, const struct clv_lease *lease);

/* Adds the expected requests to the workload.  Requests for profiles that are no models
 * of the fleet are left out.  A request for a whole device is always expected, so that
 * devices stay whole where nothing else decides. 0 or -ENOMEM. */
int clv_demand_expect(const struct clv_demand *demand, const struct clv_fleet *fleet,
	struct clv_workload *workload);

/* The fleet model's name for partitions of a profile, or for a whole device (""). */
void clv_demand_model(const char *profile, char *ret, size_t ret_bytes);
