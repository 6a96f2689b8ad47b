/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of supervisors: what is accepted is accepted again as the agent writes it. */
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

static void check_report(const json_t *report)
{
	char *text = json_dumps(report, CLV_ANSWER_FLAGS);
	json_t *again = NULL;

	CLV_MUST(json_is_array(json_object_get(report, "services")));
	CLV_MUST(json_is_array(json_object_get(report, "decisions")));
	check_texts(report);
	CLV_MUST(text);
	if (strlen(text) <= CLV_REQUEST_MAX_BYTES)
		CLV_MUST(clv_request_parse_object(
				 "ProjectReport", text, strlen(text), &again, NULL) == 0);
	json_decref(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_error err = {0};
	json_t *report = NULL;
	int r = clv_request_parse_object(
		"ProjectReport", (const char *)data, n_bytes, &report, &err);

	if (r >= 0) {
		check_report(report);
		json_decref(report);
		return 0;
	}
	CLV_MUST(err.code == r && err.msg[0] != '\0' && !report);
	for (const char *p = err.msg; *p; p++)
		CLV_MUST((unsigned char)*p >= ' ');
	return 0;
}
