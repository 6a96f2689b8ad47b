/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/watch/driver-processes.h"

/* Detects work that bypasses a gate: where a driver reports the utilization of each
 * process, a lease whose utilization exceeds its held time bypasses its gate.  Loop
 * thread only. */

/* Call after each reading of the lease's device that has mean utilizations. */
void clv_bypass_check(struct clv_lease *lease,
	const struct clv_driver_processes_total *total,
	struct clv_driver_processes *processes);

/* Drops the averages, for readings without utilizations. */
void clv_bypass_forget(struct clv_lease *lease);
