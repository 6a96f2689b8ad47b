/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens in memory, loaded from the state file; their creation, check and deletion. */
#include "agent/auth/tokens.h"

#include "agent/config/config.h"
#include "agent/os/wire.h"
#include "agent/record/agent.h"
#include "agent/record/field-json.h"
#include "agent/record/token-fields.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "agent/user/owner.h"
#include "agent/user/users.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SECRET_BYTES 32u
#define VIEWER "viewer" /* the id of the token in the settings */

struct clv_tokens {
	struct clv_agent *agent;
	struct clv_token_record *items;
	size_t n;
};

static int load_one(void *userdata, const struct clv_token_record *record)
{
	struct clv_tokens *tokens = userdata;
	struct clv_token_record *slot = CLV_APPEND(tokens->items, tokens->n);

	if (!slot)
		return -ENOMEM;
	*slot = *record;
	return 0;
}

static struct clv_token_record *find(const struct clv_tokens *tokens, const char *id)
{
	for (size_t i = 0; i < tokens->n; i++) {
		if (strcmp(tokens->items[i].id, id) == 0)
			return &tokens->items[i];
	}
	return NULL;
}

/* Runs again when the state file could be opened only after the start.  A copy that was
 * read until then is no newer than the file, which does not have when each was used. */
int clv_tokens_read(struct clv_tokens *tokens, struct clv_error *err)
{
	struct clv_store *store = clv_state_get_readable(tokens->agent, NULL);
	struct clv_tokens before = *tokens;
	int r;

	tokens->items = NULL;
	tokens->n = 0;
	r = store ? clv_store_read_tokens(store, load_one, tokens, err) : 0;
	for (size_t i = 0; i < tokens->n; i++) {
		const struct clv_token_record *known = find(&before, tokens->items[i].id);

		if (known)
			tokens->items[i].last_used_real_ns = known->last_used_real_ns;
	}
	free(before.items);
	return r;
}

int clv_tokens_new(
	struct clv_agent *agent, struct clv_tokens **ret, struct clv_error *err)
{
	struct clv_tokens *tokens = calloc(1, sizeof(*tokens));
	int r;

	if (!tokens)
		return clv_error_errno(err, ENOMEM, "cannot load the tokens");
	tokens->agent = agent;
	r = clv_tokens_read(tokens, err);
	if (r < 0) {
		clv_tokens_free(tokens);
		return r;
	}
	*ret = tokens;
	return 0;
}

struct clv_tokens *clv_tokens_free(struct clv_tokens *tokens)
{
	if (tokens)
		free(tokens->items);
	free(tokens);
	return NULL;
}

/* Secrets. */

static void to_hex(const uint8_t *bytes, size_t n_bytes, char *ret)
{
	for (size_t i = 0; i < n_bytes; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

static int hash(const char *secret, uint8_t ret[CLV_TOKEN_HASH_BYTES])
{
	return gnutls_hash_fast(GNUTLS_DIG_SHA256, secret, strlen(secret), ret) < 0 ? -EIO
										    : 0;
}

/* Compares in constant time, so that a caller cannot find the hash byte by byte. */
static bool is_same(const uint8_t *a, const uint8_t *b)
{
	return gnutls_memcmp(a, b, CLV_TOKEN_HASH_BYTES) == 0;
}

/* Without the state file no token is known, which the caller is not told in detail. */
static int fail_unknown(const struct clv_tokens *tokens, struct clv_error *err)
{
	if (!clv_state_get_readable(tokens->agent, NULL))
		return clv_error_set(err, -EACCES,
			"the agent cannot read its tokens now: see cleave doctor on the "
			"node");
	return clv_error_set(err, -EACCES,
		"a valid token is needed: create one on the node with cleave token "
		"create");
}

static int check_time(const struct clv_token_record *token, struct clv_error *err)
{
	if (token->expires_real_ns == 0 || token->expires_real_ns > clv_clock_real_ns())
		return 0;
	return clv_error_set(err, -EACCES,
		"the token %s has expired: create a new one on the node with cleave "
		"token create",
		token->name);
}

/* All agents of a cluster may have this token, so that one client can watch them. */
static bool is_of_settings(const struct clv_tokens *tokens, const char *id,
	const uint8_t seen[CLV_TOKEN_HASH_BYTES])
{
	const char *secret = tokens->agent->settings->viewer_secret;
	uint8_t wanted[CLV_TOKEN_HASH_BYTES];

	return strcmp(id, VIEWER) == 0 && secret[0] && hash(secret, wanted) >= 0 &&
	       is_same(wanted, seen);
}

int clv_tokens_check(const struct clv_tokens *tokens, const struct clv_caller *caller,
	struct clv_error *err)
{
	const struct clv_token_record *token = find(tokens, caller->token);

	if (is_of_settings(tokens, caller->token, caller->of_settings))
		return 0;
	return token ? check_time(token, err) : fail_unknown(tokens, err);
}

static int fill_caller(const struct clv_token_record *token, struct clv_caller *ret,
	struct clv_error *err)
{
	struct clv_user user;
	int r;

	*ret = (struct clv_caller){.scope = token->scope, .uid = CLV_CALLER_NO_UID};
	snprintf(ret->subject, sizeof(ret->subject), "%s",
		token->tenant[0] ? token->tenant : token->name);
	snprintf(ret->token, sizeof(ret->token), "%s", token->id);
	if (token->tenant[0] == '\0')
		return 0;
	if (token->tenant[0] == CLV_OWNER_CGROUP) {
		ret->uid = clv_owner_of(token->tenant, CLV_CALLER_NO_UID);
		return 0;
	}
	r = clv_users_by_name(token->tenant, &user);
	if (r == -EINPROGRESS)
		return r;
	if (r < 0)
		return clv_error_set(err, -EACCES,
			"the token belongs to user %s, who no longer exists on this "
			"machine: use a token of another user",
			token->tenant);
	ret->uid = user.uid;
	ret->gid = user.gid;
	return 0;
}

int clv_tokens_identify(struct clv_tokens *tokens, const char *header,
	struct clv_caller *ret, struct clv_error *err)
{
	struct clv_token_record *token;
	uint8_t seen[CLV_TOKEN_HASH_BYTES];
	char id[CLV_TOKEN_ID_MAX];
	const char *secret;

	*ret = (struct clv_caller){.uid = CLV_CALLER_NO_UID};
	if (!header || !clv_wire_split_bearer(header, id, sizeof(id), &secret) ||
		hash(secret, seen) < 0)
		return fail_unknown(tokens, err);
	if (is_of_settings(tokens, id, seen)) {
		ret->scope = CLV_SCOPE_VIEWER;
		snprintf(ret->subject, sizeof(ret->subject), VIEWER);
		snprintf(ret->token, sizeof(ret->token), VIEWER);
		memcpy(ret->of_settings, seen, sizeof(ret->of_settings));
		return 0;
	}
	token = find(tokens, id);
	if (!token || !is_same(token->hash, seen))
		return fail_unknown(tokens, err);
	if (check_time(token, err) < 0)
		return err->code;
	token->last_used_real_ns = clv_clock_real_ns();
	return fill_caller(token, ret, err);
}

/* Creation and deletion. */

static json_t *to_json(const struct clv_token_record *token)
{
	struct clv_field_view view = {.record = token};

	return clv_field_to_json(&clv_token_fields, &view);
}

json_t *clv_tokens_list(const struct clv_tokens *tokens)
{
	json_t *items = json_array();

	for (size_t i = 0; i < tokens->n; i++)
		json_array_append_new(items, to_json(&tokens->items[i]));
	return items;
}

json_t *clv_tokens_show(const struct clv_tokens *tokens, const char *id)
{
	const struct clv_token_record *token = find(tokens, id);

	return token ? to_json(token) : NULL;
}

static int check_request(const struct clv_config *settings,
	const struct clv_token_request *request, struct clv_error *err)
{
	struct clv_user user;
	int r;

	if ((request->scope == CLV_SCOPE_TENANT) != (request->tenant[0] != '\0'))
		return clv_error_set(err, -EINVAL,
			"a token of scope tenant needs a tenant; a token of another "
			"scope has none");
	if (request->tenant[0] == CLV_OWNER_CGROUP) {
		if (clv_config_has_tenant(settings, request->tenant))
			return 0;
		return clv_error_set(err, -EINVAL,
			"the settings have no tenant %s: see GET /v1/tenants",
			request->tenant);
	}
	r = request->tenant[0] ? clv_users_by_name(request->tenant, &user) : 0;
	if (r == -EINPROGRESS)
		return r;
	if (r < 0)
		return clv_error_set(err, -EINVAL,
			"this machine has no user %s: give an existing user as tenant",
			request->tenant);
	return 0;
}

/* Makes a random id and secret, in hexadecimal digits. */
static int make_secret(struct clv_token_record *token, char secret[2 * SECRET_BYTES + 1])
{
	uint8_t bytes[SECRET_BYTES], id[6];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes) ||
		getrandom(id, sizeof(id), 0) != sizeof(id))
		return -EIO;
	to_hex(id, sizeof(id), token->id);
	to_hex(bytes, sizeof(bytes), secret);
	return hash(secret, token->hash);
}

int clv_tokens_create(struct clv_tokens *tokens, const struct clv_token_request *request,
	json_t **ret, struct clv_error *err)
{
	struct clv_store *store = clv_state_get(tokens->agent, err);
	struct clv_token_record token = {
		.scope = request->scope,
		.created_real_ns = clv_clock_real_ns(),
	};
	char secret[2 * SECRET_BYTES + 1], whole[128];
	int r = store ? check_request(tokens->agent->settings, request, err) : err->code;

	if (r < 0)
		return r;
	snprintf(token.name, sizeof(token.name), "%s", request->name);
	snprintf(token.tenant, sizeof(token.tenant), "%s", request->tenant);
	if (request->expires_in_s > 0)
		token.expires_real_ns =
			token.created_real_ns + request->expires_in_s * CLV_NS_PER_S;
	if (make_secret(&token, secret) < 0)
		return clv_error_set(err, -EIO, "cannot create a token: no random bytes");
	r = clv_store_put_token(store, &token, err);
	if (r >= 0 && load_one(tokens, &token) < 0)
		r = clv_error_errno(err, ENOMEM, "cannot load the tokens");
	if (r < 0)
		return r;
	snprintf(whole, sizeof(whole), CLV_TOKEN_PREFIX "%s_%s", token.id, secret);
	*ret = to_json(&token);
	json_object_set_new(*ret, "secret", json_string(whole));
	return 0;
}

int clv_tokens_delete(struct clv_tokens *tokens, const char *id, struct clv_error *err)
{
	struct clv_store *store = clv_state_get(tokens->agent, err);
	struct clv_token_record *token = find(tokens, id);
	int r;

	if (!store)
		return err->code;
	if (!token)
		return clv_error_set(err, -ENOENT,
			"there is no token %.40s: see cleave token list", id);
	r = clv_store_delete_token(store, id, err);
	if (r >= 0)
		*token = tokens->items[--tokens->n];
	return r;
}
