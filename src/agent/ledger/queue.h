/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_agent_device;
struct clv_lease;
struct clv_ledger;

/* The order in which leases that wait for a device are served.  Tenants take turns: first
 * comes who would have least on this node with it, so that a tenant with a hundred
 * requests does not keep one with a single request waiting.  A tenant's own are served in
 * the order in which they came.  Whoever is first is waited for, however large he is. */

/* The one to serve next; NULL: none waits. */
struct clv_lease *clv_queue_first(
	struct clv_ledger *ledger, const struct clv_agent_device *device);

/* 1 is next; 0: it does not wait. */
uint32_t clv_queue_position(const struct clv_lease *lease);
