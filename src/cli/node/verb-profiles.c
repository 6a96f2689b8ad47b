/* SPDX-License-Identifier: Apache-2.0 */
/* cleave profiles: lists the profiles of devices, and how many partitions still fit. */
#include "cli/frame/verbs.h"

#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/node/partitions.h"

#include <stdio.h>
#include <string.h>

static void cell_memory(const json_t *row, char ret[CLV_CELL_MAX])
{
	uint64_t bytes = clv_json_bytes(row, "memory_bytes");

	if (bytes)
		clv_cell_bytes(bytes, ret);
	else
		strcpy(ret, "-");
}

/* The units of a virtual function are unknown. */
static void cell_units(const json_t *row, char ret[CLV_CELL_MAX])
{
	double units = clv_json_number(row, "compute_units");

	if (units > 0)
		snprintf(ret, CLV_CELL_MAX, "%.0f", units);
}

static void cell_starts(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_list(json_object_get(row, "starts"), ",", ret);
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header    cell         right  fit    rank rare   key */
	{ "DEVICE",  NULL,        false, WHOLE, 0,   false, "device" },
	{ "PROFILE", NULL,        false, WHOLE, 0,   false, "profile" },
	{ "MEMORY",  cell_memory, true,  WHOLE, 0,   false, NULL },
	{ "UNITS",   cell_units,  true,  WHOLE, 3,   true,  NULL },
	{ "FITS",    NULL,        true,  WHOLE, 0,   false, "fits" },
	{ "MOST",    NULL,        true,  WHOLE, 2,   false, "most" },
	{ "PLACES",  cell_starts, false, WRAP,  1,   true,  NULL },
	{ "BY",      NULL,        false, WHOLE, 5,   false, "scheme" },
	{ "NOTE",    NULL,        false, WRAP,  4,   true,  "note" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "profile",
	.none = "no device can be divided",
};

static bool is_selected(const json_t *device, const char *name)
{
	return !name || strcmp(clv_json_text(device, "name"), name) == 0 ||
	       strcmp(clv_json_text(device, "uuid"), name) == 0;
}

/* Prints why devices cannot be divided, and which profiles nothing checks. */
static void print_remarks(struct clv_client *client, const char *name)
{
	_cleanup_json_ json_t *node = NULL;
	json_t *device;
	size_t i;

	if (clv_client_node(client, &node, NULL) < 0)
		return;
	json_array_foreach (json_object_get(node, "devices"), i, device) {
		const char *why = clv_json_text(device, "cannot_divide");

		if (!is_selected(device, name))
			continue;
		if (why[0])
			clv_output_line(stderr, "%s cannot be divided: %s",
				clv_json_text(device, "name"), why);
		why = clv_partitions_unchecked(device);
		if (why)
			clv_output_line(stderr, "%s (%s): %s",
				clv_json_text(device, "name"),
				clv_json_text(device, "model"), why);
	}
}

static int run_profiles(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	_cleanup_client_ struct clv_client *client = NULL;
	const char *device = argc ? argv[0] : NULL;
	_cleanup_json_ json_t *list = NULL;
	struct clv_client_error err;
	int r = clv_cli_connect(settings, true, &client);

	if (r)
		return r;
	if (clv_client_profiles(client, device, &list, &err) < 0)
		return clv_cli_fail_client(&err);
	if (clv_output_list(&listing, settings->output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the profiles: %m");
	if (!settings->output || strcmp(settings->output, "table") == 0)
		print_remarks(client, device);

	return CLV_EXIT_OK;
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_profiles = {
	.name = "profiles",
	.arguments = "[DEVICE]",
	.summary = "list the profiles of devices, and how many partitions still fit",
	.about = "FITS is how many more partitions fit now, MOST how many an empty "
		 "device holds, MEMORY the memory of one: for vf:4, of each of four "
		 "virtual functions. Of modes and numbers of functions only the "
		 "current one fits, since others replace it. A device that cannot be "
		 "divided is named with the reason.",
	.settings_bytes = sizeof(struct clv_common),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.max_arguments = 1,
	.completes = CLV_COMPLETE_DEVICE,
	.run = run_profiles,
};
