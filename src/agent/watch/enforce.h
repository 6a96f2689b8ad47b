/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/watch/driver-processes.h"

struct clv_agent;
struct clv_agent_device;
struct clv_lease;

/* Compares a driver's reading of a whole device's processes with the ledger, and reports,
 * throttles or ends by the settings.  Processes that are not known to be a tenant's are
 * only reported. has_mean_utilization: whether the reading has utilizations over time.
 * Loop thread only. */
void clv_enforce(struct clv_agent *agent, struct clv_agent_device *device,
	struct clv_driver_processes *processes, bool has_mean_utilization);
