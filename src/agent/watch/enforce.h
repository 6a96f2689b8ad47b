/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/watch/sightings.h"

struct clv_agent;
struct clv_agent_device;
struct clv_lease;

/* Compares what a driver says of a whole device's processes with the ledger, and reports,
 * throttles or ends as the settings say.  It ends no process that is not known to be a
 * tenant's.  has_mean_utilization: of the reading.  Loop thread only. */
void clv_enforce(struct clv_agent *agent, struct clv_agent_device *device,
	struct clv_sightings *sightings, bool has_mean_utilization);
