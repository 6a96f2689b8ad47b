/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

/* The kinds of node of a fleet: nodes that are equal when they are empty.  Embedded in
 * its owner.  Beyond the maximum the last kind collects all others, with the least of
 * each amount. */

#define CLV_KINDS_MAX 64

struct clv_kind {
	uint32_t cpu_milli, memory_mib;
	uint32_t n_nodes;
	uint8_t model, n_devices, n_linked;
};

struct clv_kinds {
	struct clv_kind items[CLV_KINDS_MAX];
	unsigned n;
	uint8_t *of; /* by node */
};

/* Returns 0 or -ENOMEM. */
int clv_kinds_init(struct clv_kinds *kinds, const struct clv_fleet *fleet);
void clv_kinds_done(struct clv_kinds *kinds);

/* Bitmap of the kinds that could take the request if they were empty. */
uint64_t clv_kinds_for(
	const struct clv_kinds *kinds, const struct clv_place_request *request);
