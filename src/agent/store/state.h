/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/store-key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_agent;
struct clv_agent_config;
struct clv_error;
struct clv_store;

/* The agent's handle of the state file.  The file may be unusable (full disk, read-only,
 * open in another agent) without any effect on running leases. */
struct clv_state {
	struct clv_store *store; /* NULL: it cannot be opened; code and problem say why */
	bool is_copy;            /* store is a copy, to be read until the file is open */
	bool was_copied;         /* the start has taken the leases over from a copy */
	bool is_stale;           /* a write failed: the whole ledger has to be written */
	bool is_lost;         /* the file was removed or replaced: nothing is granted */
	unsigned int n_waits; /* calls of clv_state_reopen() */
	int code;
	char problem[512]; /* why it cannot be opened, or a write failed */
	uint64_t n_errors; /* failed writes */
	struct clv_key_record current_key; /* idempotency key of the request that the loop
					      handles now */
};

/* The path of the state file. */
void clv_state_path(const struct clv_agent_config *config, char *ret, size_t ret_bytes);

/* Opens the file at the start.  If that fails the reason is logged and stored,
 * clv_state_reopen() retries, and 0 is returned.  -ENOMEM. */
int clv_state_open(struct clv_agent *agent, struct clv_error *err);
void clv_state_close(struct clv_agent *agent);

/* Retries at every fifth call.  Returns whether the file is open now, in place of the
 * copy. */
bool clv_state_reopen(struct clv_agent *agent);

/* The open store; NULL with -ENOSPC or -EIO in *err if the file cannot be used. */
struct clv_store *clv_state_get(struct clv_agent *agent, struct clv_error *err);
/* The same for readers, who get the copy of a file that cannot be opened, too. */
struct clv_store *clv_state_get_readable(struct clv_agent *agent, struct clv_error *err);

/* Records that a change that has taken effect could not be written. */
void clv_state_set_stale(struct clv_agent *agent, const struct clv_error *err);

/* Stores, in the caller's transaction, the id of the object that the current request
 * created, if the request has an Idempotency-Key (agent/api/idempotency.h). */
int clv_state_put_key(struct clv_agent *agent, const char *object, struct clv_error *err);
