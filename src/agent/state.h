/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_agent;
struct clv_agent_config;
struct clv_error;
struct clv_lease;
struct clv_lease_record;
struct clv_store;

/* The state file as the rest of the agent sees it: it may be out of order (full disk,
 * read-only, another agent's) without anything that runs being disturbed. */

/* Where it is. */
void clv_state_path(const struct clv_agent_config *config, char *ret, size_t ret_bytes);

/* Opens it at start.  A failure is kept, logged, and tried again later. */
void clv_state_open(struct clv_agent *agent);

/* After the adoption: ends the use of a copy that was read in the file's place. */
void clv_state_close_copy(struct clv_agent *agent);

/* The open file, or NULL with -ENOSPC or -EIO in *err. */
struct clv_store *clv_state_get(struct clv_agent *agent, struct clv_error *err);

/* A lease with its devices, in a transaction of the caller's. */
int clv_state_put_lease(struct clv_agent *agent, const struct clv_lease *lease,
	const struct clv_lease_record *record, struct clv_error *err);

/* Something could not be written that had happened all the same. */
void clv_state_set_stale(struct clv_agent *agent, const struct clv_error *err);

/* Writes everything anew if something was missed.  Called once a second. */
void clv_state_repair(struct clv_agent *agent);
