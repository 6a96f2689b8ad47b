/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, plans and operations are made once for all callers; what of them is not a
 * tenant's to know is taken out when he asks. */
#include "agent/api/hide.h"

#include "agent/http/http.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"

#include <stdio.h>
#include <string.h>

#define INSTEAD "a lease of another tenant"

static bool is_hidden(const struct clv_request *request, const json_t *holder)
{
	const char *id = json_string_value(json_object_get(holder, "lease"));

	return id && id[0] != '\0' &&
	       !clv_ledger_find(request->agent->ledger, id, &request->caller, NULL);
}

/* The message of an operation that failed quotes the first of its holders. */
static void hide_in_error(json_t *operation, const char *text)
{
	json_t *error = json_object_get(operation, "error");
	const char *detail = json_string_value(json_object_get(error, "detail"));
	const char *at = detail && text ? strstr(detail, text) : NULL;
	char clean[512];

	if (!at)
		return;
	snprintf(clean, sizeof(clean), "%.*s" INSTEAD "%s", (int)(at - detail), detail,
		at + strlen(text));
	json_object_set_new(error, "detail", json_string(clean));
}

static void hide_holders(
	const struct clv_request *request, json_t *holders, json_t *operation)
{
	json_t *holder;
	size_t i;

	json_array_foreach (holders, i, holder) {
		if (!is_hidden(request, holder))
			continue;
		hide_in_error(
			operation, json_string_value(json_object_get(holder, "text")));
		json_object_set_new(holder, "text", json_string(INSTEAD));
		json_object_set_new(holder, "lease", json_string(""));
		json_object_set_new(holder, "pid", json_integer(0));
	}
}

/* Answers are a few levels deep: a device, its partitions, their parts. */
static void walk(const struct clv_request *request, json_t *value, json_t *operation)
{
	json_t *member;
	const char *key;
	size_t i;

	if (json_object_get(value, "obstacles"))
		operation = value;
	hide_holders(request, json_object_get(value, "holders"), operation);
	json_object_foreach (value, key, member)
		walk(request, member, operation);
	json_array_foreach (value, i, member)
		walk(request, member, operation);
}

void clv_hide_others(struct clv_request *request)
{
	json_t *copy;

	if (request->caller.scope != CLV_SCOPE_TENANT || !request->answer)
		return;
	/* Parts of it may be the operation's own. */
	copy = json_deep_copy(request->answer);
	json_decref(request->answer);
	request->answer = copy;
	walk(request, request->answer, NULL);
}
