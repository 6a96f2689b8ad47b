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

/* The lease is ended or freed; sets lease->holder to NULL. */
void clv_holder_forget(struct clv_lease *lease);

bool clv_holder_is_dead(const struct clv_lease *lease);
