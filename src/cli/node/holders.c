/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the holders of partitions and devices as rows of a table. */
#include "cli/node/holders.h"

#include "base/cleanup.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"

#include <stdio.h>

static void cell_pid(const json_t *row, char ret[CLV_CELL_MAX])
{
	double pid = clv_json_number(row, "pid");

	if (pid > 0)
		snprintf(ret, CLV_CELL_MAX, "%.0f", pid);
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header    cell      right  fit    rank rare   key */
	{ "WHERE",   NULL,     false, WHOLE, 0,   false, "where" },
	{ "HELD BY", NULL,     false, WRAP,  0,   false, "text" },
	{ "PID",     cell_pid, true,  WHOLE, 2,   true,  NULL },
	{ "LEASE",   NULL,     false, WHOLE, 3,   true,  "lease" },
	{ "WHY",     NULL,     false, WRAP,  1,   true,  "why" },
	/* clang-format on */
};

const struct clv_listing clv_listing_holders = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "where",
};

static const char *where_of(const json_t *obstacle)
{
	const char *partition = clv_json_text(obstacle, "partition");

	return partition[0] ? partition : clv_json_text(obstacle, "device");
}

static void add_row(
	json_t *rows, const char *where, const json_t *holder, const char *why)
{
	json_t *row = holder ? json_copy((json_t *)holder) : json_object();

	json_object_set_new(row, "where", json_string(where));
	json_object_set_new(row, "why", json_string(why));
	json_array_append_new(rows, row);
}

json_t *clv_holders_of_obstacles(const json_t *obstacles)
{
	json_t *rows = json_array(), *obstacle, *holder;
	size_t i, j;

	json_array_foreach (obstacles, i, obstacle) {
		const json_t *holders = json_object_get(obstacle, "holders");
		const char *where = where_of(obstacle);
		const char *why = clv_json_text(obstacle, "why");

		/* A driver may report that a device is in use, but not by which process.
		 */
		if (json_array_size(holders) == 0)
			add_row(rows, where, NULL, why);
		json_array_foreach (holders, j, holder)
			add_row(rows, where, holder, j ? "" : why);
	}
	return rows;
}

static void add_holders(json_t *rows, const json_t *object)
{
	const json_t *parts = json_object_get(object, "parts");
	json_t *item;
	size_t i;

	if (!parts)
		parts = json_object_get(object, "partitions");
	json_array_foreach (json_object_get(object, "holders"), i, item)
		add_row(rows, clv_json_text(object, "name"), item, "");
	json_array_foreach (parts, i, item)
		add_holders(rows, item);
}

json_t *clv_holders_of_device(const json_t *device)
{
	json_t *rows = json_array();

	add_holders(rows, device);
	return rows;
}

void clv_holders_describe(const json_t *obstacles, char *ret, size_t ret_bytes)
{
	_cleanup_json_ json_t *rows = clv_holders_of_obstacles(obstacles);
	const json_t *first = json_array_get(rows, 0);
	size_t n = json_array_size(rows);
	const char *who = clv_json_text(first, "text");
	char others[32] = "";

	if (n > 1)
		snprintf(others, sizeof(others), ", and %zu more", n - 1);
	snprintf(ret, ret_bytes, "%.80s is held by %.90s%s",
		clv_json_text(first, "where"),
		who[0] ? who : "a process that the driver does not name", others);
}
