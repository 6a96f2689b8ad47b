/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* The arbiter's heartbeat for its gates. */

/* Writes the time to the control pages of all attached leases.  now_ns must have been
 * read with the arbiter's lock held. */
void clv_heartbeat_publish(struct clv_arbiter *arbiter, uint64_t now_ns);

/* Publishes the present time if the last heartbeat is CLV_HEARTBEAT_NS old.  To be called
 * again and again within a step that may take longer than gates wait for one. */
void clv_heartbeat_keep(struct clv_arbiter *arbiter);

/* The oldest heartbeat of a lease with processes; UINT64_MAX: there is none. */
uint64_t clv_heartbeat_oldest_ns(const struct clv_arbiter *arbiter);

/* When the next heartbeat is due; UINT64_MAX while no turn is granted and no thread
 * waits. */
uint64_t clv_heartbeat_due_ns(const struct clv_arbiter *arbiter, uint64_t now_ns);
