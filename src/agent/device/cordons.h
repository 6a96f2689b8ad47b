/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_agent_device;
struct clv_error;

/* Cordoned devices, which take no new lease, for a driver update or a repair.  The state
 * file has them, so they survive restarts. */

/* Cordons the device; a NULL reason removes the cordon and serves the queue. */
int clv_cordons_set(struct clv_agent *agent, struct clv_agent_device *device,
	const char *reason, struct clv_error *err);

/* Applies the stored cordons to the devices that are known now. */
void clv_cordons_restore(struct clv_agent *agent);
