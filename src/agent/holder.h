/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_agent;
struct clv_error;
struct clv_lease;

/* The process that asked for a lease, watched for its death.  One that holds many leases
 * is watched once.  Loop thread only. */
struct clv_holder_watch;

/* All of an agent's; NULL without memory.  Freed after the leases. */
struct clv_holder_watches;
struct clv_holder_watches *clv_holder_watches_new(void);
struct clv_holder_watches *clv_holder_watches_free(struct clv_holder_watches *watches);

/* Sets lease->holder.  Takes the pidfd of lease->record.holder in every case. */
int clv_holder_watch(struct clv_lease *lease, int pidfd, struct clv_error *err);

/* The same when its process is watched already, without a pidfd: whether it is. */
bool clv_holder_join(struct clv_lease *lease);

/* A lease that this process asked for, one on the device if there is such; NULL if none.
 */
struct clv_agent_device;
struct clv_process_id;
struct clv_lease *clv_holder_find(const struct clv_agent *agent,
	const struct clv_process_id *id, const struct clv_agent_device *device);

/* All processes that hold leases, once each. */
typedef void (*clv_holder_fn)(
	void *userdata, const struct clv_process_id *id, struct clv_lease *lease);
void clv_holder_each(const struct clv_agent *agent, clv_holder_fn fn, void *userdata);

/* The lease is ended or freed; sets lease->holder to NULL. */
void clv_holder_forget(struct clv_lease *lease);

bool clv_holder_is_dead(const struct clv_lease *lease);
