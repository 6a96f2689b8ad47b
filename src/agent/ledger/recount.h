/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;

/* Some drivers let programs know a device by its place among all of them alone (struct
 * clv_device's visible), so that dividing one gives those behind it other numbers.  From
 * the first such step until they have been read again, and when an agent starts, nobody
 * is told a number: it would be somebody else's device.  New leases, those in line and
 * gates wait.  Loop thread only. */

/* Lets those go on who wait. */
void clv_recount_ended(struct clv_agent *agent);
