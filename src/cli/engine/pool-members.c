/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices join or leave a pool. */
#include "cli/engine/pool-members.h"

#include "cli/frame/cells.h"
#include "cli/frame/cli.h"

#include <string.h>

static json_t *find_member(const json_t *pool, const char *member)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(pool, "items"), i, item) {
		if (strcmp(clv_json_text(item, "member"), member) == 0)
			return item;
	}
	return NULL;
}

static const json_t *find_device(const json_t *node, const char *name)
{
	const json_t *device;
	size_t i;

	json_array_foreach (json_object_get(node, "devices"), i, device) {
		if (strcmp(clv_json_text(device, "name"), name) == 0 ||
			strcmp(clv_json_text(device, "uuid"), name) == 0)
			return device;
	}
	return NULL;
}

static const char *identity_of(const json_t *device)
{
	const char *uuid = clv_json_text(device, "uuid");
	const char *address = clv_json_text(device, "pci_address");

	return uuid[0] ? uuid : address[0] ? address : clv_json_text(device, "name");
}

/* A pool has devices of one model and size; the first device decides for a new one. */
static int check_alike(const json_t *pool, const json_t *first, const json_t *device)
{
	const json_t *member = json_array_get(json_object_get(pool, "items"), 0);
	const json_t *wanted = member ? member : first;
	const char *model = clv_json_text(wanted, "model");
	char has[CLV_CELL_MAX], wants[CLV_CELL_MAX];

	if (strcmp(model, clv_json_text(device, "model")) == 0 &&
		clv_json_bytes(wanted, "memory_bytes") ==
			clv_json_bytes(device, "memory_bytes"))
		return 0;
	clv_cell_bytes(clv_json_bytes(device, "memory_bytes"), has);
	clv_cell_bytes(clv_json_bytes(wanted, "memory_bytes"), wants);
	return clv_cli_fail(CLV_EXIT_USAGE,
		"%s is a %.60s with %.16s, and the pool is of %.60s with %.16s: its "
		"devices "
		"are equal, so that a virtual machine can move: make another pool",
		clv_json_text(device, "name"), clv_json_text(device, "model"), has, model,
		wants);
}

int clv_pool_find_new(
	const json_t *node, const json_t *pool, int argc, char **argv, const char **ret)
{
	const json_t *first = find_device(node, argv[0]);
	int r = 0;

	for (int i = 0; i < argc && !r; i++) {
		const json_t *device = find_device(node, argv[i]);

		if (!device)
			return clv_cli_fail(CLV_EXIT_USAGE,
				"there is no device '%.80s': see cleave devices; a "
				"partition "
				"joins a pool by a share of that name in the layout",
				argv[i]);
		if (find_member(pool, clv_json_text(device, "name")))
			return clv_cli_fail(CLV_EXIT_USAGE, "%s is in the pool already",
				clv_json_text(device, "name"));
		ret[i] = identity_of(device);
		r = check_alike(pool, first, device);
	}
	return r;
}

static int check_leaving(const json_t *item, const json_t *device)
{
	const char *member = clv_json_text(item, "member");

	if (!device)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"%s is a partition: remove its share from the layout", member);
	if (strcmp(clv_json_text(item, "state"), "assigned") == 0)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"%s is assigned to %.64s: take it back first, with cleave pool "
			"unassign",
			member, clv_json_text(item, "to"));
	return 0;
}

static bool is_named(const char *member, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], member) == 0)
			return true;
	}
	return argc == 0;
}

int clv_pool_find_leaving(const json_t *node, const json_t *pool, int argc, char **argv,
	const char **ret, size_t *ret_n)
{
	json_t *item;
	size_t i;
	int r = 0;

	for (int k = 0; k < argc; k++) {
		if (!find_member(pool, argv[k]))
			return clv_cli_fail(CLV_EXIT_USAGE,
				"%.80s is not in the pool: see cleave pool list",
				argv[k]);
	}
	*ret_n = 0;
	json_array_foreach (json_object_get(pool, "items"), i, item) {
		const json_t *device = find_device(node, clv_json_text(item, "member"));

		if (r || !is_named(clv_json_text(item, "member"), argc, argv))
			continue;
		r = check_leaving(item, device);
		ret[(*ret_n)++] = identity_of(device);
	}
	return r;
}
