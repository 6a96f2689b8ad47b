/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/request.h"

#include <stddef.h>

/* A workload: the shapes of the requests seen, and how often each came.  Fragmentation is
 * measured against it.  Embedded in its owner; not thread-safe. */

/* The part of a request that decides whether a device can take it. */
struct clv_workload_shape {
	uint64_t models;
	uint32_t cpu_milli;
	uint32_t device_mib;
	uint16_t milli;
	uint8_t n_devices;
	uint8_t scheme, profile; /* as in a request */
	uint32_t weight;         /* how many such requests */
};

struct clv_workload {
	struct clv_workload_shape *shapes;
	size_t n_shapes, room;
	uint32_t *slots; /* by hash: 1 + index, 0: empty; NULL after clv_workload_cut() */
	size_t n_slots;
	uint64_t weight; /* of all added requests; after clv_workload_cut(), of shapes */
};

/* The number of distinct shapes that are counted; beyond it the rarest are dropped, but
 * stay in the total weight. */
#define CLV_WORKLOAD_COUNTED_MAX (1u << 17)
/* The number of shapes that clv_workload_cut() keeps at most. */
#define CLV_WORKLOAD_TYPICAL_MAX 144u

/* Adds n equal requests.  Returns 0 or -ENOMEM. */
int clv_workload_add(struct clv_workload *workload,
	const struct clv_place_request *request, uint32_t n);

/* Keeps the typical shapes, which are the most frequent ones that together make up
 * `percent` of all requests, sorted by frequency.  Nothing can be added afterwards. */
void clv_workload_cut(struct clv_workload *workload, unsigned percent);

void clv_workload_done(struct clv_workload *workload);
