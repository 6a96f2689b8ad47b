/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/request.h"

#include <stddef.h>

struct clv_fleet;
struct clv_place_policy;
struct clv_place_view;

/* Finds the best node for one request, without scores of earlier requests: for shapes
 * that come once.  The result is that of scoring every node.
 *
 * Sets of nodes by what is free on them are kept as bitmaps.  A search intersects these,
 * and computes the scores of nodes whose bound, as the policy states it, is not below the
 * best score so far.  Of nodes without leases that are equal only the first is examined.
 *
 * Embedded in its owner; updated from the log of the fleet. */

#define CLV_SEARCH_IDLE_MAX 16

struct clv_search {
	uint64_t *sets; /* [set][word], a bit for each node */
	uint64_t *left; /* nodes that the current search has not examined, [word] */
	uint32_t n_words;
	/* Hashes of the states of nodes without leases, each of which has a set. */
	uint64_t idle[CLV_SEARCH_IDLE_MAX];
	uint32_t first[CLV_SEARCH_IDLE_MAX]; /* no word of that set before it is not 0 */
	unsigned n_idle;
	uint64_t n_seen;         /* changes of the log that are included */
	uint32_t cpu_per_device; /* the price by which spare processors were computed */
	bool is_filled;
};

size_t clv_search_bytes(const struct clv_fleet *fleet);
/* Returns 0, or -ENOMEM with an empty search. */
int clv_search_init(struct clv_search *search, const struct clv_fleet *fleet);
void clv_search_done(struct clv_search *search);

/* The first of the nodes with the highest score, or CLV_FLEET_NONE.  The policy has
 * bounds; the shape is that of clv_ranking_shape(). */
uint32_t clv_search_find(struct clv_search *search, const struct clv_place_view *view,
	const struct clv_place_policy *policy, const struct clv_place_request *shape);
