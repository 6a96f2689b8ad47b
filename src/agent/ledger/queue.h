/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_agent_device;
struct clv_lease;
struct clv_ledger;

/* The order in which queued leases are served.  It is fair between tenants: first comes
 * the lease whose tenant would have the least compute on this node with it, so that a
 * tenant with a hundred requests does not delay a tenant with one.  A tenant's own leases
 * are served in order of arrival.  No lease passes the first one, however large that
 * is. */

/* The lease to serve next; NULL: none is queued that its tenant's allowance permits. */
struct clv_lease *clv_queue_first(
	struct clv_ledger *ledger, const struct clv_agent_device *device);

/* The lease's position, 1 is next; 0: it is not queued. */
uint32_t clv_queue_position(const struct clv_lease *lease);
