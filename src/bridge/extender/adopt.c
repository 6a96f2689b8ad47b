/* SPDX-License-Identifier: Apache-2.0 */
/* The room that a pod's annotation says it gets is held.  It is adopted once, because the
 * node may have announced it, and other changes, since. */
#include "bridge/extender/places-internal.h"

#include <stdio.h>
#include <string.h>

static uint64_t number_of(const json_t *object, const char *key, uint64_t most)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value < 0 ? 0 : (uint64_t)value > most ? most : (uint64_t)value;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Any client that creates pods writes their annotations: nothing beyond the container's
 * request is held.  A share without memory gets the same part of it, and vice versa.
 * device: NULL where the node is not known yet. */
static void limit_to_request(const struct clv_place_request *request,
	const struct clv_places_device *device, struct clv_places_held *held)
{
	uint64_t memory = device ? device->left.memory_mib : 0;
	uint64_t milli = CLV_PLACE_WHOLE, mib = UINT32_MAX;

	if (request->milli)
		milli = request->milli;
	else if (memory)
		milli = (request->device_mib * (uint64_t)CLV_PLACE_WHOLE + memory - 1) /
			memory;
	if (request->device_mib)
		mib = request->device_mib;
	else if (memory)
		mib = request->milli * memory / CLV_PLACE_WHOLE;
	held->milli = (uint16_t)least(held->milli, milli);
	held->mib = (uint32_t)least(held->mib, mib);
}

static void adopt_row(struct clv_places *places, const json_t *row,
	const struct clv_pod *pod, struct clv_places_held *held)
{
	struct clv_places_node *node = clv_places_find_node(places, held->node);
	const char *name = json_string_value(json_object_get(row, "device"));

	held->container = (uint8_t)number_of(row, "container", CLV_POD_CONTAINERS_MAX);
	if (!name || held->container >= pod->n_requests)
		return;
	snprintf(held->device, sizeof(held->device), "%s", name);
	held->milli = (uint16_t)number_of(row, "milli", CLV_PLACE_WHOLE);
	held->mib = (uint32_t)number_of(row, "mib", UINT32_MAX);
	held->then_free_milli = (uint16_t)number_of(row, "free", CLV_PLACE_WHOLE);
	limit_to_request(&pod->requests[held->container],
		node ? clv_places_find_device(node, name) : NULL, held);
	clv_places_add_held(places, held);
}

static void adopt_rows(struct clv_places *places, const json_t *rows,
	const struct clv_pod *pod, const char *node_name, uint64_t now_ns)
{
	struct clv_places_node *node = clv_places_find_node(places, node_name);
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		struct clv_places_held held = {
			.until_ns = now_ns + CLV_PLACES_UNHEARD_NS};

		if (i == pod->n_requests)
			break;
		snprintf(held.uid, sizeof(held.uid), "%s", pod->uid);
		snprintf(held.node, sizeof(held.node), "%s", node_name);
		adopt_row(places, row, pod, &held);
	}
	if (node)
		clv_places_recount(places, node);
}

void clv_places_adopt(struct clv_places *places, const json_t *object,
	const struct clv_pod_resources *resources, uint64_t now_ns)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *said = json_string_value(json_object_get(
		json_object_get(metadata, "annotations"), CLV_PLACES_POD_ANNOTATION));
	const char *node = json_string_value(
		json_object_get(json_object_get(object, "spec"), "nodeName"));
	bool was_bound;
	struct clv_pod pod;
	json_t *rows;

	if (!said || !node || clv_pod_read(object, resources, &pod, NULL) < 0)
		return;
	was_bound = clv_places_is_bound(places, pod.uid);
	if (!clv_places_know(places, pod.uid) || was_bound ||
		clv_places_is_held(places, pod.uid))
		return;
	rows = json_loads(said, 0, NULL);
	adopt_rows(places, rows, &pod, node, now_ns);
	json_decref(rows);
}
