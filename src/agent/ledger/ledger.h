/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

struct clv_agent;
struct clv_agent_device;
struct clv_error;

/* The table of all leases, active and queued.  Loop thread only. */
struct clv_ledger;

int clv_ledger_new(
	struct clv_agent *agent, struct clv_ledger **ret, struct clv_error *err);
/* The ledger must be empty. */
struct clv_ledger *clv_ledger_free(struct clv_ledger *ledger);

/* All leases, oldest first.  Borrowed. */
struct clv_lease_list *clv_ledger_leases(struct clv_ledger *ledger);

/* Finds a lease that the caller may see (NULL: any lease) by id or name; a name means the
 * caller's own lease first.  NULL: *err is -ENOENT, or -EINVAL where several users have a
 * lease of this name. */
struct clv_caller;
struct clv_lease *clv_ledger_find(struct clv_ledger *ledger, const char *id_or_name,
	const struct clv_caller *caller, struct clv_error *err);

/* Finds a lease of any owner by id; NULL if there is none. */
struct clv_lease *clv_ledger_find_id(struct clv_ledger *ledger, const char *id);
bool clv_ledger_has_name(const struct clv_ledger *ledger, uid_t uid, const char *name);

/* Iterates over the leases of an account: after NULL comes the first, after the last
 * NULL. */
struct clv_lease *clv_ledger_next_of(
	const struct clv_ledger *ledger, uid_t account, const struct clv_lease *after);

/* Finds the accounts of leases whose users were not known when the agent took them over,
 * as far as the user database has answered now. */
void clv_ledger_find_accounts(struct clv_ledger *ledger);

/* The active lease that has this standing share, or NULL. */
const struct clv_lease *clv_ledger_standing(
	const struct clv_ledger *ledger, const char *name);

/* Adds a lease to the table, to its devices and to the index, and removes it.  The lease
 * stays the caller's. 0 or -ENOMEM. */
int clv_ledger_add(
	struct clv_ledger *ledger, struct clv_lease *lease, struct clv_error *err);
void clv_ledger_remove(struct clv_ledger *ledger, struct clv_lease *lease);

/* Takes a queued lease of one device to another device. 0 or -ENOMEM. */
struct clv_agent_device;
int clv_ledger_move(struct clv_ledger *ledger, struct clv_lease *lease,
	struct clv_agent_device *device);
