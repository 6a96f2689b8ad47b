/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

struct clv_agent;
struct clv_agent_device;
struct clv_error;

/* The table of leases: who has what, and who waits for it.  Loop thread only. */
struct clv_ledger;

int clv_ledger_new(
	struct clv_agent *agent, struct clv_ledger **ret, struct clv_error *err);
/* It is empty. */
struct clv_ledger *clv_ledger_free(struct clv_ledger *ledger);

/* Oldest first.  Borrowed. */
struct clv_lease_list *clv_ledger_leases(struct clv_ledger *ledger);

/* By id or by name, of those that the caller sees (NULL: all), his own first.  NULL with
 * -ENOENT. */
struct clv_caller;
struct clv_lease *clv_ledger_find(struct clv_ledger *ledger, const char *id_or_name,
	const struct clv_caller *caller, struct clv_error *err);

/* By id alone, whosever it is. */
struct clv_lease *clv_ledger_find_id(struct clv_ledger *ledger, const char *id);
bool clv_ledger_has_name(const struct clv_ledger *ledger, uid_t uid, const char *name);

/* A user's leases one after the other: the first behind NULL, NULL behind the last. */
struct clv_lease *clv_ledger_next_of(
	const struct clv_ledger *ledger, uid_t uid, const struct clv_lease *after);

/* The active lease that is in this standing share, or NULL. */
const struct clv_lease *clv_ledger_standing(
	const struct clv_ledger *ledger, const char *name);

/* Adds a lease to the table, to its devices and to the index; takes it out again.  The
 * lease stays the caller's. */
int clv_ledger_add(
	struct clv_ledger *ledger, struct clv_lease *lease, struct clv_error *err);
void clv_ledger_remove(struct clv_ledger *ledger, struct clv_lease *lease);
