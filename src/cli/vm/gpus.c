/* SPDX-License-Identifier: Apache-2.0 */
/* cleave vms --gpus: the GPUs and their partitions, with their virtual machines. */
#include "bridge/libvirt/domain/gpus.h"
#include "base/cleanup.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/vm/actions.h"
#include "cli/vm/vm.h"

#include <stdio.h>
#include <string.h>

static void cell_status(const json_t *row, char ret[CLV_CELL_MAX])
{
	bool is_whole = clv_json_text(row, "status")[0] && clv_json_text(row, "vm")[0];

	snprintf(ret, CLV_CELL_MAX, "%s",
		is_whole ? "assigned as a whole"
			 : clv_vm_gpu_status_text(clv_json_text(row, "status")));
}

static void cell_memory(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_bytes(clv_json_bytes(row, "memory_bytes"), ret);
}

static void cell_free(const json_t *row, char ret[CLV_CELL_MAX])
{
	ret[0] = '\0';
	if (json_object_get(row, "free_bytes"))
		clv_cell_bytes(clv_json_bytes(row, "free_bytes"), ret);
}

static void cell_counts(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *counts = json_object_get(row, "counts");
	size_t n = json_array_size(counts);
	json_int_t most = json_integer_value(json_array_get(counts, n ? n - 1 : 0));

	/* All from 1 on are "1-16". */
	if (n > 2 && (size_t)most == n)
		snprintf(ret, CLV_CELL_MAX, "1-%zu", n);
	else
		clv_cell_list(counts, ",", ret);
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header    cell         right  fit    rank rare   key */
	{ "NAME",    NULL,        false, WHOLE, 0,   false, "label" },
	{ "STATUS",  cell_status, false, WHOLE, 1,   false, NULL },
	{ "MEMORY",  cell_memory, true,  WHOLE, 2,   false, NULL },
	{ "FREE",    cell_free,   true,  WHOLE, 3,   false, NULL },
	{ "COUNT",   NULL,        true,  WHOLE, 4,   true,  "count" },
	{ "COUNTS",  cell_counts, false, WHOLE, 5,   true,  NULL },
	{ "ENC",     NULL,        true,  WHOLE, 7,   true,  "encoders" },
	{ "DEC",     NULL,        true,  WHOLE, 7,   true,  "decoders" },
	{ "VM",      NULL,        false, WHOLE, 1,   true,  "vm_name" },
	{ "ADDRESS", NULL,        false, WHOLE, 6,   true,  "address" },
	{ "MODEL",   NULL,        false, CUT,   8,   true,  "model" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "name",
	.none = "no GPU: see cleave devices",
};

static void add_row(json_t *rows, const json_t *object, const char *indent)
{
	json_t *row = json_copy((json_t *)object);

	json_object_set_new(row, "label",
		json_sprintf("%s%s", indent, clv_json_text(object, "name")));
	json_array_append_new(rows, row);
}

static void print_reasons(const json_t *gpus)
{
	json_t *gpu;
	size_t i;

	json_array_foreach (gpus, i, gpu) {
		const char *why = clv_json_text(gpu, "why");

		if (why[0])
			clv_output_line(stderr, "%s: %s: %s", clv_json_text(gpu, "name"),
				clv_vm_gpu_status_text(clv_json_text(gpu, "status")),
				why);
	}
}

static int show(const char *format, json_t *list)
{
	const json_t *gpus = json_object_get(list, "items");
	_cleanup_json_ json_t *flat = json_object();
	json_t *rows = json_array(), *gpu, *partition;
	size_t i, k;

	json_object_set_new(flat, "items", rows);
	if (clv_output_is_data(format))
		return clv_output_value(format, list);
	json_array_foreach (gpus, i, gpu) {
		add_row(rows, gpu, "");
		json_array_foreach (json_object_get(gpu, "partitions"), k, partition)
			add_row(rows, partition, "  ");
	}
	if (!format || strcmp(format, "table") == 0)
		print_reasons(gpus);
	return clv_output_list(&listing, format, flat);
}

int clv_vm_run_gpus(const struct clv_common *common)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *node = NULL;
	_cleanup_json_ json_t *devices = NULL;
	_cleanup_json_ json_t *leases = NULL;
	_cleanup_json_ json_t *list = json_object();
	struct clv_client_error err;
	int r = clv_cli_connect(common, false, &client);

	if (r)
		return r;
	if (clv_client_node(client, &node, &err) < 0 ||
		clv_client_devices(client, &devices, &err) < 0 ||
		clv_client_leases(client, &leases, &err) < 0)
		return clv_cli_fail_client(&err);
	json_object_set_new(list, "items", clv_vm_gpus(node, devices, leases));
	if (show(common->output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the list: %m");
	return CLV_EXIT_OK;
}
