/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/internal.h"

/* The arbiter's heartbeat for its gates. */

/* After so long a silence gates assume that the agent is stopped
 * (gate/attach/heartbeat.c). */
#define CLV_HEARTBEAT_ABSENT_NS (3 * CLV_HEARTBEAT_NS)

/* Writes the time to the control pages of all attached leases.  now_ns must have been
 * read with the arbiter's lock held. */
void clv_heartbeat_publish(struct clv_arbiter *arbiter, uint64_t now_ns);

/* Publishes the present time if the last heartbeat is CLV_HEARTBEAT_NS old.  To be called
 * again and again between driver calls that may take longer together than gates wait for
 * one.  If they have taken the agent to be stopped all the same within a step, adds the
 * time since a heartbeat was due to arbiter->hole_ns. */
void clv_heartbeat_keep(struct clv_arbiter *arbiter);

/* The oldest heartbeat of a lease with processes; UINT64_MAX: there is none. */
uint64_t clv_heartbeat_oldest_ns(const struct clv_arbiter *arbiter);

/* When the next heartbeat is due; UINT64_MAX while no turn is granted and no thread
 * waits. */
uint64_t clv_heartbeat_due_ns(const struct clv_arbiter *arbiter, uint64_t now_ns);
