/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/gpu/mig.h"

/* Plans the change from the existing to the wanted GPU instances of one GPU: which stay,
 * which are destroyed, and where new ones are placed.  Pure.  The search is exhaustive:
 * it finds a solution exactly if there is one, destroys as little as possible, refills as
 * little as possible, and among the remaining solutions takes the one that leaves the
 * most other instances possible. */

#define CLV_MIG_HOLDERS_MAX 48

/* An existing instance. */
struct clv_mig_existing {
	struct clv_mig_instance instance;
	bool in_use;  /* must not be destroyed */
	bool is_kept; /* stays even if no wish matches it */
	/* Masks by index in wishes: the instance cannot serve this wish; or it can only
	 * with other compute instances inside ("refilled"), which costs less than
	 * destroying it and more than leaving it unchanged. */
	uint16_t cannot_be;
	uint16_t differs_from;
	/* Mask of the holders (at most CLV_MIG_HOLDERS_MAX) that must end before the
	 * instance can be destroyed.  0 although in_use: one holder that no other
	 * instance has. */
	uint64_t holders;
	/* By index in wishes: the alternative ways to serve this wish, each as a mask of
	 * the holders that it ends.  Empty if no holder has to end.  Borrowed. */
	const uint64_t *ends[CLV_MIG_INSTANCES_MAX];
	uint8_t n_ends[CLV_MIG_INSTANCES_MAX];
};

#define CLV_MIG_ANYWHERE 0xff

struct clv_mig_wanted {
	uint8_t profile;
	uint8_t start; /* position in the grid, or CLV_MIG_ANYWHERE */
};

#define CLV_MIG_NEW 0xff

struct clv_mig_solution {
	/* Masks by index in have. */
	uint16_t stay;
	uint16_t in_the_way; /* in use and destroyed; only with -EBUSY */
	/* holders that must end, the bits of clv_mig_existing.holders; only with -EBUSY
	 */
	uint64_t ended;
	/* By index in wishes. */
	uint8_t from[CLV_MIG_INSTANCES_MAX]; /* index in have, or CLV_MIG_NEW */
	uint8_t starts[CLV_MIG_INSTANCES_MAX];
	unsigned n_refilled; /* instances that stay with other compute instances inside */
	unsigned options;    /* clv_mig_set_count_options() of the result */
};

/* Returns 0.  -EBUSY: some holders have to end first; *answer has the solution with the
 * fewest of them, which are the holders of what is in_the_way and those that are ended by
 * refilling what stays.  -ENOSPC: the wishes do not fit even if nothing but the kept
 * instances remains; *answer is not filled.  At most CLV_MIG_INSTANCES_MAX of each. */
int clv_mig_solve(const struct clv_mig_model *model, const struct clv_mig_existing *have,
	size_t n_have, const struct clv_mig_wanted *wishes, size_t n_wishes,
	struct clv_mig_solution *answer);
