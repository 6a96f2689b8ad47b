/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/place/place.h"

#include <stdbool.h>
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
	/* place() may move other leases: racks with too little free compute are tried,
	 * too. */
	bool moves_others;
};

/* Whether members of the gang have to be in one rack. */
bool clv_gang_needs_rack(const struct clv_place_request *requests, size_t n);

/* Those of several requests that have the rule CLV_PLACE_ONE_RACK go to the rack of their
 * groups; if these have no lease yet, each rack with enough free compute is tried, the
 * one with the least first, so that others stay free for larger gangs.  Returns 0 and the
 * leases; or the error of a request, -ENOSPC if it has no room, and nothing is placed;
 * -ENOMEM. */
int clv_gang_place(const struct clv_fleet *fleet,
	const struct clv_place_request *requests, size_t n,
	const struct clv_gang_steps *steps, void *userdata, uint32_t *ret_leases);

/* The same with clv_placer_place(). */
int clv_place_gang(struct clv_placer *placer, const struct clv_place_request *requests,
	size_t n, uint32_t *ret_leases);

/* Whether the leases are on nodes of one rack. */
bool clv_gang_is_in_one_rack(
	const struct clv_fleet *fleet, const uint32_t *leases, size_t n);
