/* SPDX-License-Identifier: Apache-2.0 */
/* The table of nodes, sorted by name. */
#include "bridge/extender/places-internal.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Binary search: the index of the node with this name, or where it would be inserted. */
static size_t search_node(
	const struct clv_places *places, const char *name, bool *ret_is_there)
{
	size_t low = 0, high = places->n_nodes;

	*ret_is_there = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(places->nodes[middle]->name, name);

		if (order == 0)
			*ret_is_there = true;
		if (order >= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct clv_places_node *clv_places_find_node(
	const struct clv_places *places, const char *name)
{
	bool is_there;
	size_t at = search_node(places, name, &is_there);

	return is_there ? places->nodes[at] : NULL;
}

struct clv_places_device *clv_places_find_device(
	struct clv_places_node *node, const char *name)
{
	for (size_t i = 0; i < node->n; i++) {
		if (strcmp(node->devices[i].name, name) == 0)
			return &node->devices[i];
	}
	return NULL;
}

struct clv_places_node *clv_places_find_or_add_node(
	struct clv_places *places, const char *name)
{
	struct clv_places_node **slot, *node;
	bool is_there;
	size_t at = search_node(places, name, &is_there);

	if (is_there)
		return places->nodes[at];
	node = calloc(1, sizeof(*node));
	slot = node ? CLV_APPEND(places->nodes, places->n_nodes) : NULL;
	if (!slot) {
		free(node);
		return NULL;
	}
	snprintf(node->name, sizeof(node->name), "%s", name);
	memmove(&places->nodes[at + 1], &places->nodes[at],
		(places->n_nodes - 1 - at) * sizeof(*slot));
	places->nodes[at] = node;
	return node;
}

void clv_places_begin_list(struct clv_places *places)
{
	for (size_t i = 0; i < places->n_nodes; i++)
		places->nodes[i]->is_listed = false;
}

static void remove_at(struct clv_places *places, size_t at)
{
	free(places->nodes[at]->devices);
	free(places->nodes[at]);
	places->n_nodes--;
	memmove(&places->nodes[at], &places->nodes[at + 1],
		(places->n_nodes - at) * sizeof(places->nodes[0]));
}

void clv_places_remove_node(struct clv_places *places, const char *name)
{
	bool is_there;
	size_t at = search_node(places, name, &is_there);

	if (is_there)
		remove_at(places, at);
}

void clv_places_end_list(struct clv_places *places)
{
	for (size_t i = places->n_nodes; i-- > 0;) {
		if (!places->nodes[i]->is_listed)
			remove_at(places, i);
	}
}
