/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, plans and operations are rendered the same for all callers; this removes from an
 * answer to a tenant what a tenant may not see. */
#include "agent/api/redact.h"

#include "agent/http/http.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"

#include <stdio.h>
#include <string.h>

#define REDACTED "a lease of another tenant"

static bool is_of_others(const struct clv_request *request, const json_t *holder)
{
	const char *id = json_string_value(json_object_get(holder, "lease"));

	return id && id[0] != '\0' &&
	       !clv_ledger_find(request->agent->ledger, id, &request->caller, NULL);
}

/* The message of an operation that failed quotes the first of its holders. */
static void redact_error(json_t *operation, const char *text)
{
	json_t *error = json_object_get(operation, "error");
	const char *detail = json_string_value(json_object_get(error, "detail"));
	const char *at = detail && text ? strstr(detail, text) : NULL;
	char clean[512];

	if (!at)
		return;
	snprintf(clean, sizeof(clean), "%.*s" REDACTED "%s", (int)(at - detail), detail,
		at + strlen(text));
	json_object_set_new(error, "detail", json_string(clean));
}

static void redact_holders(
	const struct clv_request *request, json_t *holders, json_t *operation)
{
	json_t *holder;
	size_t i;

	json_array_foreach (holders, i, holder) {
		if (!is_of_others(request, holder))
			continue;
		redact_error(
			operation, json_string_value(json_object_get(holder, "text")));
		json_object_set_new(holder, "text", json_string(REDACTED));
		json_object_set_new(holder, "lease", json_string(""));
		json_object_set_new(holder, "pid", json_integer(0));
	}
}

/* Answers are a few levels deep: a device, its partitions, their parts. */
static void redact_value(
	const struct clv_request *request, json_t *value, json_t *operation)
{
	json_t *member;
	const char *key;
	size_t i;

	if (json_object_get(value, "obstacles"))
		operation = value;
	redact_holders(request, json_object_get(value, "holders"), operation);
	json_object_foreach (value, key, member)
		redact_value(request, member, operation);
	json_array_foreach (value, i, member)
		redact_value(request, member, operation);
}

void clv_redact_others(struct clv_request *request)
{
	json_t *copy;

	if (request->caller.scope != CLV_SCOPE_TENANT || !request->answer)
		return;
	/* The answer may share values with the operation that it shows. */
	copy = json_deep_copy(request->answer);
	json_decref(request->answer);
	request->answer = copy;
	redact_value(request, request->answer, NULL);
}
