/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct clv_agent;
struct clv_error;
struct clv_lease;
struct clv_process_id;

/* The holders of leases, watched for their death: the process that asked for a lease, and
 * processes that joined it.  Their descendants may attach.  A process that holds many
 * leases is watched once.  Loop thread only. */
struct clv_holding;

/* All watches of an agent; NULL if out of memory.  Free them after the leases. */
struct clv_holder_watches;
struct clv_holder_watches *clv_holder_watches_new(void);
struct clv_holder_watches *clv_holder_watches_free(struct clv_holder_watches *watches);

/* Makes the process a holder of the lease.  Takes the pidfd in every case. 0 or
 * -ENOMEM. */
int clv_holder_watch(struct clv_lease *lease, const struct clv_process_id *id, int pidfd,
	struct clv_error *err);

/* Makes a process from an earlier agent's state file a holder again.  Returns 0 also when
 * it is dead. */
int clv_holder_adopt(
	struct clv_lease *lease, const struct clv_process_id *id, struct clv_error *err);

/* Makes a process that joins an existing lease a holder, by its pid, and stores it.  The
 * process and the lease must be of one user and one tenant unless the caller is an admin.
 * -ENOENT: no such process; -EPERM. */
struct clv_caller;
int clv_holder_add(struct clv_lease *lease, int pid, const struct clv_caller *caller,
	struct clv_error *err);

/* Writes the holders that joined to the state file. */
int clv_holder_store(const struct clv_lease *lease, struct clv_error *err);

/* A lease that the process holds, preferably an active one on the device; NULL if
 * none. */
struct clv_agent_device;
struct clv_lease *clv_holder_find(const struct clv_agent *agent,
	const struct clv_process_id *id, const struct clv_agent_device *device);

/* Calls fn once for each holder, with one of its leases. */
typedef void (*clv_holder_fn)(
	void *userdata, const struct clv_process_id *id, struct clv_lease *lease);
void clv_holder_each(const struct clv_agent *agent, clv_holder_fn fn, void *userdata);

/* Removes all holders of a lease that is ended or freed. */
void clv_holder_forget(struct clv_lease *lease);

/* Whether the process is a living holder of the lease; whether the lease has any
 * holder. */
bool clv_holder_contains(const struct clv_lease *lease, const struct clv_process_id *id);
bool clv_holder_is_any(const struct clv_lease *lease);
