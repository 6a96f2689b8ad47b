/* SPDX-License-Identifier: Apache-2.0 */
/* cleave devices: what there is to share, and how much of it is promised. */
#include "cli/verbs.h"

#include "cli/cells.h"
#include "cli/cli.h"
#include "cli/output.h"

#include <stdio.h>

static void cell_name(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "name"));
}

static void cell_model(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "model"));
}

static void cell_type(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "type"));
}

static void cell_units(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.0f", clv_json_number(row, "compute_units"));
}

static void cell_memory(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_bytes(clv_json_bytes(row, "memory_bytes"), ret);
}

static void cell_promised(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_percent(clv_json_number(row, "share_promised"), ret);
}

static void cell_memory_promised(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_bytes(clv_json_bytes(row, "memory_promised_bytes"), ret);
}

static void cell_memory_used(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_bytes(clv_json_bytes(row, "memory_used_bytes"), ret);
}

static void cell_leases(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.0f", clv_json_number(row, "leases"));
}

static void cell_queued(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.0f", clv_json_number(row, "queued"));
}

static void cell_executor(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s/%s", clv_json_text(row, "backend"),
		clv_json_text(row, "executor"));
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header     cell                   right  trunc  rank */
	{ "NAME",     cell_name,             false, false, 0 },
	{ "TYPE",     cell_type,             false, false, 3 },
	{ "MODEL",    cell_model,            false, true,  2 },
	{ "UNITS",    cell_units,            true,  false, 4 },
	{ "PROMISED", cell_promised,         true,  false, 0 },
	{ "MEMORY",   cell_memory,           true,  false, 0 },
	{ "MEM-PROMISED", cell_memory_promised, true, false, 1 },
	{ "MEM-USED", cell_memory_used,      true,  false, 1 },
	{ "LEASES",   cell_leases,           true,  false, 1 },
	{ "QUEUED",   cell_queued,           true,  false, 4 },
	{ "BY",       cell_executor,         false, false, 5 },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "name",
	.none = "no device: cleave doctor says what is missing",
};

static int run_devices(const struct clv_settings *settings, int argc, char **argv)
{
	return clv_cli_list(settings, true, clv_client_devices, &listing);
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_devices = {
	.name = "devices",
	.summary = "list the devices and how much of each is promised",
	.about = "Starts the user's agent when none runs.",
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.run = run_devices,
};
