/* SPDX-License-Identifier: Apache-2.0 */
/* What each node announces, from its object in a request, a list or a watch. */
#include "bridge/extender/places-internal.h"

#include "base/crc32.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t number_of(const json_t *object, const char *key, uint32_t most)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value < 0 ? 0 : value > most ? most : (uint32_t)value;
}

static void copy_text(const json_t *object, const char *key, char *ret, size_t ret_bytes)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(ret, ret_bytes, "%s", text ? text : "");
}

static void read_device(const json_t *item, struct clv_places_device *ret)
{
	*ret = (struct clv_places_device){0};
	copy_text(item, "name", ret->name, sizeof(ret->name));
	copy_text(item, "model", ret->left.model, sizeof(ret->left.model));
	ret->left.memory_mib = number_of(item, "memory_mib", UINT32_MAX);
	ret->said_mib = number_of(item, "free_mib", ret->left.memory_mib);
	ret->said_milli = (uint16_t)number_of(item, "free_milli", CLV_PLACE_WHOLE);
}

static const char *name_of(const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *name = json_string_value(json_object_get(metadata, "name"));

	return name ? name : "";
}

/* resourceVersion grows with every change in the cluster. */
static uint64_t version_of(const json_t *object)
{
	const char *text = json_string_value(
		json_object_get(json_object_get(object, "metadata"), "resourceVersion"));

	return text ? strtoull(text, NULL, 10) : 0;
}

static void set_devices(struct clv_places_node *node, const json_t *list)
{
	size_t most = json_array_size(list);
	struct clv_places_device *devices = NULL;
	const json_t *item;
	size_t i;

	if (most > CLV_PLACE_DEVICES_MAX)
		most = CLV_PLACE_DEVICES_MAX;
	if (most > 0)
		devices = calloc(most, sizeof(*devices));
	free(node->devices);
	node->devices = devices;
	/* Without memory the node has no room until it announces again. */
	node->n = devices ? most : 0;
	json_array_foreach (list, i, item) {
		if (i < node->n)
			read_device(item, &devices[i]);
	}
}

/* Returns whether the annotation has changed. */
static bool read_devices(const json_t *object, struct clv_places_node *node)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *said = json_string_value(json_object_get(
		json_object_get(metadata, "annotations"), CLV_PLACES_ANNOTATION));
	uint32_t checksum = said ? clv_crc32(0, said, strlen(said)) : 0;
	json_t *list;

	if (checksum == node->checksum)
		return false;
	node->checksum = checksum;
	list = said ? json_loads(said, 0, NULL) : NULL;
	set_devices(node, list);
	json_decref(list);
	return true;
}

static void read_object(struct clv_places *places, struct clv_places_node *node,
	const json_t *object, uint64_t now_ns)
{
	node->version = version_of(object);
	if (read_devices(object, node)) {
		clv_places_limit_held(places, node, now_ns);
		clv_places_recount(places, node);
	}
}

struct clv_places_node *clv_places_read_node(
	struct clv_places *places, const json_t *object, uint64_t now_ns)
{
	struct clv_places_node *node =
		clv_places_find_or_add_node(places, name_of(object));

	/* Requests may overtake each other and the watch: an older object is stale. */
	if (node && version_of(object) >= node->version)
		read_object(places, node, object, now_ns);
	return node;
}

/* A list shows the state, also where it is older than what was seen: the server's data
 * may have been restored from a copy. */
void clv_places_list_node(
	struct clv_places *places, const json_t *object, uint64_t now_ns)
{
	struct clv_places_node *node =
		clv_places_find_or_add_node(places, name_of(object));

	if (!node)
		return;
	node->is_listed = true;
	read_object(places, node, object, now_ns);
}

void clv_places_change_node(
	struct clv_places *places, const json_t *object, uint64_t now_ns)
{
	struct clv_places_node *node = clv_places_read_node(places, object, now_ns);

	if (node)
		node->is_listed = true;
}
