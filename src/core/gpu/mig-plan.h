/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/gpu/mig.h"

/* From the instances that one GPU has to those that are wanted there: what stays, what
 * goes and where the new ones are put.  Pure and exhaustive: it finds a way exactly when
 * there is one, destroys as little as possible, refills as little as possible, and of
 * all ways that are left takes the one that keeps the most other instances possible. */

#define CLV_MIG_HOLDERS_MAX 48

struct clv_mig_have {
	struct clv_mig_instance instance;
	bool in_use;  /* may not be destroyed */
	bool is_kept; /* stays, wanted or not */
	/* Bits, by index in wishes: it cannot become that one, or only with other parts
	 * inside, which is better than losing it and worse than leaving it as it is. */
	uint16_t cannot_be;
	uint16_t differs_from;
	/* A bit for each of at most CLV_MIG_HOLDERS_MAX holders: who has to go if it
	 * goes. None, and yet in use: somebody of its own. */
	uint64_t holders;
	/* By index in wishes: ways to become that one, by the holders that each ends; no
	 * way is listed where nobody has to go.  Borrowed. */
	const uint64_t *ends[CLV_MIG_INSTANCES_MAX];
	uint8_t n_ends[CLV_MIG_INSTANCES_MAX];
};

#define CLV_MIG_ANYWHERE 0xff

struct clv_mig_wish {
	uint8_t profile;
	uint8_t start; /* or CLV_MIG_ANYWHERE */
};

#define CLV_MIG_NEW 0xff

struct clv_mig_answer {
	/* Bits, by index in have. */
	uint16_t stay;
	uint16_t in_the_way; /* in use, and do not stay; only with -EBUSY */
	uint64_t ended;      /* who has to go, in the bits of have; only with -EBUSY */
	/* By index in wish. */
	uint8_t from[CLV_MIG_INSTANCES_MAX]; /* which of have it is, or CLV_MIG_NEW */
	uint8_t starts[CLV_MIG_INSTANCES_MAX];
	unsigned n_refilled; /* of those that stay, how many get other parts */
	unsigned options;    /* what else would still fit then */
};

/* 0; -EBUSY: only if some holders go first, the fewest that there can be: those of what
 * is in_the_way, and those whom what stays ends by becoming what it is to be; the rest of
 * the answer is how it would be then; -ENOSPC: not even on an empty GPU beside what is
 * kept, *answer is not filled.  At most CLV_MIG_INSTANCES_MAX of each. */
int clv_mig_solve(const struct clv_mig_model *model, const struct clv_mig_have *have,
	size_t n_have, const struct clv_mig_wish *wishes, size_t n_wishes,
	struct clv_mig_answer *answer);
