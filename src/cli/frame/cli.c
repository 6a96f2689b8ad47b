/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes, error messages and the connection to the agent, for all verbs.  An error is
 * one line on stderr, whatever the output format, so that stdout holds only data. */
#include "cli/frame/cli.h"

#include "cli/frame/output.h"
#include "cli/frame/terminal.h"

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
	{ "no_such_path",   CLV_EXIT_USAGE },
	{ "no_such_device", CLV_EXIT_USAGE },
	{ "name_in_use",    CLV_EXIT_USAGE },
	{ "too_large",      CLV_EXIT_USAGE },
	{ "no_input",       CLV_EXIT_NO_INPUT },
	{ "bad_layout",     CLV_EXIT_BAD_FILE },
	{ "not_permitted",  CLV_EXIT_NOT_PERMITTED },
	{ "in_use",         CLV_EXIT_NO_FIT },
	{ "does_not_fit",   CLV_EXIT_NO_FIT },
	{ "ended",          CLV_EXIT_NO_FIT },
	{ "unavailable",    CLV_EXIT_NO_FIT },
	{ "unreachable",    CLV_EXIT_UNREACHABLE },
	{ "other_version",  CLV_EXIT_UNREACHABLE },
	{ "interrupted",    CLV_EXIT_SIGNAL + 2 },
	/* clang-format on */
};

static void (*print_error)(const char *line);

void clv_cli_print_errors_by(void (*print)(const char *line))
{
	print_error = print;
}

int clv_cli_fail(int exit_code, const char *format, ...)
{
	char line[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* The message may quote text from another process. */
	clv_terminal_sanitize(line);
	fflush(stdout);
	if (print_error)
		print_error(line);
	else
		fprintf(stderr, "cleave: %s\n", line);
	return exit_code;
}

int clv_cli_exit_code(const char *code)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(exit_codes); i++) {
		if (strcmp(exit_codes[i].code, code) == 0)
			return exit_codes[i].exit_code;
	}
	return CLV_EXIT_FAILED;
}

int clv_cli_fail_client(const struct clv_client_error *err)
{
	return clv_cli_fail(clv_cli_exit_code(err->code), "%s", err->msg);
}

int clv_cli_fail_named(const char *name, const struct clv_client_error *err)
{
	return clv_cli_fail(clv_cli_exit_code(err->code), "'%.64s': %s", name, err->msg);
}

struct clv_client_options clv_cli_options(
	const struct clv_common *common, bool start_agent)
{
	return (struct clv_client_options){
		.socket_path = common->socket,
		.sim_path = common->sim,
		.start_agent = start_agent,
	};
}

int clv_cli_check_sim(const struct clv_common *common, struct clv_client *client)
{
	_cleanup_json_ json_t *node = NULL;
	const json_t *problem;

	if (!common->sim || clv_client_node(client, &node, NULL) < 0 ||
		json_array_size(json_object_get(node, "devices")) > 0)
		return 0;
	problem = json_array_get(json_object_get(node, "problems"), 0);
	if (!json_is_string(problem))
		return 0;
	return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", json_string_value(problem));
}

int clv_cli_connect(
	const struct clv_common *common, bool start_agent, struct clv_client **ret)
{
	struct clv_client_options options = clv_cli_options(common, start_agent);
	struct clv_client_error err;

	if (clv_client_new(&options, ret, &err) < 0)
		return clv_cli_fail_client(&err);
	return clv_cli_check_sim(common, *ret);
}

int clv_cli_list(const struct clv_common *common, bool start_agent,
	int (*fetch)(
		struct clv_client *client, json_t **ret, struct clv_client_error *err),
	const struct clv_listing *listing)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *list = NULL;
	struct clv_client_error err;
	int r = clv_cli_connect(common, start_agent, &client);

	if (r)
		return r;
	if (fetch(client, &list, &err) < 0)
		return clv_cli_fail_client(&err);
	if (clv_output_list(listing, common->output, list) < 0)
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
