/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_node;

/* The node as of the last survey, with the cordons and with this agent's active leases
 * among the holders of devices and partitions.  Borrowed until the next survey. */
struct clv_node *clv_holders_node(const struct clv_agent *agent);
