/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/placing/placing.h"
#include "agent/record/lease-record.h"

struct clv_agent;
struct clv_caller;
struct clv_error;
struct clv_lease;
struct clv_peer;

/* A new lease before it is in the ledger.  Loop thread only. */

/* Decides everything about it (name, devices, share, whether it is queued) without
 * changing any state but claims of devices.  placing begins as zeros; its devices are to
 * be unclaimed after an error, too. */
int clv_draft_make(struct clv_agent *agent, const struct clv_lease_request *request,
	const struct clv_caller *caller, const struct clv_peer *peer,
	struct clv_lease_record *ret, struct clv_placing *placing, struct clv_error *err);

/* The lease of a draft; NULL without memory. */
struct clv_lease *clv_draft_lease(struct clv_agent *agent,
	const struct clv_placing *placing, const struct clv_lease_record *record);

/* Without a device it does nothing. */
void clv_draft_unclaim(struct clv_agent *agent, const struct clv_placing *placing);
