/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an HTTP request that the agent parses itself: percent encoding, the path,
 * the Authorization header, keys, and numbers of the query. */
#include "fuzz.h"

#include "agent/api/request/request.h"
#include "agent/os/wire.h"
#include "base/error.h"

static void check_unescape(const char *text)
{
	char *copy = strdup(text);
	size_t n;

	CLV_MUST(copy);
	n = clv_wire_unescape(copy);
	CLV_MUST(n == strlen(copy) && n <= strlen(text));
	if (!strchr(text, '%'))
		CLV_MUST(strcmp(copy, text) == 0);
	free(copy);
}

static void check_match(const char *path)
{
	static const char *const routes[] = {"/v1/leases", "/v1/leases/{lease}",
		"/v1/devices/{device}/cordon", "/healthz"};
	unsigned int n_matches = 0;
	char argument[16];

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		bool has_argument = strchr(routes[i], '{') != NULL;

		memset(argument, 'x', sizeof(argument));
		if (!clv_wire_match(routes[i], path, argument, sizeof(argument)))
			continue;
		n_matches++;
		CLV_MUST(memchr(argument, '\0', sizeof(argument)));
		CLV_MUST((argument[0] != '\0') == has_argument);
		CLV_MUST(!strchr(argument, '/'));
		CLV_MUST(strstr(path, argument));
	}
	CLV_MUST(n_matches <= 1);
}

static void check_bearer(const char *header)
{
	const char *secret = NULL;
	char id[16];

	if (!clv_wire_split_bearer(header, id, sizeof(id), &secret))
		return;
	CLV_MUST(memchr(id, '\0', sizeof(id)) && id[0] != '\0' && !strchr(id, '_'));
	CLV_MUST(secret > header && secret <= header + strlen(header));
	CLV_MUST(secret[-1] == '_');
}

static void check_number(const char *text)
{
	uint64_t number = UINT64_MAX;
	struct clv_error err = {0};

	if (clv_request_parse_number("limit", text, 10000, &number, &err) < 0)
		CLV_MUST(number == UINT64_MAX && err.msg[0]);
	else
		CLV_MUST(number <= 10000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	char *text = clv_fuzz_text(data, n_bytes);

	check_unescape(text);
	check_match(text);
	check_bearer(text);
	check_number(text);
	if (clv_wire_is_key(text, 64))
		CLV_MUST(strlen(text) > 0 && strlen(text) < 64 && !strchr(text, ' '));
	free(text);
	return 0;
}
