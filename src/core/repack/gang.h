/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/place/place.h"

#include <stddef.h>

/* Places the requests of a gang, all or none.  Not thread-safe. */

/* How single requests of a gang are placed. */
struct clv_gang_steps {
	/* Places requests[member], after the members before it, whose leases are
	 * leases[0..member).  Returns 0 and its lease in leases[member], or a negative
	 * errno with nothing changed. */
	int (*place)(void *userdata, const struct clv_place_request *request,
		size_t member, uint32_t *leases);
	/* Takes back the first n members, in the reverse order. */
	void (*take_back)(void *userdata, uint32_t *leases, size_t n);
};

/* Returns 0 and the leases; or the error of a request, -ENOSPC if it has no room, and
 * nothing is placed. */
int clv_gang_place(const struct clv_place_request *requests, size_t n,
	const struct clv_gang_steps *steps, void *userdata, uint32_t *ret_leases);

/* The same with clv_placer_place(). */
int clv_place_gang(struct clv_placer *placer, const struct clv_place_request *requests,
	size_t n, uint32_t *ret_leases);
