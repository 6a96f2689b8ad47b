/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/auth/caller.h"
#include "agent/record/token-record.h"

#include <jansson.h>
#include <stdint.h>

struct clv_agent;
struct clv_error;

/* Tokens, by which callers over the network are known: "clv_ID_SECRET".  Of the secret a
 * hash is kept and nothing else; it is random, so that a plain hash will do.  Loop thread
 * only. */
struct clv_tokens;

int clv_tokens_new(
	struct clv_agent *agent, struct clv_tokens **ret, struct clv_error *err);
int clv_tokens_read(struct clv_tokens *tokens, struct clv_error *err);
struct clv_tokens *clv_tokens_free(struct clv_tokens *tokens);

/* Of a header "Bearer clv_...", or NULL.  -EACCES: it is missing, wrong or has expired.
 */
int clv_tokens_identify(struct clv_tokens *tokens, const char *header,
	struct clv_caller *ret, struct clv_error *err);

/* Whether the token of a caller who was identified before still counts: 0 or -EACCES. */
int clv_tokens_check(
	const struct clv_tokens *tokens, const char *id, struct clv_error *err);

/* *ret: the token as the API shows it, with its secret: that is seen this once. */
int clv_tokens_create(struct clv_tokens *tokens, const struct clv_token_request *request,
	json_t **ret, struct clv_error *err);
/* -ENOENT */
int clv_tokens_delete(struct clv_tokens *tokens, const char *id, struct clv_error *err);
/* Without secrets. */
json_t *clv_tokens_list(const struct clv_tokens *tokens);
/* One of them; NULL: there is none. */
json_t *clv_tokens_show(const struct clv_tokens *tokens, const char *id);
