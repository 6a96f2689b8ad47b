/* SPDX-License-Identifier: Apache-2.0 */
/* Idempotency keys: a digest of each request with a key is stored with the object that
 * the request created. */
#include "agent/api/idempotency.h"

#include "agent/api/handler/api.h"
#include "agent/api/show/render.h"
#include "agent/apply/apply.h"
#include "agent/auth/tokens.h"
#include "agent/http/problem.h"
#include "agent/ledger/ledger.h"
#include "agent/os/digest.h"
#include "agent/os/wire.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "agent/user/owner.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_NS (UINT64_C(86400) * CLV_NS_PER_S)

/* Renderers of an object that a request created, in its current state; NULL: it has
 * ended. */
static json_t *show_lease(struct clv_request *request, const char *id)
{
	struct clv_lease *lease =
		clv_ledger_find(request->agent->ledger, id, &request->caller, NULL);

	return lease ? clv_render_lease(lease) : NULL;
}

static json_t *show_operation(struct clv_request *request, const char *id)
{
	struct clv_operation *op = clv_apply_find(request->agent->apply, id, NULL);

	return op ? clv_operation_to_json(op) : NULL;
}

static json_t *show_token(struct clv_request *request, const char *id)
{
	return clv_tokens_show(request->agent->tokens, id);
}

static const struct {
	const char *action;
	json_t *(*show)(struct clv_request *request, const char *id);
} creators[] = {
	{"lease.create", show_lease},
	{"partition.create", show_operation},
	{"layout.apply", show_operation},
	{"token.create", show_token},
};

/* The digest covers the query as well as the body.  Returns 0 or -ENOMEM. */
static int digest_request(const struct clv_request *request,
	const struct clv_route *route, char ret[CLV_DIGEST_MAX])
{
	const char *name = route->query ? route->query : "";
	char *text = NULL;
	size_t n_bytes = 0;
	FILE *out = open_memstream(&text, &n_bytes);

	if (!out)
		return -ENOMEM;
	fprintf(out, "%s %s\n", request->method, request->path);
	while (*name != '\0') {
		char key[32];
		const char *value;

		snprintf(key, sizeof(key), "%.*s", (int)strcspn(name, " "), name);
		value = clv_request_argument(request, key);
		fprintf(out, "%s=%s\n", value ? key : "", value ? value : "");
		name += strcspn(name, " ");
		name += *name == ' ';
	}
	fwrite(request->body, 1, request->n_body_bytes, out);
	if (fclose(out) == 0)
		clv_digest(text, n_bytes, ret);
	free(text);
	return ret[0] ? 0 : -ENOMEM;
}

static int fill_key(const struct clv_request *request, const struct clv_route *route,
	const char *key, struct clv_key_record *ret)
{
	char digest[CLV_DIGEST_MAX] = "", subject[64];
	int r = digest_request(request, route, digest);

	*ret = (struct clv_key_record){.time_real_ns = clv_clock_real_ns()};
	clv_owner_account_name(
		request->caller.subject, request->caller.uid, subject, sizeof(subject));
	snprintf(ret->subject, sizeof(ret->subject), "%s/%s", subject,
		request->caller.token);
	snprintf(ret->key, sizeof(ret->key), "%s", key);
	snprintf(
		ret->request, sizeof(ret->request), "%.24s %.40s", route->action, digest);
	return r;
}

static int replay_answer(struct clv_request *request, const struct clv_route *route,
	const struct clv_key_record *key, struct clv_error *err)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(creators); i++) {
		if (strcmp(creators[i].action, route->action) == 0)
			request->answer = creators[i].show(request, key->object);
	}
	if (!request->answer)
		return clv_error_set(err, -ECANCELED,
			"the object that this key created, %s, has ended: use a new key",
			key->object);
	request->status = route->status;
	clv_request_set_header(request, "Idempotency-Replayed", "true");
	return 1;
}

static bool is_creator(const struct clv_route *route)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(creators); i++) {
		if (route->action && strcmp(creators[i].action, route->action) == 0)
			return true;
	}
	return false;
}

int clv_idempotency_begin(
	struct clv_request *request, const struct clv_route *route, struct clv_error *err)
{
	const char *key = clv_request_header(request, "Idempotency-Key");
	struct clv_agent *agent = request->agent;
	struct clv_store *store = clv_state_get(agent, NULL);
	struct clv_key_record known;

	agent->state->current_key.key[0] = '\0';
	if (!key || !is_creator(route) || !store)
		return 0;
	if (!clv_wire_is_key(key, sizeof(known.key)))
		return clv_error_set(err, -EINVAL,
			"Idempotency-Key must be 1 to %zu printable characters without "
			"blanks",
			sizeof(known.key) - 1);
	if (fill_key(request, route, key, &agent->state->current_key) < 0)
		return clv_error_errno(err, ENOMEM, "cannot process the request");
	known = agent->state->current_key;
	if (clv_store_get_key(store, &known, NULL) < 0 ||
		known.time_real_ns + KEPT_NS < agent->state->current_key.time_real_ns)
		return 0;
	if (strcmp(known.request, agent->state->current_key.request) != 0)
		return clv_error_set(err, -EINVAL,
			"this Idempotency-Key was used with another request: use a new "
			"one");
	return replay_answer(request, route, &known, err);
}

void clv_idempotency_end(struct clv_request *request, int result)
{
	struct clv_error err = {0};

	if (result == 0 && clv_state_put_key(request->agent, request->object, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	request->agent->state->current_key.key[0] = '\0';
}

void clv_idempotency_forget(struct clv_agent *agent)
{
	struct clv_store *store = clv_state_get(agent, NULL);

	if (store)
		clv_store_drop_keys(store, clv_clock_real_ns() - KEPT_NS, NULL);
}
