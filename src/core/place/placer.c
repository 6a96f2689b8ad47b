/* SPDX-License-Identifier: Apache-2.0 */
/* A policy with bounds searches for the best node.  For other policies the ranking of the
 * request's shape is updated and its top is taken.  A request with a rule for its group,
 * or for one rack, looks through all nodes of the ranking, because groups change with
 * every lease. */
#include "core/place/place.h"

#include "core/fleet/fleet-fit.h"
#include "core/fleet/power.h"
#include "core/place/prices.h"
#include "core/place/ranking.h"
#include "core/place/room.h"
#include "core/place/search.h"

#include "base/error.h"
#include "core/fleet/fleet.h"
#include "core/place/frag.h"
#include "core/place/policy.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Memory for cached scores by default. */
#define KEPT_BYTES_MIN (UINT64_C(256) << 10)
#define KEPT_BYTES_PER_DEVICE 60
#define RANKINGS_MIN 4
#define RANKINGS_MAX 512
#define N_SLOTS (4 * RANKINGS_MAX)

struct clv_placer {
	struct clv_fleet *fleet;
	const struct clv_place_policy *policy;
	struct clv_place_view view;
	struct clv_frag *frag;
	struct clv_place_prices prices;
	struct clv_room room;
	struct clv_search search; /* empty if the policy has no bounds */
	uint64_t n_followed;      /* changes of the prices */
	/* The nodes of rack r: by_rack[first_of[r]] up to by_rack[first_of[r + 1]].
	 * NULL until a request names a rack. */
	uint32_t *by_rack, *first_of;
	struct clv_ranking *rankings;
	unsigned n_rankings, most_rankings;
	/* by hash of a shape: 1 + index of a ranking that may be of that shape */
	uint16_t slots[N_SLOTS];
};

static unsigned count_rankings(const struct clv_fleet *fleet,
	const struct clv_place_policy *policy, size_t most_bytes)
{
	size_t n, searched = policy->bound ? clv_search_bytes(fleet) : 0;

	if (most_bytes == 0)
		most_bytes = (size_t)fleet->n_devices * KEPT_BYTES_PER_DEVICE;
	if (most_bytes < KEPT_BYTES_MIN)
		most_bytes = KEPT_BYTES_MIN;
	n = most_bytes < searched ? 0 : most_bytes - searched;
	n /= clv_ranking_bytes(fleet) + 1;
	return n < RANKINGS_MIN   ? RANKINGS_MIN
	       : n > RANKINGS_MAX ? RANKINGS_MAX
				  : (unsigned)n;
}

static int learn(struct clv_placer *placer, const struct clv_workload *workload)
{
	placer->frag = clv_frag_new(placer->fleet, workload);
	if (!placer->frag)
		return -ENOMEM;
	clv_place_prices_init(&placer->prices, placer->fleet, workload);
	placer->view.frag = placer->frag;
	placer->view.prices = &placer->prices;
	if (!placer->policy->keeps_room)
		return 0;
	if (clv_room_init(&placer->room, placer->fleet, workload) < 0)
		return -ENOMEM;
	placer->view.room = &placer->room;
	return 0;
}

static void count_power(
	struct clv_place_view *view, const struct clv_placer_options *options)
{
	static const struct clv_place_request one_cpu = {.cpu_milli = 1};
	uint32_t device_w = clv_fleet_watts_of_device(view->fleet);

	view->power_milli = options && options->power_milli ? options->power_milli
							    : CLV_PLACE_POWER_MILLI;
	/* A fleet without devices, or of which only the sockets are known. */
	if (device_w == 0)
		device_w = clv_fleet_watts_most(view->fleet, &one_cpu);
	view->device_w = device_w ? device_w : 1;
}

int clv_placer_new(struct clv_fleet *fleet, const struct clv_place_policy *policy,
	const struct clv_workload *workload, const struct clv_placer_options *options,
	struct clv_placer **ret, struct clv_error *err)
{
	struct clv_placer *placer;

	if (policy->is_learned && !workload)
		return clv_error_set(err, -EINVAL,
			"the policy '%s' needs a workload of expected requests",
			policy->name);
	placer = calloc(1, sizeof(*placer));
	if (!placer)
		return clv_error_errno(err, ENOMEM, "cannot create a placer");
	placer->fleet = fleet;
	placer->policy = policy;
	placer->view = (struct clv_place_view){
		.fleet = fleet,
		.seed = options ? options->seed : 0,
	};
	if (policy->counts_power)
		count_power(&placer->view, options);
	placer->most_rankings =
		count_rankings(fleet, policy, options ? options->most_kept_bytes : 0);
	placer->rankings = calloc(placer->most_rankings, sizeof(*placer->rankings));
	if (!placer->rankings || (policy->is_learned && learn(placer, workload) < 0) ||
		(policy->bound && clv_search_init(&placer->search, fleet) < 0)) {
		clv_placer_free(placer);
		return clv_error_errno(err, ENOMEM, "cannot create a placer");
	}
	*ret = placer;
	return 0;
}

struct clv_placer *clv_placer_free(struct clv_placer *placer)
{
	if (!placer)
		return NULL;
	for (unsigned i = 0; i < placer->n_rankings; i++)
		clv_ranking_done(&placer->rankings[i]);
	free(placer->rankings);
	free(placer->by_rack);
	free(placer->first_of);
	clv_frag_free(placer->frag);
	clv_room_done(&placer->room);
	clv_search_done(&placer->search);
	free(placer);
	return NULL;
}

struct clv_fleet *clv_placer_fleet(const struct clv_placer *placer)
{
	return placer->fleet;
}

const struct clv_place_view *clv_placer_view(const struct clv_placer *placer)
{
	return &placer->view;
}

size_t clv_placer_bytes(const struct clv_placer *placer)
{
	return sizeof(*placer) + placer->most_rankings * sizeof(*placer->rankings) +
	       placer->n_rankings * clv_ranking_bytes(placer->fleet) +
	       (placer->view.room ? clv_room_bytes(placer->fleet) : 0) +
	       (placer->policy->bound ? clv_search_bytes(placer->fleet) : 0);
}

static unsigned hash_of(const struct clv_place_request *shape)
{
	uint64_t x = shape->models ^ (uint64_t)shape->cpu_milli << 32 ^ shape->memory_mib;

	x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	x ^= (uint64_t)shape->milli << 40 ^ (uint64_t)shape->n_devices << 20 ^
	     shape->device_mib ^ (uint64_t)shape->profile << 56;
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)(x >> 48) % N_SLOTS;
}

/* A new ranking while there is room, then the least recently used one. */
static struct clv_ranking *spare_ranking(struct clv_placer *placer)
{
	struct clv_ranking *oldest = placer->rankings;

	if (placer->n_rankings < placer->most_rankings &&
		clv_ranking_init(&placer->rankings[placer->n_rankings], placer->fleet) ==
			0)
		return &placer->rankings[placer->n_rankings++];
	for (unsigned i = 1; i < placer->n_rankings; i++) {
		if (placer->rankings[i].used < oldest->used)
			oldest = &placer->rankings[i];
	}
	return placer->n_rankings ? oldest : NULL;
}

static struct clv_ranking *ranking_of(
	struct clv_placer *placer, const struct clv_place_request *shape)
{
	uint16_t *slot = &placer->slots[hash_of(shape)];
	struct clv_ranking *ranking;

	if (*slot && clv_ranking_is_of(&placer->rankings[*slot - 1], shape))
		return &placer->rankings[*slot - 1];
	for (unsigned i = 0; i < placer->n_rankings; i++) {
		if (clv_ranking_is_of(&placer->rankings[i], shape)) {
			*slot = (uint16_t)(i + 1);
			return &placer->rankings[i];
		}
	}
	ranking = spare_ranking(placer);
	if (!ranking)
		return NULL;
	clv_ranking_begin(ranking, shape);
	*slot = (uint16_t)(ranking - placer->rankings + 1);
	return ranking;
}

/* Nodes of one rack stay in the order of their numbers. */
static int list_racks(struct clv_placer *placer)
{
	const struct clv_fleet *fleet = placer->fleet;

	if (placer->by_rack)
		return 0;
	placer->by_rack = calloc((size_t)fleet->n_nodes + 1, sizeof(*placer->by_rack));
	placer->first_of = calloc((size_t)fleet->n_racks + 3, sizeof(*placer->first_of));
	if (!placer->by_rack || !placer->first_of) {
		free(placer->by_rack);
		free(placer->first_of);
		placer->by_rack = placer->first_of = NULL;
		return -ENOMEM;
	}
	/* Counted two further on, so that the last pass leaves each start in its place.
	 */
	for (uint32_t i = 0; i < fleet->n_nodes; i++)
		placer->first_of[fleet->nodes[i].rack + 2]++;
	for (uint32_t i = 2; i <= fleet->n_racks + 2; i++)
		placer->first_of[i] += placer->first_of[i - 1];
	for (uint32_t i = 0; i < fleet->n_nodes; i++)
		placer->by_rack[placer->first_of[fleet->nodes[i].rack + 1]++] = i;
	return 0;
}

static bool suits_group(const struct clv_fleet *fleet, uint32_t node,
	const struct clv_place_request *request, uint32_t home, uint32_t most)
{
	switch (request->rule) {
	case CLV_PLACE_TOGETHER:
		return home == CLV_FLEET_NONE || home == node;
	case CLV_PLACE_ONE_RACK:
		return fleet->nodes[node].rack > 0 &&
		       (home == CLV_FLEET_NONE ||
			       fleet->nodes[home].rack == fleet->nodes[node].rack);
	case CLV_PLACE_APART:
	case CLV_PLACE_SPREAD:
		return clv_fit_count_group(fleet, node, request->group) <= most;
	default:
		return true;
	}
}

static uint32_t best_in_group(const struct clv_placer *placer,
	const struct clv_ranking *ranking, const struct clv_place_request *request)
{
	const struct clv_fleet *fleet = placer->fleet;
	/* A gang has found the rack of its groups before. */
	bool has_home = request->rule == CLV_PLACE_TOGETHER ||
			(request->rule == CLV_PLACE_ONE_RACK && !request->rack);
	uint32_t home = has_home && request->group
				? clv_fit_home_of_group(fleet, request->group)
				: CLV_FLEET_NONE;
	uint32_t first = request->rack ? placer->first_of[request->rack] : 0;
	uint32_t end =
		request->rack ? placer->first_of[request->rack + 1] : fleet->n_nodes;
	uint32_t least = 0, best = CLV_FLEET_NONE;

	if (request->rule == CLV_PLACE_SPREAD) {
		least = UINT32_MAX;
		for (uint32_t i = 0; i < fleet->n_nodes; i++) {
			uint32_t n =
				ranking->scores[i] == CLV_RANKING_UNFIT
					? UINT32_MAX
					: clv_fit_count_group(fleet, i, request->group);
			least = n < least ? n : least;
		}
	}
	for (uint32_t k = first; k < end; k++) {
		uint32_t i = request->rack ? placer->by_rack[k] : k;

		if (ranking->scores[i] == CLV_RANKING_UNFIT ||
			(best != CLV_FLEET_NONE &&
				ranking->scores[i] <= ranking->scores[best]))
			continue;
		if (suits_group(fleet, i, request, home, least))
			best = i;
	}
	return best;
}

static void choose(const struct clv_placer *placer,
	const struct clv_place_request *request, struct clv_place_at *at)
{
	const struct clv_fleet_node *node = &placer->fleet->nodes[at->node];

	at->devices = 0;
	at->start = 0;
	if (request->n_devices == 0)
		return;
	if (placer->policy->choose)
		placer->policy->choose(&placer->view, node, request, at);
	else
		clv_pick_devices(placer->fleet, node, request, placer->policy->pick, at);
}

/* Scores that are cached hold for one version of the view. */
static void follow(struct clv_placer *placer)
{
	uint64_t n_chosen = placer->room.n_chosen;

	clv_room_update(&placer->room, placer->fleet);
	if (placer->room.n_chosen != n_chosen &&
		clv_place_prices_follow(&placer->prices, placer->fleet, &placer->room))
		placer->n_followed++;
	placer->view.version = placer->room.version + placer->n_followed;
}

/* Fills *ret_node with the best node, or CLV_FLEET_NONE.  Returns 0 or -ENOMEM. */
static int find_node(struct clv_placer *placer, const struct clv_place_request *request,
	uint32_t *ret_node)
{
	struct clv_place_request shape = clv_ranking_shape(request);
	bool is_ruled =
		request->rack || (request->group && request->rule != CLV_PLACE_FREE);
	struct clv_ranking *ranking;

	if (placer->policy->bound && !is_ruled) {
		*ret_node = clv_search_find(
			&placer->search, &placer->view, placer->policy, &shape);
		return 0;
	}
	ranking = ranking_of(placer, &shape);
	if (!ranking)
		return -ENOMEM;
	ranking->used = placer->view.n_decisions;
	clv_ranking_update(ranking, &placer->view, placer->policy);
	*ret_node = is_ruled ? best_in_group(placer, ranking, request)
			     : clv_ranking_top(ranking, placer->fleet);
	return 0;
}

int clv_placer_find(struct clv_placer *placer, const struct clv_place_request *request,
	struct clv_place_at *ret_at)
{
	struct clv_place_at at = {0};
	int r = clv_fleet_check(placer->fleet, request, NULL);

	assert(request->rack <= placer->fleet->n_racks);
	if (r == 0 && request->rack)
		r = list_racks(placer);
	if (r < 0)
		return r;
	placer->view.n_decisions++;
	if (placer->view.room)
		follow(placer);
	r = find_node(placer, request, &at.node);
	if (r < 0)
		return r;
	if (at.node == CLV_FLEET_NONE)
		return -ENOSPC;
	choose(placer, request, &at);
	*ret_at = at;
	return 0;
}

int clv_placer_find_each(struct clv_placer *placer,
	const struct clv_place_request *requests, struct clv_place_at *ret_at)
{
	const struct clv_fleet *fleet = placer->fleet;
	const struct clv_room *room = placer->view.room;
	struct clv_place_at best = {.node = CLV_FLEET_NONE};
	unsigned best_dies = 0;
	int32_t best_score = 0;

	placer->view.n_decisions++;
	/* Room is counted for requests that are the same on every node. */
	placer->view.room = NULL;
	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		const struct clv_fleet_node *node = &fleet->nodes[i];
		struct clv_place_at at = {.node = i};
		unsigned n_dies;
		int32_t score;

		if (requests[i].n_devices == 0 ||
			clv_fleet_check(fleet, &requests[i], NULL) < 0 ||
			!clv_fit_node(fleet, node, &requests[i]))
			continue;
		score = placer->policy->score(&placer->view, node, &requests[i]);
		if (best.node != CLV_FLEET_NONE && score < best_score)
			continue;
		choose(placer, &requests[i], &at);
		n_dies = clv_pick_count_dies(fleet, node, at.devices);
		if (best.node != CLV_FLEET_NONE && score == best_score &&
			n_dies >= best_dies)
			continue;
		best = at;
		best_score = score;
		best_dies = n_dies;
	}
	placer->view.room = room;
	if (best.node == CLV_FLEET_NONE)
		return -ENOSPC;
	*ret_at = best;
	return 0;
}

int clv_placer_place(struct clv_placer *placer, const struct clv_place_request *request,
	uint32_t *ret_lease)
{
	bool is_followed = placer->view.room && !request->rack;
	struct clv_place_at at;
	int r;

	if (is_followed)
		clv_room_come(&placer->room, placer->fleet, request);
	r = clv_placer_find(placer, request, &at);
	if (r == 0 && is_followed)
		clv_room_placed(&placer->room);
	return r < 0 ? r : clv_fleet_take(placer->fleet, request, &at, ret_lease);
}
