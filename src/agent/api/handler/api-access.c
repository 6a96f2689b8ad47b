/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of the caller's identity, tenants and tokens. */
#include "agent/api/handler/api.h"
#include "agent/api/request/request.h"
#include "agent/auth/tokens.h"
#include "agent/ledger/tenants.h"
#include "agent/os/json-fields.h"
#include "agent/record/agent.h"
#include "agent/record/token-fields.h"
#include "agent/store/state.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPIRES_MAX_S (10 * 365 * 86400)

int clv_api_whoami(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const struct clv_caller *caller = &request->caller;
	char node[256] = "";
	json_t *object = json_object();
	/* The viewer token of the settings has no record. */
	json_t *token = clv_tokens_show(request->agent->tokens, caller->token);

	gethostname(node, sizeof(node) - 1);
	clv_json_set_text(object, "subject", caller->subject);
	json_object_set_new(object, "uid", clv_tenant_uid_to_json(caller->uid));
	json_object_set_new(
		object, "scope", json_string(clv_scope_to_string(caller->scope)));
	json_object_set_new(object, "token", token ? token : json_null());
	clv_json_set_text(object, "node", node);
	json_object_set_new(object, "version", json_string(CLV_VERSION));
	json_object_set_new(
		object, "system", json_boolean(request->agent->config.is_system));
	request->status = 200;
	request->answer = object;
	return 0;
}

int clv_api_get_tenants(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	json_t *items;

	if (clv_tenants_to_json(request->agent, &request->caller, &items) < 0)
		return clv_http_await_user(request, err);
	request->status = 200;
	request->answer = clv_api_list(items, 0);
	return 0;
}

int clv_api_get_tokens(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	if (!clv_state_get_readable(request->agent, err))
		return err->code;
	request->status = 200;
	request->answer = clv_api_list(clv_tokens_list(request->agent->tokens), 0);
	return 0;
}

static int read_scope(
	const json_t *value, struct clv_token_request *into, struct clv_error *err)
{
	const char *text = json_string_value(value);

	into->scope = text ? clv_scope_from_string(text) : _CLV_SCOPE_INVALID;
	return into->scope < 0
		       ? clv_error_set(err, -EINVAL,
				 "scope must be \"admin\", \"tenant\" or \"viewer\"")
		       : 0;
}

static int read_token_name(
	const json_t *value, struct clv_token_request *into, struct clv_error *err)
{
	const char *text = json_string_value(value);

	if (!text || clv_lease_check_name(text, NULL) < 0)
		return clv_error_set(err, -EINVAL,
			"name has 1 to 63 letters, digits, dots, dashes or underscores "
			"and starts with a letter or digit");
	snprintf(into->name, sizeof(into->name), "%s", text);
	return 0;
}

static int read_tenant(
	const json_t *value, struct clv_token_request *into, struct clv_error *err)
{
	const char *text = json_string_value(value);

	if (json_is_null(value))
		return 0;
	if (!text || text[0] == '\0' || strlen(text) >= sizeof(into->tenant))
		return clv_error_set(err, -EINVAL, "tenant must be the name of a user");
	snprintf(into->tenant, sizeof(into->tenant), "%s", text);
	return 0;
}

static int read_expires(
	const json_t *value, struct clv_token_request *into, struct clv_error *err)
{
	json_int_t seconds = json_integer_value(value);

	if (json_is_null(value))
		return 0;
	if (!json_is_integer(value) || seconds < 1 || seconds > EXPIRES_MAX_S)
		return clv_error_set(err, -EINVAL,
			"expires_in must be a whole number of seconds from 1 to %d",
			EXPIRES_MAX_S);
	into->expires_in_s = (uint64_t)seconds;
	return 0;
}

static const struct {
	const char *name;
	int (*read)(const json_t *value, struct clv_token_request *into,
		struct clv_error *err);
} readers[] = {
	{"name", read_token_name},
	{"scope", read_scope},
	{"tenant", read_tenant},
	{"expires_in", read_expires},
};

static int read_field(const char *name, const json_t *value,
	struct clv_token_request *into, struct clv_error *err)
{
	char known[128];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(readers); i++) {
		if (strcmp(readers[i].name, name) == 0)
			return readers[i].read(value, into, err);
	}
	clv_field_list_asked(
		&clv_token_fields, CLV_FIELD_CREATE, "and", known, sizeof(known));
	return clv_error_set(err, -EINVAL, "unknown field: known are %s", known);
}

static int read_token(const struct clv_request *request, struct clv_token_request *ret,
	struct clv_error *err)
{
	json_t *body = json_loadb(
		request->body, request->n_body_bytes, JSON_REJECT_DUPLICATES, NULL);
	const char *key;
	json_t *value;
	int r = 0;

	*ret = (struct clv_token_request){.scope = _CLV_SCOPE_INVALID};
	if (!json_is_object(body))
		r = clv_error_set(err, -EINVAL, "the body must be a JSON object");
	json_object_foreach (body, key, value) {
		if (r >= 0)
			r = read_field(key, value, ret, err);
	}
	if (r >= 0 && (ret->scope < 0 || ret->name[0] == '\0'))
		r = clv_error_set(err, -EINVAL, "a token needs a name and a scope");
	json_decref(body);
	return r;
}

int clv_api_post_token(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_token_request wanted;
	int r = read_token(request, &wanted, err);

	if (r >= 0)
		r = clv_tokens_create(
			request->agent->tokens, &wanted, &request->answer, err);
	if (r == -EINPROGRESS)
		return clv_http_await_user(request, err);
	if (r < 0)
		return r;
	snprintf(request->object, sizeof(request->object), "%s",
		json_string_value(json_object_get(request->answer, "id")));
	snprintf(request->detail, sizeof(request->detail), "%s, %s%s%s", wanted.name,
		clv_scope_to_string(wanted.scope), wanted.tenant[0] ? " of " : "",
		wanted.tenant);
	request->status = 201;
	return 0;
}

int clv_api_delete_token(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	int r = clv_tokens_delete(request->agent->tokens, argument, err);

	request->status = 204;
	/* Connections that wait with this token must end too. */
	if (r >= 0)
		clv_http_wake(request->agent->http, ~0u);
	return r;
}
