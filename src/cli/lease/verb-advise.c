/* SPDX-License-Identifier: Apache-2.0 */
/* cleave advise: proposes sizes and classes for leases, from their measured use. */
#include "cli/frame/verbs.h"

#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"

#include <stdio.h>
#include <string.h>

static void describe(const json_t *part, const json_t *other, char ret[CLV_CELL_MAX])
{
	static const char *const keys[] = {
		"share", "memory_bytes", "class", "cap", "profile"};
	char cells[CLV_ARRAY_SIZE(keys)][64] = {{0}};
	char cell[CLV_CELL_MAX];
	size_t used = 0;

	ret[0] = '\0';
	clv_cell_percent(clv_json_number(part, "share"), cell);
	snprintf(cells[0], sizeof(cells[0]), "%.60s", cell);
	clv_cell_bytes(clv_json_bytes(part, "memory_bytes"), cell);
	snprintf(cells[1], sizeof(cells[1]), "%.60s", cell);
	snprintf(cells[2], sizeof(cells[2]), "%.60s", clv_json_text(part, "class"));
	if (json_object_get(part, "cap"))
		snprintf(cells[3], sizeof(cells[3]), "cap %.0f%%",
			100 * clv_json_number(part, "cap"));
	snprintf(cells[4], sizeof(cells[4]), "%.60s", clv_json_text(part, "profile"));
	/* Only the members that differ from the other part. */
	for (size_t i = 0; i < CLV_ARRAY_SIZE(keys); i++) {
		if (cells[i][0] == '\0' || json_equal(json_object_get(part, keys[i]),
						   json_object_get(other, keys[i])))
			continue;
		used += (size_t)snprintf(ret + used, CLV_CELL_MAX - used, "%s%s",
			used ? ", " : "", cells[i]);
	}
}

static void cell_current(const json_t *row, char ret[CLV_CELL_MAX])
{
	describe(json_object_get(row, "current"), json_object_get(row, "proposed"), ret);
}

static void cell_proposed(const json_t *row, char ret[CLV_CELL_MAX])
{
	describe(json_object_get(row, "proposed"), json_object_get(row, "current"), ret);
}

static void cell_slowdown(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.2f", clv_json_number(row, "expected_slowdown"));
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header      cell           right  fit    rank   rare   key */
	{ "LEASE",      NULL,          false, WHOLE, 0,     false, "name" },
	{ "TENANT",     NULL,          false, CUT,   4,     false, "tenant" },
	{ "DEVICE",     NULL,          false, WHOLE, 3,     false, "device" },
	{ "ADVICE",     NULL,          false, WHOLE, 0,     false, "kind" },
	{ "HAS",        cell_current,  false, WHOLE, 1,     false, NULL },
	{ "PROPOSED",   cell_proposed, false, WHOLE, 0,     false, NULL },
	{ "SLOWDOWN",   cell_slowdown, true,  WHOLE, 2,     false, NULL },
	{ "CONFIDENCE", NULL,          false, WHOLE, 3,     false, "confidence" },
	{ "WHY",        NULL,          false, WRAP,  1,     false, "text" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "name",
	.none = "no advice: no lease that was observed for long enough needs another "
		"size or class",
};

static int run_advise(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	const char *name = argc ? argv[0] : NULL;
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *list = NULL;
	struct clv_client_error err;
	int r = clv_cli_connect(settings, false, &client);

	if (r)
		return r;
	if (clv_client_advice(client, name, &list, &err) < 0)
		return name ? clv_cli_fail_named(name, &err) : clv_cli_fail_client(&err);
	if (clv_output_list(&listing, settings->output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the advice: %m");

	return CLV_EXIT_OK;
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_advise = {
	.name = "advise",
	.arguments = "[NAME|ID]",
	.summary =
		"say which leases are too large, too small or idle, and what to change",
	.about = "Advice comes from the use of each lease in the last hour. SLOWDOWN is "
		 "how much slower its programs would run under the proposal than on "
		 "the whole device, while all other leases are busy.",
	.settings_bytes = sizeof(struct clv_common),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.max_arguments = 1,
	.completes = CLV_COMPLETE_LEASE,
	.run = run_advise,
};
