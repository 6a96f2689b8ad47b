/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_agent;
struct clv_agent_device;

/* Some drivers let programs know a device by its place among all of them alone (struct
 * clv_device's visible), so that dividing one gives those behind it other numbers.  From
 * the first such step until they have been read again, and when an agent starts, nobody
 * is told a number: it would be somebody else's device.  New leases, those in line and
 * gates wait.  Loop thread only. */

/* Is the number of this device not known now? */
bool clv_recount_is_under_way(
	const struct clv_agent *agent, const struct clv_agent_device *device);

/* Lets those go on who wait. */
void clv_recount_ended(struct clv_agent *agent);
