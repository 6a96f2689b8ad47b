/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

struct clv_agent;
struct clv_agent_device;

/* Carries out what core/share/range.h decides.  A move is in the arbiter at once and in
 * the state file with the accounts, so that no move waits for the disk; an agent that was
 * killed finds shares of ten seconds ago, and goes on from there.  Loop thread only. */

/* Once a second, after clv_usage_add() of all leases. */
void clv_ranges_tick(struct clv_agent *agent);

/* What a lease is to be after a resize: a range that is kept is one within which the
 * share stays as it is; a new one begins there too. */
struct clv_lease_request;
struct clv_share_request clv_ranges_wanted(
	const struct clv_share *has, const struct clv_lease_request *request);

/* Something new was promised on the device: who has more than the least makes room. */
void clv_ranges_fit(struct clv_agent *agent, const struct clv_agent_device *device);
