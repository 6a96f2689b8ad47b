/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_agent_device;
struct clv_lease;

/* Ends its processes first (SIGTERM, SIGKILL after 5 s); the lease ends with the last. */
void clv_force_end(struct clv_lease *lease);

/* Ends by force all that is on a device or a part of it. */
void clv_force_end_all(struct clv_agent *agent, const struct clv_agent_device *device);

/* Ends by force what has run for as long as it was to. */
void clv_force_end_expired(struct clv_agent *agent);
