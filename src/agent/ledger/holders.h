/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_node;

/* The node as the drivers showed it last, with this agent's leases among the holders of
 * what they are on; borrowed until the next survey. */
struct clv_node *clv_holders_node(const struct clv_agent *agent);
