/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-request.h"

struct clv_agent;
struct clv_agent_device;
struct clv_caller;
struct clv_error;
struct clv_lease;
struct clv_peer;

/* Leases from request to end: admission, the queue of each device, resizing, and the
 * rules of ending.  Loop thread only. */
struct clv_lifecycle;

/* The agent has a ledger. */
int clv_lifecycle_new(
	struct clv_agent *agent, struct clv_lifecycle **ret, struct clv_error *err);
/* Forgets the leases without ending them: the next agent adopts them. */
struct clv_lifecycle *clv_lifecycle_free(struct clv_lifecycle *lifecycle);

/* A new lease for the caller, held by the peer; pidfd (taken in every case) is the
 * peer's. */
int clv_lifecycle_create(struct clv_lifecycle *lifecycle,
	const struct clv_lease_request *request, const struct clv_caller *caller,
	const struct clv_peer *peer, int pidfd, struct clv_lease **ret,
	struct clv_error *err);

/* Takes one that an earlier agent made.  It is complete but for its socket.  On failure
 * the lease is freed. */
int clv_lifecycle_adopt(
	struct clv_lifecycle *lifecycle, struct clv_lease *lease, struct clv_error *err);

int clv_lifecycle_resize(struct clv_lifecycle *lifecycle, struct clv_lease *lease,
	const struct clv_lease_request *request, struct clv_error *err);

/* Ends it now: gate closed, memory and share free again. */
void clv_lifecycle_end(
	struct clv_lifecycle *lifecycle, struct clv_lease *lease, const char *why);

/* Admits who waits for a device or a part of it and fits now. */
void clv_lifecycle_serve(
	struct clv_lifecycle *lifecycle, struct clv_agent_device *device);

/* Its holder or one of its processes died: the loop looks soon whether it is over. */
void clv_lifecycle_check_end(struct clv_lifecycle *lifecycle, struct clv_lease *lease);
