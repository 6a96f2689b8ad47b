/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

struct clv_agent;
struct clv_agent_device;

/* Moves the shares of leases with a range by the rule of core/share/range.h.  A move
 * takes effect in the arbiter at once and reaches the state file with the next save of
 * the accounts, so it never waits for the disk; after a crash the shares may be ten
 * seconds old.  Loop thread only. */

/* Call once a second, after clv_usage_add() for all leases. */
void clv_ranges_tick(struct clv_agent *agent);

/* The share of a lease after a resize: what the request leaves out stays as it is.  With
 * a range, kept or new, the share stays at its value, or moves to the nearest bound. */
struct clv_lease_request;
struct clv_share_request clv_ranges_wanted(
	const struct clv_share *has, const struct clv_lease_request *request);

/* Call after a new promise on the device: leases that have more than the least of their
 * range make room. */
void clv_ranges_fit(struct clv_agent *agent, const struct clv_agent_device *device);
