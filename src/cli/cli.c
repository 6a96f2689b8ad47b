/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs have in common.  Errors are one line on stderr, whatever the output
 * format, so that stdout holds data or nothing. */
#include "cli/cli.h"

#include "cli/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *code;
	enum clv_exit exit_code;
} exit_codes[] = {
	/* clang-format off */
	{ "bad_request",    CLV_EXIT_USAGE },
	{ "not_found",      CLV_EXIT_USAGE },
	{ "no_such_device", CLV_EXIT_USAGE },
	{ "name_in_use",    CLV_EXIT_USAGE },
	{ "too_large",      CLV_EXIT_USAGE },
	{ "not_permitted",  CLV_EXIT_NOT_PERMITTED },
	{ "in_use",         CLV_EXIT_NO_FIT },
	{ "does_not_fit",   CLV_EXIT_NO_FIT },
	{ "unreachable",    CLV_EXIT_UNREACHABLE },
	{ "other_version",  CLV_EXIT_UNREACHABLE },
	{ "interrupted",    CLV_EXIT_SIGNAL + 2 },
	/* clang-format on */
};

int clv_cli_fail(int exit_code, const char *format, ...)
{
	char line[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fflush(stdout);
	fprintf(stderr, "cleave: %s\n", line);
	return exit_code;
}

static int exit_code_of(const struct clv_client_error *err)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(exit_codes); i++) {
		if (strcmp(exit_codes[i].code, err->code) == 0)
			return exit_codes[i].exit_code;
	}
	return CLV_EXIT_FAILED;
}

int clv_cli_fail_client(const struct clv_client_error *err)
{
	return clv_cli_fail(exit_code_of(err), "%s", err->msg);
}

int clv_cli_fail_named(const char *name, const struct clv_client_error *err)
{
	return clv_cli_fail(exit_code_of(err), "'%.64s': %s", name, err->msg);
}

int clv_cli_connect(
	const struct clv_settings *settings, bool start_agent, struct clv_client **ret)
{
	struct clv_client_options options = {
		.socket_path = settings->socket,
		.start_agent = start_agent,
	};
	struct clv_client_error err;

	if (clv_client_new(&options, ret, &err) < 0)
		return clv_cli_fail_client(&err);
	return 0;
}

int clv_cli_list(const struct clv_settings *settings, bool start_agent,
	int (*fetch)(
		struct clv_client *client, json_t **ret, struct clv_client_error *err),
	const struct clv_listing *listing)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *list = NULL;
	struct clv_client_error err;
	int r = clv_cli_connect(settings, start_agent, &client);

	if (r)
		return r;
	if (fetch(client, &list, &err) < 0)
		return clv_cli_fail_client(&err);
	if (clv_output_list(listing, settings->output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the list: %m");

	return CLV_EXIT_OK;
}

const char *clv_json_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

double clv_json_number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

uint64_t clv_json_bytes(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

bool clv_json_flag(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}
