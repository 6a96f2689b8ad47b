/* SPDX-License-Identifier: Apache-2.0 */
/* cleave tenants lists tenants with their resources, cleave audit the changes with their
 * callers. */
#include "cli/frame/verbs.h"

#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"

#include <stdio.h>

struct audit_settings {
	struct clv_common common;
	uint64_t after_id;
};

/* Tenants. */

static void put_of(const char *has, const char *may, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.100s%s%.100s", has, may[0] ? " of " : "", may);
}

static void cell_share(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *allowance = json_object_get(row, "allowance");
	char has[32], may[32] = "";

	snprintf(has, sizeof(has), "%.10g", clv_json_number(row, "share"));
	if (clv_json_number(allowance, "share") > 0)
		snprintf(may, sizeof(may), "%.10g", clv_json_number(allowance, "share"));
	put_of(has, may, ret);
}

static void cell_memory(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *allowance = json_object_get(row, "allowance");
	char has[CLV_CELL_MAX], may[CLV_CELL_MAX] = "";

	clv_cell_bytes(clv_json_bytes(row, "memory_bytes"), has);
	if (clv_json_bytes(allowance, "memory_bytes") > 0)
		clv_cell_bytes(clv_json_bytes(allowance, "memory_bytes"), may);
	put_of(has, may, ret);
}

static void cell_leases(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *allowance = json_object_get(row, "allowance");
	char has[32], may[32] = "";

	snprintf(has, sizeof(has), "%.0f", clv_json_number(row, "leases"));
	if (clv_json_number(allowance, "leases") > 0)
		snprintf(may, sizeof(may), "%.0f", clv_json_number(allowance, "leases"));
	put_of(has, may, ret);
}

static void cell_profiles(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_list(json_object_get(json_object_get(row, "allowance"), "profiles"),
		", ", ret);
}

static void cell_classes(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_list(
		json_object_get(json_object_get(row, "allowance"), "classes"), ", ", ret);
}

static void cell_held(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.1f s", clv_json_number(row, "gpu_seconds"));
}

static const struct clv_column tenant_columns[] = {
	/* clang-format off */
	/* header     cell           right  fit    rank rare   key */
	{ "NAME",     NULL,          false, WHOLE, 0,   false, "name" },
	{ "SHARE",    cell_share,    true,  WHOLE, 0,   false, NULL },
	{ "MEMORY",   cell_memory,   true,  WHOLE, 0,   false, NULL },
	{ "LEASES",   cell_leases,   true,  WHOLE, 0,   false, NULL },
	{ "QUEUED",   NULL,          true,  WHOLE, 1,   false, "queued" },
	{ "HELD",     cell_held,     true,  WHOLE, 2,   false, NULL },
	{ "PROFILES", cell_profiles, false, WHOLE, 3,   true,  NULL },
	{ "CLASSES",  cell_classes,  false, WHOLE, 3,   true,  NULL },
	/* clang-format on */
};

static const struct clv_listing tenants = {
	.columns = tenant_columns,
	.n_columns = CLV_ARRAY_SIZE(tenant_columns),
	.name_key = "name",
	.none = "no tenant has a lease, and the settings name none",
};

static int run_tenants(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	return clv_cli_list(settings, true, clv_client_tenants, &tenants);
}

/* The audit. */

static void cell_who(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *who = json_object_get(row, "who");

	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(who, "subject"));
}

static const struct clv_column audit_columns[] = {
	/* clang-format off */
	/* header   cell      right  fit    rank rare   key */
	{ "ID",     NULL,     true,  WHOLE, 3,   false, "id" },
	{ "TIME",   NULL,     false, WHOLE, 0,   false, "time" },
	{ "WHO",    cell_who, false, WHOLE, 0,   false, NULL },
	{ "FROM",   NULL,     false, WHOLE, 2,   false, "from" },
	{ "ACTION", NULL,     false, WHOLE, 0,   false, "action" },
	{ "OBJECT", NULL,     false, WHOLE, 1,   false, "object" },
	{ "RESULT", NULL,     false, WHOLE, 0,   false, "result" },
	{ "DETAIL", NULL,     false, WRAP,  1,   false, "detail" },
	/* clang-format on */
};

static const struct clv_listing audit = {
	.columns = audit_columns,
	.n_columns = CLV_ARRAY_SIZE(audit_columns),
	.name_key = "id",
	.none = "no change was requested yet",
};

/* Reads all pages of the audit. */
static int run_audit(const void *userdata, int argc, char **argv)
{
	const struct audit_settings *settings = userdata;
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *all = json_object();
	json_t *items = json_array();
	uint64_t after = settings->after_id;
	struct clv_client_error err;
	int r = clv_cli_connect(&settings->common, true, &client);

	json_object_set_new(all, "items", items);
	if (r)
		return r;
	do {
		_cleanup_json_ json_t *page = NULL;

		if (clv_client_audit(client, after, &page, &err) < 0)
			return clv_cli_fail_client(&err);
		json_array_extend(items, json_object_get(page, "items"));
		after = clv_json_bytes(page, "next");
	} while (after > 0);
	if (clv_output_list(&audit, settings->common.output, all) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the audit: %m");
	return CLV_EXIT_OK;
}

static const struct clv_opt tenant_options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

static const struct clv_opt audit_options[] = {
	{
		.name = "after",
		.type = CLV_OPT_COUNT,
		.offset = CLV_OPT_AT(struct audit_settings, after_id),
		.argument = "ID",
		.help = "Only entries after this one",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_tenants = {
	.name = "tenants",
	.summary = "list tenants with their resources and allowances",
	.settings_bytes = sizeof(struct clv_common),
	.options = tenant_options,
	.n_options = CLV_ARRAY_SIZE(tenant_options),
	.run = run_tenants,
};

const struct clv_verb clv_verb_audit = {
	.name = "audit",
	.summary = "list who changed what, from where, and with which result",
	.about =
		"Refused requests are listed too. Only admins and viewers see the audit.",
	.settings_bytes = sizeof(struct audit_settings),
	.options = audit_options,
	.n_options = CLV_ARRAY_SIZE(audit_options),
	.run = run_audit,
};
