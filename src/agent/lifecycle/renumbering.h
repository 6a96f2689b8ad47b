/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;

/* With some drivers a program selects a device only by its position among all devices
 * (struct clv_device's visible), so that dividing a device changes the numbers of those
 * after it.  From the first such step until the next survey, and when an agent starts,
 * the agent hands out no number: it could be that of another device.  New leases, queued
 * requests and gates wait.  Loop thread only. */

/* Call when the numbers are known again: resumes the gates and the queues. */
void clv_renumbering_ended(struct clv_agent *agent);
