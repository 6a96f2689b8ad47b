/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease.h"
#include "core/admission.h"

struct clv_agent;
struct clv_agent_device;
struct clv_error;

/* The leases: who has what, and who waits for it.  Loop thread only. */
struct clv_ledger;

int clv_ledger_new(
	struct clv_agent *agent, struct clv_ledger **ret, struct clv_error *err);
/* Forgets the leases without ending them: the next agent adopts them. */
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

/* A new lease for the caller, held by the peer; pidfd (taken in every case) is the
 * peer's. */
int clv_ledger_create(struct clv_ledger *ledger, const struct clv_lease_request *request,
	const struct clv_caller *caller, const struct clv_peer *peer, int pidfd,
	struct clv_lease **ret, struct clv_error *err);

/* Takes one that an earlier agent made.  It is complete but for its socket.  On failure
 * the lease is freed. */
int clv_ledger_adopt(
	struct clv_ledger *ledger, struct clv_lease *lease, struct clv_error *err);

int clv_ledger_resize(struct clv_ledger *ledger, struct clv_lease *lease,
	const struct clv_lease_request *request, struct clv_error *err);

/* Ends it now: gate closed, memory and share free again. */
void clv_ledger_end(struct clv_ledger *ledger, struct clv_lease *lease, const char *why);

/* Ends its processes first (SIGTERM, SIGKILL after 5 s); the lease ends with the last. */
void clv_ledger_end_by_force(struct clv_ledger *ledger, struct clv_lease *lease);

/* Ends by force all that is on a device or a part of it. */
void clv_ledger_end_all(struct clv_ledger *ledger, const struct clv_agent_device *device);

/* Admits who waits for a device or a part of it and fits now. */
void clv_ledger_serve(struct clv_ledger *ledger, struct clv_agent_device *device);

/* Its holder or one of its processes died: the loop looks soon whether it is over. */
void clv_ledger_check_end(struct clv_ledger *ledger, struct clv_lease *lease);

/* Ends by force what has run for as long as it was to. */
void clv_ledger_end_expired(struct clv_ledger *ledger);

/* Sees that the positions in the queues are those of now. */
void clv_ledger_keep_ranked(struct clv_ledger *ledger);

/* What active leases have been promised on a device, without one of them (may be NULL),
 * and what is set aside in standing shares, but for one (may be ""). */
void clv_ledger_promised(const struct clv_ledger *ledger,
	const struct clv_agent_device *device, const struct clv_lease *without,
	const char *standing, struct clv_promised *ret);

/* The active lease that is in this standing share, or NULL. */
const struct clv_lease *clv_ledger_standing(
	const struct clv_ledger *ledger, const char *name);
