/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/watch/sightings.h"

/* Work that bypasses a gate: where a driver reports how much each process computes, a
 * lease that computes for longer than its turns bypasses its gate.  Loop thread only. */

/* After a reading with the utilization of the lease's device. */
void clv_bypass_check(struct clv_lease *lease, const struct clv_sightings_total *total,
	struct clv_sightings *sightings);

/* Drops the means of a lease whose utilization is no longer known. */
void clv_bypass_forget(struct clv_lease *lease);
