/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/request.h"

#include <stddef.h>

/* Devices that are not divided, each looked at alone: which of them a share should go to,
 * by the policy that is our own.  For whoever knows what is free on each and chooses
 * among them, on one node or many; the bridges do.  Not thread-safe. */
struct clv_singles;

/* A device, and what is free on it. */
struct clv_single {
	char model[32];
	uint32_t memory_mib, free_mib;
	uint16_t free_milli;
};

/* shapes: what was asked for lately, which is what is expected; somebody who wants a
 * whole device always is.  -EINVAL, -ENOMEM. */
int clv_singles_new(const struct clv_single *devices, size_t n_devices,
	const struct clv_place_request *shapes, size_t n_shapes,
	struct clv_singles **ret);
/* Accepts NULL; returns NULL. */
struct clv_singles *clv_singles_free(struct clv_singles *singles);

/* The best of the n devices from first on for a share, of which memory alone is as large
 * a part of the compute, and compute alone as large a part of the memory: its index, with
 * a score by which others compare; -ENOSPC. */
int clv_singles_find(const struct clv_singles *singles, size_t first, size_t n,
	const struct clv_place_request *request, int64_t *ret_score);

/* What the share is on that device. */
struct clv_place_request clv_singles_on(const struct clv_singles *singles, size_t at,
	const struct clv_place_request *request);

/* Takes it there, and gives it back by the number.  -ENOSPC, -ENOMEM. */
int clv_singles_take(struct clv_singles *singles, size_t at,
	const struct clv_place_request *request, uint32_t *ret_lease);
void clv_singles_release(struct clv_singles *singles, uint32_t lease);
