/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the inventory from the agent's list of devices. */
#include "bridge/kubernetes/resource/inventory.h"

#include "base/error.h"

#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static void read_text(const json_t *object, const char *key, char *ret, size_t ret_bytes)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(ret, ret_bytes, "%s", text ? text : "");
}

#define READ_TEXT(object, key, into) read_text(object, key, into, sizeof(into))

static void read_health(const json_t *object, struct clv_kube_device *device)
{
	const json_t *health = json_object_get(object, "health");
	const char *state = json_string_value(json_object_get(health, "state"));
	const char *reason =
		json_string_value(json_array_get(json_object_get(health, "reasons"), 0));

	device->is_healthy = !state || strcmp(state, "ok") == 0;
	if (!device->is_healthy) {
		snprintf(device->state, sizeof(device->state), "%s", state);
		snprintf(device->why, sizeof(device->why), "%s: %s", state,
			reason ? reason : "no reason is known");
	}
	if (json_is_true(json_object_get(object, "cordoned"))) {
		if (device->is_healthy)
			snprintf(device->state, sizeof(device->state), "cordoned");
		device->is_healthy = false;
		snprintf(device->why, sizeof(device->why), "the device is cordoned");
	}
}

static void read_device(const json_t *object, struct clv_kube_device *device)
{
	const json_t *partition = json_object_get(object, "partition");
	const json_t *numa = json_object_get(object, "numa_node");
	const char *type = json_string_value(json_object_get(object, "type"));

	READ_TEXT(object, "name", device->name);
	READ_TEXT(object, "uuid", device->uuid);
	READ_TEXT(object, "parent", device->parent);
	READ_TEXT(object, "model", device->model);
	READ_TEXT(object, "vendor", device->vendor);
	READ_TEXT(object, "backend", device->backend);
	READ_TEXT(object, "driver", device->driver);
	READ_TEXT(object, "cuda_version", device->cuda);
	READ_TEXT(object, "architecture", device->architecture);
	READ_TEXT(object, "compute_capability", device->capability);
	READ_TEXT(partition, "scheme", device->scheme);
	READ_TEXT(partition, "profile", device->profile);
	device->memory_bytes =
		(uint64_t)json_integer_value(json_object_get(object, "memory_bytes"));
	device->compute_units =
		(uint32_t)json_integer_value(json_object_get(object, "compute_units"));
	device->numa_node =
		json_is_integer(numa) ? (int32_t)json_integer_value(numa) : -1;
	device->is_cpu = type && strcmp(type, "cpu") == 0;
	device->is_divided = json_is_true(json_object_get(object, "divided"));
	read_health(object, device);
}

/* A partition of an unhealthy device is unhealthy. */
static void spread_health(struct clv_kube_inventory *inventory)
{
	for (size_t i = 0; i < inventory->n; i++) {
		struct clv_kube_device *part = &inventory->items[i];

		for (size_t j = 0; part->parent[0] != '\0' && j < inventory->n; j++) {
			const struct clv_kube_device *whole = &inventory->items[j];

			if (whole->is_healthy || strcmp(whole->name, part->parent) != 0)
				continue;
			part->is_healthy = false;
			memcpy(part->state, whole->state, sizeof(part->state));
			memcpy(part->why, whole->why, sizeof(part->why));
		}
	}
}

int clv_kube_inventory_parse(const struct json_t *devices, struct clv_kube_inventory *ret,
	struct clv_error *err)
{
	const json_t *items = json_object_get(devices, "items"), *item;
	struct clv_kube_inventory inventory = {};
	size_t i;

	if (!json_is_array(items))
		return clv_error_set(err, -EINVAL, "the agent lists no devices");
	inventory.items = calloc(json_array_size(items) + 1, sizeof(*inventory.items));
	if (!inventory.items)
		return clv_error_errno(err, ENOMEM, "cannot list devices");
	json_array_foreach (items, i, item)
		read_device(item, &inventory.items[inventory.n++]);
	spread_health(&inventory);
	*ret = inventory;
	return 0;
}

int clv_kube_inventory_fetch(
	struct clv_client *client, struct clv_kube_inventory *ret, struct clv_error *err)
{
	struct clv_client_error failure;
	json_t *devices = NULL;
	int r = clv_client_devices(client, &devices, &failure);

	if (r < 0)
		return clv_error_set(err, r, "%s", failure.msg);
	r = clv_kube_inventory_parse(devices, ret, err);
	json_decref(devices);
	return r;
}

void clv_kube_inventory_clear(struct clv_kube_inventory *inventory)
{
	free(inventory->items);
	*inventory = (struct clv_kube_inventory){};
}

const struct clv_kube_device *clv_kube_inventory_find(
	const struct clv_kube_inventory *inventory, const char *name)
{
	for (size_t i = 0; i < inventory->n; i++) {
		if (strcmp(inventory->items[i].name, name) == 0)
			return &inventory->items[i];
	}
	return NULL;
}

/* Items are zeroed before they are filled, so they can be compared with memcmp(). */
bool clv_kube_inventory_equals(
	const struct clv_kube_inventory *a, const struct clv_kube_inventory *b)
{
	return a->n == b->n &&
	       (a->n == 0 || memcmp(a->items, b->items, a->n * sizeof(*a->items)) == 0);
}
