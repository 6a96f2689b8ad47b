/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Which idle replicas stop so that another one has room.  Pure. */

/* A device that the replica may have. */
struct clv_give_way_place {
	uint32_t free_ppm, needed_ppm; /* of the device; what the replica needs of it */
	uint64_t free_bytes, needed_bytes;
};

/* A service with idle replicas. */
struct clv_give_way_service {
	uint32_t n_spare; /* of its replicas, so many may stop */
	uint64_t idle_ns;
};

/* The lease of one of its replicas. */
struct clv_give_way_lease {
	size_t place, service; /* indexes */
	uint32_t share_ppm;    /* promised */
	uint64_t memory_bytes;
};

#define CLV_GIVE_WAY_LEASES_MAX 256u

struct clv_give_way {
	const struct clv_give_way_place *places;
	size_t n_places;
	const struct clv_give_way_service *services;
	const struct clv_give_way_lease *leases; /* at most CLV_GIVE_WAY_LEASES_MAX */
	size_t n_leases;
};

/* Fills ret with the indexes of the leases that end so that one place has room: as few as
 * possible, and of these the ones that were idle longest, as far as a choice in that
 * order finds them.  Returns their number, 0 if a place has room already, or -1 if none
 * can have. */
int clv_give_way_choose(
	const struct clv_give_way *room, size_t ret[CLV_GIVE_WAY_LEASES_MAX]);
