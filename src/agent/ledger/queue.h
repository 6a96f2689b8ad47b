/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clv_agent;
struct clv_agent_device;
struct clv_lease;
struct clv_ledger;

/* The order in which queued leases are served.  It is fair between tenants: first comes
 * the lease whose tenant would have the least compute on this node with it, so that a
 * tenant with a hundred requests does not delay a tenant with one.  A tenant's own leases
 * are served in order of arrival.
 *
 * A lease waits in the queue of one device, where no lease passes it, however large it
 * is, unless it waits for a standing share.  If its request permits other devices too, it
 * goes to whichever of them has room first; one on several devices waits for these. */

/* The queued leases that their tenants' allowances permit, in this order: an array of
 * *ret_n, to be freed; NULL: there are none, or no memory. */
struct clv_lease **clv_queue_list(struct clv_ledger *ledger, size_t *ret_n);

/* How many leases of that list wait for the device, and not for a standing share there.
 * The list is as of the last second. */
uint32_t clv_queue_count(struct clv_agent *agent, const struct clv_agent_device *device);

/* The lease's position, 1 is next; 0: it is not queued. */
uint32_t clv_queue_position(const struct clv_lease *lease);
