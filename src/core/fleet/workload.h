/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/request.h"

#include <stddef.h>

/* What is asked of a fleet, in counts: the shapes of the requests seen, and how often.
 * Fragmentation is measured against it.  Embedded in its owner; not thread-safe. */

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
	uint32_t *slots; /* by hash: 1 + index, 0 is empty; NULL once it is cut */
	size_t n_slots;
	uint64_t weight; /* of all that were added; once it is cut, of the shapes */
};

/* So many different shapes are counted at a time; where there are more, the rarest of
 * them are forgotten, though not that they came.  Of these, so many can be typical. */
#define CLV_WORKLOAD_COUNTED_MAX (1u << 17)
#define CLV_WORKLOAD_TYPICAL_MAX 144u

/* Adds n requests like this one.  0 or -ENOMEM. */
int clv_workload_add(struct clv_workload *workload,
	const struct clv_place_request *request, uint32_t n);

/* Most frequent first, and of these no more than make up so many percent of all: the
 * typical ones.  Nothing can be added afterwards. */
void clv_workload_cut(struct clv_workload *workload, unsigned percent);

void clv_workload_done(struct clv_workload *workload);
