/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct clv_agent;
struct clv_error;
struct clv_lease;
struct clv_process_id;

/* The processes that hold leases, watched for their death: the one that asked for a
 * lease, and those that joined it.  What they start may attach.  One that holds many
 * leases is watched once.  Loop thread only. */
struct clv_holding;

/* All of an agent's; NULL without memory.  Freed after the leases. */
struct clv_holder_watches;
struct clv_holder_watches *clv_holder_watches_new(void);
struct clv_holder_watches *clv_holder_watches_free(struct clv_holder_watches *watches);

/* The process holds the lease from now on.  Takes the pidfd in every case. */
int clv_holder_watch(struct clv_lease *lease, const struct clv_process_id *id, int pidfd,
	struct clv_error *err);

/* One that an earlier agent knew: 0 too when it is dead. */
int clv_holder_adopt(
	struct clv_lease *lease, const struct clv_process_id *id, struct clv_error *err);

/* One that joins a lease that is there, by its number.  It and the lease must be of one
 * user, unless an admin says so.  -ENOENT, -EPERM. */
struct clv_caller;
int clv_holder_add(struct clv_lease *lease, int pid, const struct clv_caller *caller,
	struct clv_error *err);

/* Writes those that joined. */
int clv_holder_store(const struct clv_lease *lease, struct clv_error *err);

/* A lease that this process holds, one on the device if there is such; NULL if none. */
struct clv_agent_device;
struct clv_lease *clv_holder_find(const struct clv_agent *agent,
	const struct clv_process_id *id, const struct clv_agent_device *device);

/* All processes that hold leases, once each. */
typedef void (*clv_holder_fn)(
	void *userdata, const struct clv_process_id *id, struct clv_lease *lease);
void clv_holder_each(const struct clv_agent *agent, clv_holder_fn fn, void *userdata);

/* The lease is ended or freed: nobody holds it any more. */
void clv_holder_forget(struct clv_lease *lease);

/* Whether it is one of the lease's, alive; whether there is any. */
bool clv_holder_is(const struct clv_lease *lease, const struct clv_process_id *id);
bool clv_holder_has(const struct clv_lease *lease);
