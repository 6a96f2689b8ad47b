/* SPDX-License-Identifier: Apache-2.0 */
/* cleave token: manages the tokens that authenticate callers over the network. */
#include "cli/frame/verbs.h"

#include "base/clock.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"

#include <stdio.h>
#include <string.h>

struct token_settings {
	struct clv_common common;
	const char *scope;
	const char *tenant;
	uint64_t expires_ns;
};

static void cell_when(const json_t *row, const char *key, char ret[CLV_CELL_MAX])
{
	const char *text = clv_json_text(row, key);

	snprintf(ret, CLV_CELL_MAX, "%s", text[0] ? text : "never");
}

static void cell_expires(const json_t *row, char ret[CLV_CELL_MAX])
{
	cell_when(row, "expires_at", ret);
}

static void cell_used(const json_t *row, char ret[CLV_CELL_MAX])
{
	cell_when(row, "last_used_at", ret);
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header     cell          right  fit    rank rare   key */
	{ "ID",       NULL,         false, WHOLE, 0,   false, "id" },
	{ "NAME",     NULL,         false, WHOLE, 0,   false, "name" },
	{ "SCOPE",    NULL,         false, WHOLE, 0,   false, "scope" },
	{ "TENANT",   NULL,         false, WHOLE, 1,   true,  "tenant" },
	{ "EXPIRES",  cell_expires, false, WHOLE, 1,   false, NULL },
	{ "LAST USE", cell_used,    false, WHOLE, 2,   false, NULL },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "id",
	.none = "no tokens: cleave token create creates one",
};

static int run_list(const struct token_settings *settings, int argc, char **argv)
{
	return clv_cli_list(&settings->common, true, clv_client_tokens, &listing);
}

static int run_create(const struct token_settings *settings, int argc, char **argv)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *token = NULL;
	struct clv_client_token_request request = {
		.name = argv[0],
		.scope = settings->scope ? settings->scope
					 : (settings->tenant ? "tenant" : "viewer"),
		.tenant = settings->tenant,
		.expires_in_s = settings->expires_ns / CLV_NS_PER_S,
	};
	struct clv_client_error err;
	int r = clv_cli_connect(&settings->common, true, &client);

	if (r)
		return r;
	if (clv_client_token_create(client, &request, &token, &err) < 0)
		return clv_cli_fail_client(&err);
	if (settings->common.output && strcmp(settings->common.output, "table") != 0) {
		if (clv_output_object(&listing, settings->common.output, token) < 0)
			return clv_cli_fail(
				CLV_EXIT_FAILED, "cannot write the token: %m");
		return CLV_EXIT_OK;
	}
	/* Standard output has the token only, for scripts. */
	printf("%s\n", clv_json_text(token, "secret"));
	if (isatty(STDOUT_FILENO))
		fprintf(stderr, "cleave: keep the token: it is not shown again\n");
	return CLV_EXIT_OK;
}

static int run_delete(const struct token_settings *settings, int argc, char **argv)
{
	_cleanup_client_ struct clv_client *client = NULL;
	struct clv_client_error err;
	int r = clv_cli_connect(&settings->common, true, &client);

	for (int i = 0; i < argc && !r; i++) {
		if (clv_client_token_delete(client, argv[i], &err) < 0)
			r = clv_cli_fail_client(&err);
	}
	return r;
}

static const struct {
	const char *name, *arguments;
	int least, most; /* -1: any number */
	int (*run)(const struct token_settings *settings, int argc, char **argv);
} verbs[] = {
	{"create", "NAME", 1, 1, run_create},
	{"delete", "ID...", 1, -1, run_delete},
	{"list", "", 0, 0, run_list},
};

static int run_token(const void *userdata, int argc, char **argv)
{
	const struct token_settings *settings = userdata;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, argv[0]) != 0)
			continue;
		if (argc - 1 < verbs[i].least ||
			(verbs[i].most >= 0 && argc - 1 > verbs[i].most))
			return clv_cli_fail(CLV_EXIT_USAGE,
				"write cleave token %s [OPTION...] %s", verbs[i].name,
				verbs[i].arguments);
		return verbs[i].run(settings, argc - 1, argv + 1);
	}
	return clv_cli_fail(CLV_EXIT_USAGE,
		"'%.40s' is not a command of cleave token: write create, delete or "
		"list",
		argv[0]);
}

static const char *const scopes[] = {"viewer", "tenant", "admin", NULL};

static const struct clv_opt options[] = {
	{
		.name = "scope",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(struct token_settings, scope),
		.argument = "viewer|tenant|admin",
		.choices = scopes,
		.help = "create: the permissions: viewer (read, the default), tenant, or "
			"admin (everything)",
	},
	{
		.name = "tenant",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct token_settings, tenant),
		.argument = "USER",
		.help = "create: a token of a tenant, for this user's leases",
	},
	{
		.name = "expires",
		.type = CLV_OPT_DURATION,
		.offset = CLV_OPT_AT(struct token_settings, expires_ns),
		.argument = "TIME",
		.help = "create: the token expires after this time, as 12h or 90d",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_token = {
	.name = "token",
	.arguments = "create NAME|delete ID...|list",
	.summary = "create, delete or list tokens for callers over the network",
	.about = "create prints the token, which cannot be shown again. Only an admin "
		 "may do this.",
	.settings_bytes = sizeof(struct token_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = -1,
	.run = run_token,
};
