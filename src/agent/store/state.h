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

/* The state file as the agent uses it: it may be unusable (full disk, read-only, another
 * agent's) without anything that runs being disturbed. */
struct clv_state {
	struct clv_store *store; /* NULL: it cannot be opened; then problem says why */
	bool is_copy;            /* of the file, to be read for the adoption only */
	bool is_stale;           /* a write failed: everything is to be written anew */
	unsigned int n_waits;
	int code;
	char problem[256];
	uint64_t n_errors;                 /* failed writes */
	struct clv_key_record current_key; /* of the request that is being handled */
};

/* Where it is. */
void clv_state_path(const struct clv_agent_config *config, char *ret, size_t ret_bytes);

/* Opens it at start.  A failure is kept, logged, and tried again later; only memory can
 * be missing: -ENOMEM. */
int clv_state_open(struct clv_agent *agent, struct clv_error *err);
void clv_state_close(struct clv_agent *agent);

/* Tries again, at every fifth call.  Returns whether it is open now. */
bool clv_state_reopen(struct clv_agent *agent);

/* After the adoption: ends the use of a copy that was read in the file's place. */
void clv_state_close_copy(struct clv_agent *agent);

/* The open file, or NULL with -ENOSPC or -EIO in *err. */
struct clv_store *clv_state_get(struct clv_agent *agent, struct clv_error *err);

/* A change that has happened could not be written. */
void clv_state_set_stale(struct clv_agent *agent, const struct clv_error *err);

/* In a transaction of the caller's: the id of the object that the current request made,
 * if the request has a key of its client's (agent/api/idempotency.h). */
int clv_state_put_key(struct clv_agent *agent, const char *object, struct clv_error *err);
