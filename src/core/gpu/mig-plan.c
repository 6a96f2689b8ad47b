/* SPDX-License-Identifier: Apache-2.0 */
/* Two nested searches.  The outer one decides for each existing instance whether it
 * serves a wish, is kept or is destroyed.  The inner one places the wishes that no
 * existing instance serves.  A GPU has at most a dozen instances, so both are exhaustive,
 * except that partial solutions that already cost more than the best one are dropped. */
#include "core/gpu/mig-plan.h"

#include <errno.h>
#include <string.h>

/* Cost of a solution, the most significant field first.  It only grows while a solution
 * is extended, which allows pruning. */
struct cost {
	uint64_t ended; /* mask of the holders that must end */
	unsigned n_used;
	unsigned n_idle; /* destroyed instances, in use and idle */
	unsigned n_refilled;
};

struct search {
	const struct clv_mig_model *model;
	const struct clv_mig_existing *have;
	size_t n_have;
	const struct clv_mig_wanted *wishes;
	size_t n_wishes;
	/* By index in wishes: the first equivalent wish (are_equal()). */
	uint8_t kinds[CLV_MIG_INSTANCES_MAX];
	struct clv_mig_set set;        /* instances that stay or are placed so far */
	struct clv_mig_solution tried; /* the partial solution */
	struct cost cost;              /* of the partial solution */
	struct clv_mig_solution *best;
	struct cost best_cost;
	bool found;
};

/* Less than zero: a is cheaper. */
static int compare_costs(const struct cost *a, const struct cost *b)
{
	int difference = __builtin_popcountll(a->ended) - __builtin_popcountll(b->ended);

	if (difference == 0)
		difference = (int)a->n_used - (int)b->n_used;
	if (difference == 0)
		difference = (int)a->n_idle - (int)b->n_idle;
	if (difference == 0)
		difference = (int)a->n_refilled - (int)b->n_refilled;
	return difference;
}

/* Symmetry breaking: equal wishes without a position are placed in ascending order
 * only. */
static uint8_t least_start(const struct search *s, size_t wish)
{
	const struct clv_mig_wanted *wishes = s->wishes;

	for (size_t i = wish; i-- > 0;) {
		if (s->tried.from[i] == CLV_MIG_NEW &&
			wishes[i].start == CLV_MIG_ANYWHERE &&
			wishes[i].profile == wishes[wish].profile)
			return s->tried.starts[i] + 1;
	}
	return 0;
}

/* All wishes are placed. */
static void note_if_better(struct search *s)
{
	int difference = s->found ? compare_costs(&s->cost, &s->best_cost) : -1;

	s->tried.options = clv_mig_set_count_options(s->model, &s->set);
	if (difference > 0 || (difference == 0 && s->tried.options <= s->best->options))
		return;
	*s->best = s->tried;
	s->best->ended = s->cost.ended;
	s->best_cost = s->cost;
	s->found = true;
}

static void put_from(struct search *s, size_t wish);

static void put_at(struct search *s, size_t wish, uint8_t start)
{
	struct clv_mig_instance instance = {s->wishes[wish].profile, start};

	if (clv_mig_set_add(s->model, &s->set, instance) != CLV_MIG_NO_OBSTACLE)
		return;
	s->tried.starts[wish] = start;
	put_from(s, wish + 1);
	clv_mig_set_remove(s->model, &s->set, instance);
}

/* Places this wish and the ones after it in every possible way. */
static void put_from(struct search *s, size_t wish)
{
	const struct clv_mig_profile *profile;
	uint8_t least;

	while (wish < s->n_wishes && s->tried.from[wish] != CLV_MIG_NEW)
		wish++;
	if (wish == s->n_wishes) {
		note_if_better(s);
		return;
	}
	if (s->wishes[wish].start != CLV_MIG_ANYWHERE) {
		put_at(s, wish, s->wishes[wish].start);
		return;
	}
	profile = &s->model->profiles[s->wishes[wish].profile];
	least = least_start(s, wish);
	for (uint8_t i = 0; i < profile->n_starts; i++) {
		if (profile->starts[i] >= least)
			put_at(s, wish, profile->starts[i]);
	}
}

static void decide_from(struct search *s, size_t have);

static void destroy(struct search *s, size_t i)
{
	const struct clv_mig_existing *have = &s->have[i];
	struct cost before = s->cost;
	uint64_t holders = have->holders;

	if (have->in_use && holders == 0)
		holders = UINT64_C(1) << (CLV_MIG_HOLDERS_MAX + i);
	s->cost.ended |= holders;
	s->cost.n_used += have->in_use;
	s->cost.n_idle += !have->in_use;
	s->tried.in_the_way |= (uint16_t)(have->in_use << i);
	decide_from(s, i + 1);
	s->tried.in_the_way &= (uint16_t) ~(1u << i);
	s->cost = before;
}

/* Keeps instance i for a wish or, if wish is negative, for none; `ended` are the holders
 * that this ends. */
static void keep(struct search *s, size_t i, int wish, uint64_t ended)
{
	const struct clv_mig_existing *have = &s->have[i];
	struct cost before = s->cost;

	/* The instance exists, so the driver allows it, whatever the tables say. */
	clv_mig_set_put(s->model, &s->set, have->instance);
	s->tried.stay |= (uint16_t)(1u << i);
	s->cost.ended |= ended;
	if (wish >= 0) {
		s->tried.from[wish] = (uint8_t)i;
		s->tried.starts[wish] = have->instance.start;
		s->cost.n_refilled += have->differs_from >> wish & 1;
	}
	decide_from(s, i + 1);
	if (wish >= 0)
		s->tried.from[wish] = CLV_MIG_NEW;
	s->tried.stay &= (uint16_t) ~(1u << i);
	clv_mig_set_remove(s->model, &s->set, have->instance);
	s->cost = before;
}

static void become(struct search *s, size_t i, size_t wish)
{
	const struct clv_mig_existing *have = &s->have[i];

	if (have->n_ends[wish] == 0)
		keep(s, i, (int)wish, 0);
	for (uint8_t way = 0; way < have->n_ends[wish]; way++)
		keep(s, i, (int)wish, have->ends[wish][way]);
}

/* Symmetry breaking: of equivalent wishes only the first unserved one is tried. */
static bool can_become(
	const struct search *s, const struct clv_mig_existing *have, size_t wish)
{
	uint8_t start = s->wishes[wish].start;

	if (s->tried.from[wish] != CLV_MIG_NEW || have->cannot_be & 1u << wish ||
		s->wishes[wish].profile != have->instance.profile ||
		(start != CLV_MIG_ANYWHERE && start != have->instance.start))
		return false;
	for (size_t i = s->kinds[wish]; i < wish; i++) {
		if (s->kinds[i] == s->kinds[wish] && s->tried.from[i] == CLV_MIG_NEW)
			return false;
	}
	return true;
}

static void decide_from(struct search *s, size_t have)
{
	if (s->found && compare_costs(&s->cost, &s->best_cost) > 0)
		return;
	if (have == s->n_have) {
		s->tried.n_refilled = s->cost.n_refilled;
		put_from(s, 0);
		return;
	}
	for (size_t i = 0; i < s->n_wishes; i++) {
		if (can_become(s, &s->have[have], i))
			become(s, have, i);
	}
	if (s->have[have].is_kept)
		keep(s, have, -1, 0);
	else
		destroy(s, have);
}

static bool are_equal(const struct search *s, size_t a, size_t b)
{
	if (s->wishes[a].profile != s->wishes[b].profile ||
		s->wishes[a].start != s->wishes[b].start)
		return false;
	for (size_t i = 0; i < s->n_have; i++) {
		const struct clv_mig_existing *have = &s->have[i];

		if ((have->cannot_be >> a & 1) != (have->cannot_be >> b & 1) ||
			(have->differs_from >> a & 1) != (have->differs_from >> b & 1) ||
			have->n_ends[a] != have->n_ends[b] ||
			(have->n_ends[a] > 0 &&
				memcmp(have->ends[a], have->ends[b],
					have->n_ends[a] * sizeof(*have->ends[a])) != 0))
			return false;
	}
	return true;
}

int clv_mig_solve(const struct clv_mig_model *model, const struct clv_mig_existing *have,
	size_t n_have, const struct clv_mig_wanted *wishes, size_t n_wishes,
	struct clv_mig_solution *answer)
{
	struct search s = {
		.model = model,
		.have = have,
		.n_have = n_have,
		.wishes = wishes,
		.n_wishes = n_wishes,
		.best = answer,
	};

	memset(s.tried.from, CLV_MIG_NEW, sizeof(s.tried.from));
	for (size_t i = 0; i < n_wishes; i++) {
		while (!are_equal(&s, s.kinds[i], i))
			s.kinds[i]++;
	}
	decide_from(&s, 0);
	if (!s.found)
		return -ENOSPC;
	return s.best_cost.ended ? -EBUSY : 0;
}
