/* SPDX-License-Identifier: Apache-2.0 */
/* Held room: from the binding of a pod until its node announces less. */
#include "bridge/extender/places-internal.h"

#include "base/array.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop_held(struct clv_places *places, size_t at)
{
	assert(at < places->n_held);
	places->held[at] = places->held[--places->n_held];
}

static bool is_of(const struct clv_places_held *held, const struct clv_places_node *node)
{
	return strcmp(held->node, node->name) == 0;
}

/* The annotation includes the pod once it has that much less free than when the room was
 * held. */
static bool is_announced(
	const struct clv_places_held *held, const struct clv_places_device *device)
{
	return device->said_milli + held->milli <= held->then_free_milli;
}

static void subtract(const struct clv_places_held *held, struct clv_single *left)
{
	left->free_milli -=
		held->milli < left->free_milli ? held->milli : left->free_milli;
	left->free_mib -= held->mib < left->free_mib ? held->mib : left->free_mib;
}

/* A device that the node does not announce at the moment takes no pods; what is held on
 * it is kept for the time when it is announced again. */
void clv_places_recount(struct clv_places *places, struct clv_places_node *node)
{
	for (size_t i = 0; i < node->n; i++) {
		node->devices[i].left.free_milli = node->devices[i].said_milli;
		node->devices[i].left.free_mib = node->devices[i].said_mib;
	}
	for (size_t i = places->n_held; i-- > 0;) {
		const struct clv_places_held *held = &places->held[i];
		struct clv_places_device *device =
			is_of(held, node) ? clv_places_find_device(node, held->device)
					  : NULL;

		if (device && is_announced(held, device))
			drop_held(places, i);
		else if (device)
			subtract(held, &device->left);
	}
}

/* A node that does not announce anything may run the pod for as long as the API server
 * has not heard that it runs or ended. */
static bool may_start(const struct clv_places *places, const struct clv_places_held *held)
{
	return !held->is_limited && places->has_pods &&
	       clv_places_is_bound(places, held->uid);
}

void clv_places_drop_expired(struct clv_places *places, uint64_t now_ns)
{
	for (size_t i = places->n_held; i-- > 0;) {
		struct clv_places_node *node;

		if (places->held[i].until_ns > now_ns ||
			may_start(places, &places->held[i]))
			continue;
		node = clv_places_find_node(places, places->held[i].node);
		drop_held(places, i);
		if (node)
			clv_places_recount(places, node);
		/* That may have dropped others, whose places the last ones took. */
		if (i > places->n_held)
			i = places->n_held;
	}
}

void clv_places_limit_held(
	struct clv_places *places, const struct clv_places_node *node, uint64_t now_ns)
{
	for (size_t i = 0; i < places->n_held; i++) {
		struct clv_places_held *held = &places->held[i];

		if (!is_of(held, node))
			continue;
		held->is_limited = true;
		if (held->until_ns > now_ns + CLV_PLACES_HELD_NS)
			held->until_ns = now_ns + CLV_PLACES_HELD_NS;
	}
}

bool clv_places_is_held(const struct clv_places *places, const char *uid)
{
	for (size_t i = 0; i < places->n_held; i++) {
		if (strcmp(places->held[i].uid, uid) == 0)
			return true;
	}
	return false;
}

bool clv_places_add_held(struct clv_places *places, const struct clv_places_held *held)
{
	if (places->n_held == CLV_PLACES_HELD_MAX)
		return false;
	places->held[places->n_held++] = *held;
	return true;
}

void clv_places_release(struct clv_places *places, const char *uid)
{
	struct clv_places_node *node = NULL;

	for (size_t i = places->n_held; i-- > 0;) {
		if (strcmp(places->held[i].uid, uid) != 0)
			continue;
		node = clv_places_find_node(places, places->held[i].node);
		drop_held(places, i);
	}
	/* A pod is on one node. */
	if (node)
		clv_places_recount(places, node);
}

json_t *clv_places_show_held(const struct clv_places *places, const char *uid)
{
	json_t *list = json_array();

	for (size_t i = 0; i < places->n_held; i++) {
		const struct clv_places_held *held = &places->held[i];

		if (strcmp(held->uid, uid) == 0)
			json_array_append_new(list,
				json_pack("{s:i,s:s,s:i,s:I,s:i}", "container",
					held->container, "device", held->device, "milli",
					held->milli, "mib", (json_int_t)held->mib, "free",
					held->then_free_milli));
	}
	return list;
}
