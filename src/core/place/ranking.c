/* SPDX-License-Identifier: Apache-2.0 */
/* Cached scores of all nodes for one shape. */
#include "core/place/ranking.h"

#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/place/policy.h"

#include <errno.h>
#include <stdlib.h>

#define N_MEMOS 256

struct clv_place_request clv_ranking_shape(const struct clv_place_request *request)
{
	struct clv_place_request shape = *request;

	shape.rule = CLV_PLACE_FREE;
	shape.group = 0;
	shape.rack = 0;
	if (!shape.alone_in_class)
		shape.class = CLV_CLASS_NORMAL;
	return shape;
}

bool clv_ranking_is_of(
	const struct clv_ranking *ranking, const struct clv_place_request *shape)
{
	const struct clv_place_request *own = &ranking->shape;

	return ranking->is_filled && own->models == shape->models &&
	       own->cpu_milli == shape->cpu_milli &&
	       own->memory_mib == shape->memory_mib &&
	       own->device_mib == shape->device_mib && own->milli == shape->milli &&
	       own->n_devices == shape->n_devices && own->scheme == shape->scheme &&
	       own->profile == shape->profile && own->same_numa == shape->same_numa &&
	       own->same_link == shape->same_link &&
	       own->alone_in_class == shape->alone_in_class && own->class == shape->class;
}

static size_t n_blocks(const struct clv_fleet *fleet)
{
	return (fleet->n_nodes + CLV_RANKING_BLOCK - 1) / CLV_RANKING_BLOCK;
}

size_t clv_ranking_bytes(const struct clv_fleet *fleet)
{
	return n_blocks(fleet) * (CLV_RANKING_BLOCK + 1) * sizeof(int32_t);
}

int clv_ranking_init(struct clv_ranking *ranking, const struct clv_fleet *fleet)
{
	size_t n = n_blocks(fleet);

	*ranking = (struct clv_ranking){0};
	ranking->scores = calloc(n * CLV_RANKING_BLOCK + 1, sizeof(int32_t));
	ranking->best = calloc(n + 1, sizeof(int32_t));
	if (ranking->scores && ranking->best)
		return 0;
	clv_ranking_done(ranking);
	return -ENOMEM;
}

void clv_ranking_done(struct clv_ranking *ranking)
{
	free(ranking->scores);
	free(ranking->best);
	*ranking = (struct clv_ranking){0};
}

void clv_ranking_begin(struct clv_ranking *ranking, const struct clv_place_request *shape)
{
	ranking->shape = *shape;
	ranking->is_filled = false;
}

static int32_t score_of(const struct clv_place_view *view,
	const struct clv_place_policy *policy, const struct clv_place_request *shape,
	uint32_t number)
{
	const struct clv_fleet_node *node = &view->fleet->nodes[number];

	if (!clv_fit_node(view->fleet, node, shape))
		return CLV_RANKING_UNFIT;
	return policy->score(view, node, shape);
}

/* The length is fixed, so that the compiler uses vector instructions. */
static int32_t best_of(const int32_t scores[CLV_RANKING_BLOCK])
{
	int32_t best = CLV_RANKING_UNFIT;

	for (unsigned i = 0; i < CLV_RANKING_BLOCK; i++)
		best = scores[i] > best ? scores[i] : best;
	return best;
}

/* Scores by node state, cached for one pass. */
struct memo {
	uint64_t states[N_MEMOS];
	int32_t scores[N_MEMOS];
};

static int32_t score_once(struct memo *memo, const struct clv_place_view *view,
	const struct clv_place_policy *policy, const struct clv_place_request *shape,
	uint32_t number)
{
	const struct clv_fleet_node *node = &view->fleet->nodes[number];
	unsigned slot = node->state % N_MEMOS;

	if (!clv_fit_node(view->fleet, node, shape))
		return CLV_RANKING_UNFIT;
	if (policy->is_uncacheable)
		return policy->score(view, node, shape);
	if (memo->states[slot] != node->state) {
		memo->states[slot] = node->state;
		memo->scores[slot] = policy->score(view, node, shape);
	}
	return memo->scores[slot];
}

static void fill(struct clv_ranking *ranking, const struct clv_place_view *view,
	const struct clv_place_policy *policy)
{
	size_t n = n_blocks(view->fleet);
	struct memo memo = {0};

	for (uint32_t i = 0; i < n * CLV_RANKING_BLOCK; i++)
		ranking->scores[i] =
			i < view->fleet->n_nodes
				? score_once(&memo, view, policy, &ranking->shape, i)
				: CLV_RANKING_UNFIT;
	for (size_t i = 0; i < n; i++)
		ranking->best[i] = best_of(&ranking->scores[i * CLV_RANKING_BLOCK]);
	ranking->is_filled = true;
}

static void update_node(struct clv_ranking *ranking, const struct clv_place_view *view,
	const struct clv_place_policy *policy, uint32_t node)
{
	int32_t *best = &ranking->best[node / CLV_RANKING_BLOCK];
	int32_t before = ranking->scores[node];
	int32_t score = score_of(view, policy, &ranking->shape, node);

	ranking->scores[node] = score;
	if (score >= *best)
		*best = score;
	else if (before == *best)
		*best = best_of(
			&ranking->scores[node / CLV_RANKING_BLOCK * CLV_RANKING_BLOCK]);
}

void clv_ranking_update(struct clv_ranking *ranking, const struct clv_place_view *view,
	const struct clv_place_policy *policy)
{
	const struct clv_fleet_log *log = &view->fleet->log;

	if (!ranking->is_filled || policy->is_uncacheable ||
		ranking->version != view->version ||
		log->n_changes - ranking->n_seen > log->mask) {
		fill(ranking, view, policy);
	} else {
		for (uint64_t i = ranking->n_seen; i < log->n_changes; i++) {
			uint32_t node = log->nodes[i & log->mask];

			if (log->last[node] == i)
				update_node(ranking, view, policy, node);
		}
	}
	ranking->n_seen = log->n_changes;
	ranking->version = view->version;
}

uint32_t clv_ranking_top(const struct clv_ranking *ranking, const struct clv_fleet *fleet)
{
	size_t n = n_blocks(fleet), block = 0;
	const int32_t *scores;

	for (size_t i = 1; i < n; i++) {
		if (ranking->best[i] > ranking->best[block])
			block = i;
	}
	if (n == 0 || ranking->best[block] == CLV_RANKING_UNFIT)
		return CLV_FLEET_NONE;
	scores = &ranking->scores[block * CLV_RANKING_BLOCK];
	for (uint32_t i = 0; i < CLV_RANKING_BLOCK; i++) {
		if (scores[i] == ranking->best[block])
			return (uint32_t)block * CLV_RANKING_BLOCK + i;
	}
	return CLV_FLEET_NONE;
}
