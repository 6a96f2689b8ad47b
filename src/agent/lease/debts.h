/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_agent;
struct clv_agent_device;
struct clv_error;
struct clv_lease;
struct clv_process_id;
struct clv_store;

/* Whose debts of device time are one account, and how they outlive leases and agents.
 * What becomes of them is the policy's (arbiter/policy/policy.h).  Loop thread only. */

/* Before the lease is made known to an arbiter: its account, by the settings.  id: a
 * process of it; NULL: none that attaches just now. */
void clv_debts_name(struct clv_lease *lease, const struct clv_process_id *id);

/* What was recorded of a device, to its new arbiter. */
void clv_debts_restore(struct clv_agent *agent, struct clv_agent_device *device);

/* Notes down what is owed on a device; in a transaction of the caller's, or in one of its
 * own, which survives the agent and need not survive the machine. */
int clv_debts_put(
	struct clv_store *store, struct clv_agent_device *device, struct clv_error *err);
void clv_debts_save(struct clv_agent *agent, struct clv_agent_device *device);

/* What the lease's account owes on its device, past and present leases together; and what
 * all accounts owe there from past leases. */
uint64_t clv_debts_of_lease_ns(const struct clv_lease *lease);
uint64_t clv_debts_of_past_ns(const struct clv_agent_device *device);
