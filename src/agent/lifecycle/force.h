/* SPDX-License-Identifier: Apache-2.0 */
/* Ends leases by force.  Loop thread only. */
#pragma once

struct clv_agent;
struct clv_agent_device;
struct clv_lease;

/* Ends the lease's processes with SIGTERM, and SIGKILL after 5 s; the lease ends with the
 * last of them, or at once if it has none. */
void clv_force_end(struct clv_lease *lease);

/* Ends all leases on a device or on its partitions by force. */
void clv_force_end_all(struct clv_agent *agent, const struct clv_agent_device *device);

/* Ends leases whose time has expired by force.  Called once a second. */
void clv_force_end_expired(struct clv_agent *agent);
