/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of supervisors, and actions that users ask for: what is accepted is accepted
 * again as the agent writes it. */
#include "fuzz.h"

#include "agent/api/request/request-object.h"
#include "agent/http/http.h"
#include "base/error.h"

static void check_texts(const json_t *value)
{
	const char *text = json_string_value(value), *key;
	json_t *member;
	size_t i;

	for (const char *p = text; p && *p; p++)
		CLV_MUST((unsigned char)*p >= ' ');
	json_object_foreach ((json_t *)value, key, member)
		check_texts(member);
	json_array_foreach (value, i, member)
		check_texts(member);
}

static void check_accepted(const char *schema, const json_t *value)
{
	char *text = json_dumps(value, CLV_ANSWER_FLAGS);
	json_t *again = NULL;

	check_texts(value);
	CLV_MUST(text);
	if (strlen(text) <= CLV_REQUEST_MAX_BYTES)
		CLV_MUST(clv_request_parse_object(
				 schema, text, strlen(text), &again, NULL) == 0);
	json_decref(again);
	free(text);
}

static void check_refused(int r, const struct clv_error *err)
{
	CLV_MUST(err->code == r && err->msg[0] != '\0');
	for (const char *p = err->msg; *p; p++)
		CLV_MUST((unsigned char)*p >= ' ');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	static const char *const schemas[] = {"ProjectReport", "ActionRequest"};

	for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++) {
		struct clv_error err = {0};
		json_t *value = NULL;
		int r = clv_request_parse_object(
			schemas[i], (const char *)data, n_bytes, &value, &err);

		if (r >= 0)
			check_accepted(schemas[i], value);
		else
			check_refused(r, &err);
		CLV_MUST((r >= 0) == (value != NULL));
		json_decref(value);
	}
	return 0;
}
