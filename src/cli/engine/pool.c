/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the members of pools from the agent's standing shares, leases and devices. */
#include "cli/engine/pool.h"

#include "cli/frame/cli.h"
#include "cli/node/partitions.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WHOLE 0.999999

/* What the agent answers. */
struct answers {
	json_t *shares, *leases, *devices, *node;
};

static void free_answers(struct answers *answers)
{
	json_decref(answers->shares);
	json_decref(answers->leases);
	json_decref(answers->devices);
	json_decref(answers->node);
}

static int ask(struct clv_client *client, struct answers *ret)
{
	struct clv_client_error err;

	if (clv_client_shares(client, &ret->shares, &err) < 0 ||
		clv_client_leases(client, &ret->leases, &err) < 0 ||
		clv_client_devices(client, &ret->devices, &err) < 0 ||
		clv_client_node(client, &ret->node, &err) < 0)
		return clv_cli_fail_client(&err);
	return 0;
}

bool clv_pool_is_name(const char *name)
{
	bool is_number = true;

	if (!isalnum((unsigned char)name[0]) || strlen(name) >= CLV_POOL_NAME_MAX)
		return false;
	for (const char *c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr(".-_", *c))
			return false;
		is_number = is_number && isdigit((unsigned char)*c);
	}
	return !is_number;
}

static json_t *find_by(const json_t *list, const char *key, const char *value)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(list, "items"), i, item) {
		if (strcmp(clv_json_text(item, key), value) == 0)
			return item;
	}
	return NULL;
}

static const json_t *find_in_node(const json_t *node, const char *name)
{
	const json_t *device;
	size_t i;

	json_array_foreach (json_object_get(node, "devices"), i, device) {
		if (strcmp(clv_json_text(device, "name"), name) == 0)
			return device;
	}
	return NULL;
}

/* The device's address on the bus; of a partition that has one, its own.  The node does
 * not have a device with which a virtual machine runs, while its lease does. */
static const char *address_of(const json_t *node, const json_t *lease, const char *member)
{
	const json_t *device = find_in_node(node, member);

	if (!device && !strchr(member, '/'))
		device = json_array_get(json_object_get(lease, "devices"), 0);
	return device ? clv_json_text(device, "pci_address")
		      : clv_json_text(clv_partitions_find(node, member), "address");
}

static bool is_gone(const json_t *share, const json_t *root)
{
	const char *health = clv_json_text(json_object_get(root, "health"), "state");

	return !root || json_is_null(json_object_get(share, "device")) ||
	       strcmp(health, "lost") == 0;
}

static const char *state_of(const json_t *share, const json_t *root)
{
	if (clv_json_flag(share, "in_use"))
		return "assigned";
	return is_gone(share, root) || clv_json_flag(root, "cordoned") ? "unavailable"
								       : "available";
}

/* What users should know of the member's device; "": nothing. */
static const char *note_of(const json_t *share, const json_t *root)
{
	const char *health = clv_json_text(json_object_get(root, "health"), "state");

	if (is_gone(share, root))
		return "lost";
	if (clv_json_flag(root, "cordoned"))
		return "cordoned";
	return strcmp(health, "degraded") == 0 ? health : "";
}

/* Adds the member's item, and counts it in *capacity. */
static void add_member(json_t *items, const struct answers *from, const json_t *share,
	const char *member, size_t *capacity)
{
	const char *pool = strrchr(clv_json_text(share, "name"), '/') + 1;
	const char *id = clv_json_text(share, "lease");
	const json_t *lease = id[0] ? find_by(from->leases, "id", id) : NULL;
	const json_t *root;
	char name[128];
	bool is_held;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(member, "/"), member);
	root = find_by(from->devices, "name", name);
	is_held = strcmp(clv_json_text(lease, "command"), CLV_POOL_CLUSTER) == 0;
	*capacity += is_held ? !is_gone(share, root)
			     : strcmp(state_of(share, root), "available") == 0;
	json_array_append_new(items,
		json_pack("{s:s,s:s,s:s,s:I,s:s,s:s,s:s,s:s,s:s,s:s}", "pool", pool,
			"member", member, "model", clv_json_text(root, "model"),
			"memory_bytes", (json_int_t)clv_json_bytes(share, "memory_bytes"),
			"address", address_of(from->node, lease, member), "state",
			state_of(share, root), "to", clv_json_text(lease, "name"), "by",
			clv_json_text(lease, "command"), "lease", id, "note",
			note_of(share, root)));
}

/* Writes the device or partition of a share that is a member of a pool. */
static bool is_member(const json_t *share, const char *name, char *ret, size_t ret_bytes)
{
	const char *whole = clv_json_text(share, "name");
	const char *slash = strrchr(whole, '/');

	if (!slash || clv_json_number(share, "share") < WHOLE ||
		!clv_pool_is_name(slash + 1) || (name && strcmp(name, slash + 1) != 0))
		return false;
	snprintf(ret, ret_bytes, "%.*s", (int)(slash - whole), whole);
	return true;
}

int clv_pool_read(struct clv_client *client, const char *name, json_t **ret)
{
	CLV_CLEANUP(free_answers) struct answers answers = {};
	json_t *items, *share;
	size_t i, capacity = 0;
	char member[256];
	int r = ask(client, &answers);

	if (r)
		return r;
	items = json_array();
	json_array_foreach (json_object_get(answers.shares, "items"), i, share) {
		if (is_member(share, name, member, sizeof(member)))
			add_member(items, &answers, share, member, &capacity);
	}
	*ret = json_pack("{s:o,s:I}", "items", items, "capacity", (json_int_t)capacity);
	return *ret ? 0 : clv_cli_fail(CLV_EXIT_FAILED, "no memory for the pools");
}

json_t *clv_pool_find(const json_t *pool, const char *lease)
{
	return find_by(pool, "lease", lease);
}
