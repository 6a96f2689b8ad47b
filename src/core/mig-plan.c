/* SPDX-License-Identifier: Apache-2.0 */
/* Two searches, one inside the other.  Outside: which of the instances stay, the cheapest
 * losses first.  Inside: where the wishes that none of those fulfils are put.  A GPU has
 * at most a dozen instances, so both are done in full. */
#include "core/mig-plan.h"

#include <errno.h>
#include <string.h>

struct search {
	const struct clv_mig_model *model;
	const struct clv_mig_have *have;
	size_t n_have;
	const struct clv_mig_wish *wishes;
	size_t n_wishes;
	struct clv_mig_set set;      /* what stays, and what is put so far */
	struct clv_mig_answer tried; /* for this choice of what stays */
	struct clv_mig_answer *best;
	bool found;
};

static unsigned count_bits(uint16_t bits)
{
	return (unsigned)__builtin_popcount(bits);
}

/* A wish for this very place goes before one for any, equal parts before others. */
static int find_wish(const struct search *s, const struct clv_mig_have *have)
{
	int best = -1, best_rank = -1;

	for (size_t i = 0; i < s->n_wishes; i++) {
		const struct clv_mig_wish *wish = &s->wishes[i];
		bool is_here = wish->start == have->instance.start;
		int rank = 2 * is_here + !(have->differs_from & 1u << i);

		if (s->tried.from[i] != CLV_MIG_NEW || have->cannot_be & 1u << i ||
			wish->profile != have->instance.profile)
			continue;
		if ((is_here || wish->start == CLV_MIG_ANYWHERE) && rank > best_rank) {
			best = (int)i;
			best_rank = rank;
		}
	}
	return best;
}

/* Lets these stay.  False: one of them is not wanted. */
static bool let_stay(struct search *s, uint16_t stay)
{
	s->set = (struct clv_mig_set){0};
	s->tried.stay = stay;
	s->tried.n_refilled = 0;
	memset(s->tried.from, CLV_MIG_NEW, sizeof(s->tried.from));
	for (size_t i = 0; i < s->n_have; i++) {
		struct clv_mig_instance instance = s->have[i].instance;
		int wish;

		if (!(stay & 1u << i))
			continue;
		/* The driver has let it be, so it fits, whatever the tables say. */
		clv_mig_set_add(s->model, &s->set, instance);
		wish = find_wish(s, &s->have[i]);
		if (wish < 0 && !s->have[i].is_kept)
			return false;
		if (wish >= 0) {
			s->tried.from[wish] = (uint8_t)i;
			s->tried.n_refilled += s->have[i].differs_from >> wish & 1;
			s->tried.starts[wish] = instance.start;
		}
	}
	return true;
}

/* Equal wishes for any place are put in one order only. */
static uint8_t least_start(const struct search *s, size_t wish)
{
	const struct clv_mig_wish *wishes = s->wishes;

	for (size_t i = wish; i-- > 0;) {
		if (s->tried.from[i] == CLV_MIG_NEW &&
			wishes[i].start == CLV_MIG_ANYWHERE &&
			wishes[i].profile == wishes[wish].profile)
			return s->tried.starts[i] + 1;
	}
	return 0;
}

static bool is_better(
	const struct clv_mig_answer *answer, const struct clv_mig_answer *best)
{
	if (answer->n_refilled != best->n_refilled)
		return answer->n_refilled < best->n_refilled;
	return answer->options > best->options;
}

static void put_from(struct search *s, size_t wish);

static void put_at(struct search *s, size_t wish, uint8_t start)
{
	struct clv_mig_instance instance = {s->wishes[wish].profile, start};

	if (clv_mig_set_add(s->model, &s->set, instance) != CLV_MIG_FITS)
		return;
	s->tried.starts[wish] = start;
	put_from(s, wish + 1);
	clv_mig_set_remove(s->model, &s->set, instance);
}

/* Puts this wish and those after it in every way there is, and notes the best. */
static void put_from(struct search *s, size_t wish)
{
	const struct clv_mig_profile *profile;
	uint8_t least;

	while (wish < s->n_wishes && s->tried.from[wish] != CLV_MIG_NEW)
		wish++;
	if (wish == s->n_wishes) {
		s->tried.options = clv_mig_set_count_options(s->model, &s->set);
		if (!s->found || is_better(&s->tried, s->best))
			*s->best = s->tried;
		s->found = true;
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

/* All choices that lose so many in use and so many others. */
static bool try_losses(
	struct search *s, uint16_t used, uint16_t kept, unsigned n_used, unsigned n_idle)
{
	uint16_t all = (uint16_t)((1u << s->n_have) - 1);

	s->found = false;
	for (uint32_t stay = 0; stay <= all; stay++) {
		uint16_t lost = (uint16_t)(all & ~stay);

		if (lost & kept || count_bits(lost & used) != n_used ||
			count_bits(lost & (uint16_t)~used) != n_idle)
			continue;
		s->tried.in_the_way = lost & used;
		if (let_stay(s, (uint16_t)stay))
			put_from(s, 0);
	}
	return s->found;
}

int clv_mig_solve(const struct clv_mig_model *model, const struct clv_mig_have *have,
	size_t n_have, const struct clv_mig_wish *wishes, size_t n_wishes,
	struct clv_mig_answer *answer)
{
	struct search s = {
		.model = model,
		.have = have,
		.n_have = n_have,
		.wishes = wishes,
		.n_wishes = n_wishes,
		.best = answer,
	};
	uint16_t used = 0, kept = 0;

	for (size_t i = 0; i < n_have; i++) {
		used |= (uint16_t)(have[i].in_use << i);
		kept |= (uint16_t)(have[i].is_kept << i);
	}
	for (unsigned n_used = 0; n_used <= count_bits(used); n_used++) {
		for (unsigned n_idle = 0; n_idle <= n_have - count_bits(used); n_idle++) {
			if (try_losses(&s, used, kept, n_used, n_idle))
				return n_used > 0 ? -EBUSY : 0;
		}
	}
	return -ENOSPC;
}
