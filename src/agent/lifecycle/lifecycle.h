/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-request.h"

struct clv_agent;
struct clv_agent_device;
struct clv_caller;
struct clv_error;
struct clv_lease;
struct clv_peer;

/* Leases from request to end: admission, the queue of each device, resizing, ending.
 * Loop thread only. */
struct clv_lifecycle;

/* The agent must have a ledger.  Sets agent->watches and agent->demand. */
int clv_lifecycle_new(
	struct clv_agent *agent, struct clv_lifecycle **ret, struct clv_error *err);
/* Forgets the leases without ending them: the next agent adopts them. */
struct clv_lifecycle *clv_lifecycle_free(struct clv_lifecycle *lifecycle);

/* Makes a lease for the caller, held by the peer. pidfd is the peer's and is taken in
 * every case; it is -1 for a kept lease. *ret is owned by the ledger.  Fails if the share
 * does not fit and the request does not wait. */
int clv_lifecycle_create(struct clv_lifecycle *lifecycle,
	const struct clv_lease_request *request, const struct clv_caller *caller,
	const struct clv_peer *peer, int pidfd, struct clv_lease **ret,
	struct clv_error *err);

/* Takes a lease from an earlier agent's state file, complete but for its socket, which is
 * opened at once if the lease has processes and else later.  On failure the lease is
 * freed. */
int clv_lifecycle_adopt(
	struct clv_lifecycle *lifecycle, struct clv_lease *lease, struct clv_error *err);

/* Gives the lease the share of the request; what that leaves out stays. */
int clv_lifecycle_resize(struct clv_lifecycle *lifecycle, struct clv_lease *lease,
	const struct clv_lease_request *request, struct clv_error *err);

/* Ends the lease now: closes its gates for good, frees its share, removes its folder and
 * row, serves the queues of its devices, and frees it. why: for the event. */
void clv_lifecycle_end(
	struct clv_lifecycle *lifecycle, struct clv_lease *lease, const char *why);

/* Admits the queued leases of a device and its partitions that fit now. */
void clv_lifecycle_serve(
	struct clv_lifecycle *lifecycle, struct clv_agent_device *device);

/* The same for all devices: after devices or partitions were added or changed, or the
 * settings. */
void clv_lifecycle_serve_all(struct clv_lifecycle *lifecycle);
/* The user database has answered: leases that waited for that may be admitted. */
void clv_lifecycle_find_users(struct clv_lifecycle *lifecycle);

/* Call after a holder or process of the lease died: if none is left, the lease ends in
 * the next iteration of the loop. */
void clv_lifecycle_check_end(struct clv_lifecycle *lifecycle, struct clv_lease *lease);
