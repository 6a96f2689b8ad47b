/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/request.h"

#include <stddef.h>

/* Chooses among undivided devices for a share, each device by itself, by the balance
 * policy.  For callers that know what is free on each device, on one node or many, such
 * as the bridges.  Not thread-safe. */
struct clv_singles;

/* A device, and what is free on it. */
struct clv_single {
	char model[32];
	uint32_t memory_mib, free_mib;
	uint16_t free_milli;
};

/* shapes: recent requests, which are taken as the expected workload; a request for a
 * whole device is always part of it.  Returns 0, -EINVAL or -ENOMEM. */
int clv_singles_new(const struct clv_single *devices, size_t n_devices,
	const struct clv_place_request *shapes, size_t n_shapes,
	struct clv_singles **ret);
/* Accepts NULL; returns NULL. */
struct clv_singles *clv_singles_free(struct clv_singles *singles);

/* Finds the best of the n devices from first on for a share.  Of a request without
 * compute, the compute is the part that its memory is of the device, and vice versa.
 * Returns the index, and a score that is comparable between calls; -ENOSPC. */
int clv_singles_find(const struct clv_singles *singles, size_t first, size_t n,
	const struct clv_place_request *request, int64_t *ret_score);

/* The request, completed for that device. */
struct clv_place_request clv_singles_complete(const struct clv_singles *singles,
	size_t at, const struct clv_place_request *request);

/* Takes the share on the device; it is released by its number.  -ENOSPC, -ENOMEM. */
int clv_singles_take(struct clv_singles *singles, size_t at,
	const struct clv_place_request *request, uint32_t *ret_lease);
void clv_singles_release(struct clv_singles *singles, uint32_t lease);
