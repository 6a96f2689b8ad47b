/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the kinds of node of a fleet, and those that could take a request. */
#include "core/fleet/kinds.h"

#include <errno.h>
#include <stdlib.h>

static bool is_of(const struct clv_kind *kind, const struct clv_fleet_node *node)
{
	return kind->model == node->model && kind->n_devices == node->n_devices &&
	       kind->n_linked == node->n_linked && kind->cpu_milli == node->cpu_milli &&
	       kind->memory_mib == node->memory_mib;
}

static uint32_t smaller(uint32_t one, uint32_t other)
{
	return one < other ? one : other;
}

/* The last kind collects the nodes that match no other. */
static void join_last(struct clv_kind *last, const struct clv_fleet_node *node)
{
	last->cpu_milli = smaller(last->cpu_milli, node->cpu_milli);
	last->memory_mib = smaller(last->memory_mib, node->memory_mib);
	last->n_devices = (uint8_t)smaller(last->n_devices, node->n_devices);
	last->n_linked = (uint8_t)smaller(last->n_linked, node->n_linked);
}

static uint8_t add(struct clv_kinds *kinds, const struct clv_fleet_node *node)
{
	unsigned i = 0;

	while (i < kinds->n && !is_of(&kinds->items[i], node))
		i++;
	if (i == CLV_KINDS_MAX) {
		i--;
		join_last(&kinds->items[i], node);
	} else if (i == kinds->n) {
		kinds->items[kinds->n++] = (struct clv_kind){
			.cpu_milli = node->cpu_milli,
			.memory_mib = node->memory_mib,
			.model = node->model,
			.n_devices = node->n_devices,
			.n_linked = node->n_linked,
		};
	}
	kinds->items[i].n_nodes++;
	return (uint8_t)i;
}

int clv_kinds_init(struct clv_kinds *kinds, const struct clv_fleet *fleet)
{
	*kinds = (struct clv_kinds){.of = calloc((size_t)fleet->n_nodes + 1, 1)};
	if (!kinds->of)
		return -ENOMEM;
	for (uint32_t i = 0; i < fleet->n_nodes; i++)
		kinds->of[i] = add(kinds, &fleet->nodes[i]);
	return 0;
}

void clv_kinds_done(struct clv_kinds *kinds)
{
	free(kinds->of);
	*kinds = (struct clv_kinds){0};
}

uint64_t clv_kinds_for(
	const struct clv_kinds *kinds, const struct clv_place_request *request)
{
	uint64_t fitting = 0;

	for (unsigned i = 0; i < kinds->n; i++) {
		const struct clv_kind *kind = &kinds->items[i];

		if (kind->cpu_milli >= request->cpu_milli &&
			kind->memory_mib >= request->memory_mib &&
			kind->n_devices >= request->n_devices &&
			(!request->same_link || request->n_devices < 2 ||
				kind->n_linked >= request->n_devices) &&
			(!request->models || request->models >> kind->model & 1))
			fitting |= UINT64_C(1) << i;
	}
	return fitting;
}
