/* SPDX-License-Identifier: Apache-2.0 */
/* The search takes leases away from a node, places the request there and looks for places
 * for the displaced leases, which may displace others while moves are left.  It works on
 * the fleet itself and keeps a journal of takes and releases, which is undone in reverse
 * order.  Numbers of leases are reused in the reverse order of their release, so every
 * lease gets its own number back. */
#include "core/repack/repack.h"

#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/place/pick.h"
#include "core/place/place.h"

#include <errno.h>
#include <stdlib.h>

#define TRIES 1000000
/* Movable leases of a node beyond this number stay. */
#define CANDIDATES_MAX 64
/* Each move is a release and a take, and the request is one more take. */
#define STEPS_MAX (2 * CLV_REPACK_MOVES_MAX + 1)

struct step {
	struct clv_place_request request;
	struct clv_place_at at;
	uint32_t lease;
	bool is_take;
};

struct search {
	struct clv_fleet *fleet;
	struct clv_placer *placer;
	const struct clv_repack_options *options;
	struct clv_repack_plan *plan;
	struct step steps[STEPS_MAX];
	unsigned n_steps;
	uint64_t *tries_left;
};

struct clv_place_request clv_repack_request_of(
	const struct clv_fleet *fleet, uint32_t number)
{
	const struct clv_fleet_lease *lease = &fleet->leases[number];
	const struct clv_fleet_node *node = &fleet->nodes[lease->node];
	struct clv_place_request request = {
		.models = UINT64_C(1) << node->model,
		.cpu_milli = lease->cpu_milli,
		.memory_mib = lease->memory_mib,
		.device_mib = lease->device_mib,
		.milli = lease->milli,
		.n_devices = (uint8_t)__builtin_popcountll(lease->devices),
		.profile = lease->profile,
		.same_numa = lease->same_numa,
		.same_link = lease->same_link,
		.class = (enum clv_class)lease->class,
	};

	if (lease->profile)
		request.scheme = fleet->devices[node->first_device +
						(uint32_t)__builtin_ctzll(lease->devices)]
					 .scheme;
	return request;
}

static int take(struct search *search, const struct clv_place_request *request,
	const struct clv_place_at *at)
{
	struct step *step = &search->steps[search->n_steps];
	int r = clv_fleet_take(search->fleet, request, at, &step->lease);

	if (r < 0)
		return r;
	step->request = *request;
	step->at = *at;
	step->is_take = true;
	search->n_steps++;
	return 0;
}

/* Releases a lease and records the move. */
static void take_away(struct search *search, uint32_t number)
{
	const struct clv_fleet_lease *lease = &search->fleet->leases[number];
	struct clv_repack_move *move = &search->plan->moves[search->plan->n_moves++];
	struct step *step = &search->steps[search->n_steps++];

	*step = (struct step){
		.request = clv_repack_request_of(search->fleet, number),
		.at = {.devices = lease->devices,
			.node = lease->node,
			.start = lease->start},
		.lease = number,
	};
	*move = (struct clv_repack_move){
		.request = step->request, .from = step->at, .lease = number};
	clv_fleet_release(search->fleet, number);
}

/* Undoes all steps but the first n. */
static void rewind_to(struct search *search, unsigned n)
{
	uint32_t lease;

	while (search->n_steps > n) {
		const struct step *step = &search->steps[--search->n_steps];

		if (step->is_take) {
			clv_fleet_release(search->fleet, step->lease);
		} else {
			clv_fleet_take(search->fleet, &step->request, &step->at, &lease);
			search->plan->n_moves--;
		}
	}
}

/* Leases that the search has placed are not moved again. */
static bool is_movable(const struct search *search, uint32_t lease)
{
	for (unsigned i = 0; i < search->n_steps; i++) {
		if (search->steps[i].is_take && search->steps[i].lease == lease)
			return false;
	}
	if (search->options->is_movable)
		return search->options->is_movable(search->options->userdata, lease);
	return search->fleet->leases[lease].group == 0;
}

static int make_fit(struct search *search, const struct clv_place_request *request,
	unsigned n_left, struct clv_place_at *ret_at);

/* Finds places for the moves from first to last, which may displace other leases. */
static int settle(struct search *search, unsigned first, unsigned last, unsigned n_left)
{
	unsigned n_before = search->plan->n_moves;
	struct clv_place_request request;
	int r;

	if (first == last)
		return 0;
	request = search->plan->moves[first].request;
	r = make_fit(search, &request, n_left, &search->plan->moves[first].to);
	if (r < 0)
		return r;
	return settle(
		search, first + 1, last, n_left - (search->plan->n_moves - n_before));
}

/* With leases of the node taken away: whether the request fits there, and these leases
 * elsewhere. */
static int try_node(struct search *search, uint32_t number,
	const struct clv_place_request *request, unsigned first, unsigned n_left,
	struct clv_place_at *ret_at)
{
	const struct clv_fleet_node *node = &search->fleet->nodes[number];
	unsigned n_steps = search->n_steps;
	struct clv_place_at at = {.node = number};
	int r;

	if (*search->tries_left == 0)
		return -EAGAIN;
	--*search->tries_left;
	if (!clv_fit_node(search->fleet, node, request))
		return -ENOSPC;
	clv_pick_devices(search->fleet, node, request, CLV_PICK_TIGHTEST, &at);
	r = take(search, request, &at);
	if (r == 0)
		r = settle(search, first, search->plan->n_moves, n_left);
	if (r < 0)
		rewind_to(search, n_steps);
	else
		*ret_at = at;
	return r;
}

struct candidates {
	uint32_t leases[CANDIDATES_MAX];
	unsigned n;
};

/* Smallest first, so that of plans with equally many moves the least compute is
 * disturbed. */
static void sort_candidates(const struct clv_fleet *fleet, struct candidates *candidates)
{
	for (unsigned i = 1; i < candidates->n; i++) {
		uint32_t lease = candidates->leases[i];
		unsigned at = i;

		while (at > 0 && fleet->leases[candidates->leases[at - 1]].milli >
					 fleet->leases[lease].milli) {
			candidates->leases[at] = candidates->leases[at - 1];
			at--;
		}
		candidates->leases[at] = lease;
	}
}

static void find_candidates(
	const struct search *search, uint32_t node, struct candidates *ret)
{
	const struct clv_fleet *fleet = search->fleet;

	ret->n = 0;
	for (uint32_t i = fleet->nodes[node].first_lease;
		i != CLV_FLEET_NONE && ret->n < CANDIDATES_MAX;
		i = fleet->leases[i].next) {
		if (is_movable(search, i))
			ret->leases[ret->n++] = i;
	}
	sort_candidates(fleet, ret);
}

/* The search for one request on one node. */
struct aim {
	const struct clv_place_request *request;
	struct candidates candidates;
	uint32_t node;
	unsigned first;  /* index of the first move that is made for it */
	unsigned n_left; /* moves left for displaced leases */
};

/* Whether the device has room for the share without these leases. */
static bool could_take(const struct clv_fleet *fleet, uint32_t number, unsigned bit,
	const struct clv_place_request *request, const uint32_t *away, unsigned n_away)
{
	const struct clv_fleet_device *device = &fleet->devices[number];
	uint32_t milli = device->free_milli, mib = device->free_mib;

	if (device->scheme)
		return false;
	for (unsigned i = 0; i < n_away; i++) {
		const struct clv_fleet_lease *lease = &fleet->leases[away[i]];

		if (lease->devices >> bit & 1) {
			milli += lease->milli;
			mib += lease->device_mib;
		}
	}
	return milli >= request->milli &&
	       (device->memory_mib == 0 || mib >= request->device_mib);
}

static bool could_start(const struct clv_fleet *fleet, uint32_t number, unsigned bit,
	const struct clv_place_request *request, const uint32_t *away, unsigned n_away)
{
	const struct clv_fleet_device *device = &fleet->devices[number];
	const struct clv_mig_model *model;
	const struct clv_mig_profile *profile;
	struct clv_mig_set without;

	if (device->scheme != request->scheme)
		return false;
	model = fleet->schemes[device->scheme - 1].model;
	profile = &model->profiles[request->profile - 1];
	without = fleet->sets[number];
	for (unsigned i = 0; i < n_away; i++) {
		const struct clv_fleet_lease *lease = &fleet->leases[away[i]];

		if (lease->devices >> bit & 1)
			clv_mig_set_remove(model, &without,
				(struct clv_mig_instance){
					lease->profile - 1, lease->start});
	}
	for (unsigned i = 0; i < profile->n_starts; i++) {
		struct clv_mig_set with = without;
		struct clv_mig_instance instance = {
			request->profile - 1, profile->starts[i]};

		if (clv_mig_set_add(model, &with, instance) == CLV_MIG_NO_OBSTACLE)
			return true;
	}
	return false;
}

/* A check without changing the fleet: whether the request could fit without these
 * leases. */
static bool could_fit(const struct clv_fleet *fleet, uint32_t number,
	const struct clv_place_request *request, const uint32_t *away, unsigned n_away)
{
	const struct clv_fleet_node *node = &fleet->nodes[number];
	uint64_t cpu_milli = node->free_cpu_milli, memory_mib = node->free_memory_mib;
	unsigned n = 0;

	for (unsigned i = 0; i < n_away; i++) {
		cpu_milli += fleet->leases[away[i]].cpu_milli;
		memory_mib += fleet->leases[away[i]].memory_mib;
	}
	if (cpu_milli < request->cpu_milli || memory_mib < request->memory_mib)
		return false;
	for (unsigned i = 0; i < node->n_devices && n < request->n_devices; i++)
		n += (request->profile ? could_start : could_take)(
			fleet, node->first_device + i, i, request, away, n_away);
	return n >= request->n_devices;
}

/* Tries the request with these leases taken away. */
static int try_away(struct search *search, const struct aim *aim, const uint32_t *away,
	unsigned n_away, struct clv_place_at *ret_at)
{
	unsigned n_steps = search->n_steps;
	int r;

	if (*search->tries_left == 0)
		return -EAGAIN;
	if (!could_fit(search->fleet, aim->node, aim->request, away, n_away)) {
		--*search->tries_left;
		return -ENOSPC;
	}
	for (unsigned i = 0; i < n_away; i++)
		take_away(search, away[i]);
	r = try_node(search, aim->node, aim->request, aim->first, aim->n_left, ret_at);
	if (r < 0)
		rewind_to(search, n_steps);
	return r;
}

/* Tries every set of n_all candidates that extends the first n_away by candidates from
 * index next on. */
static int try_sets(struct search *search, const struct aim *aim, uint32_t *away,
	unsigned n_away, unsigned next, unsigned n_all, struct clv_place_at *ret_at)
{
	if (n_away == n_all)
		return try_away(search, aim, away, n_away, ret_at);
	for (unsigned i = next; i + n_all - n_away <= aim->candidates.n; i++) {
		int r;

		away[n_away] = aim->candidates.leases[i];
		r = try_sets(search, aim, away, n_away + 1, i + 1, n_all, ret_at);
		if (r != -ENOSPC)
			return r;
	}
	return -ENOSPC;
}

/* Whether the node could take the request if it were empty. */
static bool fits_empty_node(const struct clv_fleet *fleet, uint32_t number,
	const struct clv_place_request *request)
{
	const struct clv_fleet_node *node = &fleet->nodes[number];

	return !node->is_lost && node->cpu_milli >= request->cpu_milli &&
	       node->memory_mib >= request->memory_mib &&
	       node->n_devices >= request->n_devices &&
	       (!request->rack || request->rack == node->rack) &&
	       (!request->same_link || request->n_devices < 2 ||
		       node->n_linked >= request->n_devices) &&
	       (!request->models || request->models >> node->model & 1);
}

/* Places the request, if necessary by displacing leases of one node. */
static int make_fit(struct search *search, const struct clv_place_request *request,
	unsigned n_left, struct clv_place_at *ret_at)
{
	struct aim aim = {.request = request, .first = search->plan->n_moves};
	uint32_t away[CLV_REPACK_MOVES_MAX];
	int r = clv_placer_find(search->placer, request, ret_at);

	if (r == 0)
		return take(search, request, ret_at);
	for (unsigned n_away = 1; r == -ENOSPC && n_away <= n_left; n_away++) {
		aim.n_left = n_left - n_away;
		for (aim.node = 0; r == -ENOSPC && aim.node < search->fleet->n_nodes;
			aim.node++) {
			if (!fits_empty_node(search->fleet, aim.node, request))
				continue;
			find_candidates(search, aim.node, &aim.candidates);
			r = try_sets(search, &aim, away, 0, 0, n_away, ret_at);
		}
	}
	return r;
}

int clv_repack_find(struct clv_fleet *fleet, struct clv_placer *placer,
	const struct clv_place_request *request, const struct clv_repack_options *options,
	struct clv_repack_plan *ret)
{
	struct clv_repack_plan plan = {0};
	uint64_t tries = TRIES;
	struct search search = {
		.fleet = fleet,
		.placer = placer,
		.options = options,
		.plan = &plan,
		.tries_left = options->tries_left ? options->tries_left : &tries,
	};
	unsigned most = options->most_moves && options->most_moves < CLV_REPACK_MOVES_MAX
				? options->most_moves
				: CLV_REPACK_MOVES_MAX;
	int r = clv_fleet_check(fleet, request, NULL);

	if (r < 0)
		return r;
	/* One move more each time, so that the first plan found has the fewest. */
	r = -ENOSPC;
	for (unsigned n = 0; r == -ENOSPC && n <= most; n++)
		r = make_fit(&search, request, n, &plan.at);
	if (r == 0)
		*ret = plan;
	rewind_to(&search, 0);
	return r;
}

static bool is_as_planned(
	const struct clv_fleet *fleet, const struct clv_repack_move *move)
{
	const struct clv_fleet_lease *lease = &fleet->leases[move->lease];

	return move->lease < fleet->n_leases && lease->is_held &&
	       lease->node == move->from.node && lease->devices == move->from.devices &&
	       lease->start == move->from.start && lease->milli == move->request.milli;
}

int clv_repack_apply(struct clv_fleet *fleet, const struct clv_place_request *request,
	struct clv_repack_plan *plan, uint32_t *ret_lease)
{
	struct clv_repack_plan done = {0};
	struct search search = {.fleet = fleet, .plan = &done};
	int r = 0;

	for (unsigned i = 0; i < plan->n_moves; i++) {
		if (!is_as_planned(fleet, &plan->moves[i]))
			return -ESTALE;
	}
	for (unsigned i = 0; i < plan->n_moves; i++)
		take_away(&search, plan->moves[i].lease);
	r = take(&search, request, &plan->at);
	for (unsigned i = 0; r == 0 && i < plan->n_moves; i++)
		r = take(&search, &plan->moves[i].request, &plan->moves[i].to);
	if (r < 0) {
		rewind_to(&search, 0);
		return r == -ENOMEM ? r : -ESTALE;
	}
	*ret_lease = search.steps[plan->n_moves].lease;
	for (unsigned i = 0; i < plan->n_moves; i++)
		plan->moves[i].lease = search.steps[plan->n_moves + 1 + i].lease;
	return 0;
}

void clv_repack_undo(
	struct clv_fleet *fleet, struct clv_repack_plan *plan, uint32_t lease)
{
	clv_fleet_release(fleet, lease);
	for (unsigned i = 0; i < plan->n_moves; i++)
		clv_fleet_release(fleet, plan->moves[i].lease);
	for (unsigned i = 0; i < plan->n_moves; i++)
		clv_fleet_take(fleet, &plan->moves[i].request, &plan->moves[i].from,
			&plan->moves[i].lease);
}
