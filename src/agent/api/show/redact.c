/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, plans, layouts and operations are rendered the same for all callers; this
 * removes from an answer to a tenant what a tenant may not see. */
#include "agent/api/show/redact.h"

#include "agent/http/http.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"

#include <string.h>

#define REDACTED "a lease of another tenant"
#define REDACTED_PROCESS "a process"
#define REDACTED_WHY "admins see what is in the way"
#define REDACTED_ERROR "admins see why"

/* What drivers see has no lease: a process, or a text. */
static const char *redacted_holder(
	const struct clv_request *request, const json_t *holder)
{
	const char *id = json_string_value(json_object_get(holder, "lease"));

	if (!id || id[0] == '\0')
		return json_integer_value(json_object_get(holder, "pid"))
			       ? REDACTED_PROCESS
			       : NULL;
	return clv_ledger_find(request->agent->ledger, id, &request->caller, NULL)
		       ? NULL
		       : REDACTED;
}

static void redact_holders(const struct clv_request *request, json_t *holders)
{
	json_t *holder;
	size_t i;

	json_array_foreach (holders, i, holder) {
		const char *text = redacted_holder(request, holder);

		if (!text)
			continue;
		json_object_set_new(holder, "text", json_string(text));
		json_object_set_new(holder, "lease", json_string(""));
		json_object_set_new(holder, "pid", json_integer(0));
	}
}

/* The errors of an operation quote holders: its own, and those of devices that it has
 * left. */
static void redact_error(json_t *operation)
{
	json_t *error = json_object_get(operation, "error");

	if (json_object_get(operation, "obstacles") && json_is_object(error))
		json_object_set_new(error, "detail", json_string(REDACTED_ERROR));
}

/* So do the reasons why a device is left, or waits for the kept layout. */
static void redact_why(json_t *device)
{
	const char *why = json_string_value(json_object_get(device, "why"));
	const char *state = json_string_value(json_object_get(device, "state"));

	if (!why || why[0] == '\0' || !json_object_get(device, "steps"))
		return;
	if (!state || strcmp(state, "busy") == 0 || strcmp(state, "failed") == 0)
		json_object_set_new(device, "why", json_string(REDACTED_WHY));
}

/* Answers are a few levels deep: a device, its partitions, their parts. */
static void redact_value(const struct clv_request *request, json_t *value)
{
	json_t *member;
	const char *key;
	size_t i;

	redact_holders(request, json_object_get(value, "holders"));
	redact_error(value);
	redact_why(value);
	json_object_foreach (value, key, member)
		redact_value(request, member);
	json_array_foreach (value, i, member)
		redact_value(request, member);
}

/* The item may share values with the operation that it shows. */
json_t *clv_redact_item(const struct clv_request *request, json_t *item)
{
	json_t *copy;

	if (request->caller.scope != CLV_SCOPE_TENANT || !item)
		return item;
	copy = json_deep_copy(item);
	json_decref(item);
	redact_value(request, copy);
	return copy;
}

void clv_redact_others(struct clv_request *request)
{
	request->answer = clv_redact_item(request, request->answer);
}
