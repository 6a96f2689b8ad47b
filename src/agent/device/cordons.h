/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_agent_device;
struct clv_error;

/* Devices that take no new lease, for a driver update or a repair.  They are in the state
 * file, so that a restart of anything changes nothing. */

/* reason NULL: it takes leases again, and who waits for it is served. */
int clv_cordons_set(struct clv_agent *agent, struct clv_agent_device *device,
	const char *reason, struct clv_error *err);

/* Marks the devices that are known by now. */
void clv_cordons_restore(struct clv_agent *agent);
