/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/auth/caller.h"
#include "agent/record/token-record.h"

#include <jansson.h>
#include <stdint.h>

struct clv_agent;
struct clv_error;

/* Tokens, "clv_ID_SECRET", which authenticate callers over the network.  Only a hash of
 * the secret is stored; a plain SHA-256 suffices, because the secret is random.  Loop
 * thread only. */
struct clv_tokens;

int clv_tokens_new(
	struct clv_agent *agent, struct clv_tokens **ret, struct clv_error *err);
/* Reads the tokens from the state file, if it is open. */
int clv_tokens_read(struct clv_tokens *tokens, struct clv_error *err);
struct clv_tokens *clv_tokens_free(struct clv_tokens *tokens);

/* Identifies the caller by an Authorization header, "Bearer clv_..." or NULL.  -EACCES:
 * the token is missing, wrong or expired; -EINPROGRESS: CLV_TOPIC_USERS is published when
 * its user is known. */
int clv_tokens_identify(struct clv_tokens *tokens, const char *header,
	struct clv_caller *ret, struct clv_error *err);

/* Whether the token of a caller that was identified before is still valid: 0 or -EACCES.
 */
int clv_tokens_check(const struct clv_tokens *tokens, const struct clv_caller *caller,
	struct clv_error *err);

/* *ret: the token as the API shows it, with the secret, which cannot be read again.
 * -EINPROGRESS: as above. */
int clv_tokens_create(struct clv_tokens *tokens, const struct clv_token_request *request,
	json_t **ret, struct clv_error *err);
/* -ENOENT */
int clv_tokens_delete(struct clv_tokens *tokens, const char *id, struct clv_error *err);
/* Without secrets. */
json_t *clv_tokens_list(const struct clv_tokens *tokens);
/* One token, without its secret; NULL: there is none with this id. */
json_t *clv_tokens_show(const struct clv_tokens *tokens, const char *id);
