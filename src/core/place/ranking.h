/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/place/policy.h"

/* The scores of all nodes for requests of one shape, with the best score of each block of
 * nodes, updated from the log of the fleet.  Embedded in its owner. */

#define CLV_RANKING_BLOCK 64
#define CLV_RANKING_UNFIT INT32_MIN

struct clv_ranking {
	struct clv_place_request shape; /* rule, group and rack are left empty */
	int32_t *scores;                /* by node */
	int32_t *best;                  /* by block */
	uint64_t n_seen;                /* changes of the log that are included */
	uint64_t used;                  /* last use, in decisions of the owner */
	uint64_t version;               /* of the costs that the scores include */
	bool is_filled;
};

/* The part of a request that a score depends on. */
struct clv_place_request clv_ranking_shape(const struct clv_place_request *request);
bool clv_ranking_is_of(
	const struct clv_ranking *ranking, const struct clv_place_request *shape);

size_t clv_ranking_bytes(const struct clv_fleet *fleet);
/* Returns 0, or -ENOMEM with an empty ranking. */
int clv_ranking_init(struct clv_ranking *ranking, const struct clv_fleet *fleet);
void clv_ranking_done(struct clv_ranking *ranking);

/* Resets the ranking to another shape. */
void clv_ranking_begin(
	struct clv_ranking *ranking, const struct clv_place_request *shape);
void clv_ranking_update(struct clv_ranking *ranking, const struct clv_place_view *view,
	const struct clv_place_policy *policy);
/* The first of the nodes with the highest score, or CLV_FLEET_NONE. */
uint32_t clv_ranking_top(
	const struct clv_ranking *ranking, const struct clv_fleet *fleet);
