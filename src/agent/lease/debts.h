/* SPDX-License-Identifier: Apache-2.0 */
/* Debts of device time (arbiter/policy/policy.h): which leases share an account of debt,
 * and how debts survive the end of leases and of agents.  Loop thread only. */
#pragma once

#include <stdint.h>

struct clv_agent;
struct clv_agent_device;
struct clv_error;
struct clv_lease;
struct clv_process_id;
struct clv_store;

/* Sets lease->debtor, the account of the lease's debts: the tenant, or by the settings
 * the cgroup or pod of a process. id: the process that attaches; NULL: any process of the
 * lease, or its holder.  Call before the lease is added to an arbiter. */
void clv_debts_set_account(struct clv_lease *lease, const struct clv_process_id *id);

/* Reads the device's debts from the state file into its new arbiter. */
void clv_debts_restore(struct clv_agent *agent, struct clv_agent_device *device);

/* Writes the debts on a device to the state file. clv_debts_put() runs in the caller's
 * transaction; clv_debts_save() in one of its own, not synced to disk: it survives the
 * agent's death and perhaps not the machine's. clv_debts_save() logs its errors. */
int clv_debts_put(
	struct clv_store *store, struct clv_agent_device *device, struct clv_error *err);
void clv_debts_save(struct clv_agent *agent, struct clv_agent_device *device);

/* The debt of the lease's account on its first device, of past and present leases
 * together; and the sum of what all accounts owe on a device from past leases. */
uint64_t clv_debts_of_lease_ns(const struct clv_lease *lease);
uint64_t clv_debts_of_past_ns(const struct clv_agent_device *device);
