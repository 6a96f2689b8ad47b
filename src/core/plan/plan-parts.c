/* SPDX-License-Identifier: Apache-2.0 */
/* The compute instances inside a GPU instance: the same rules and the same search as for
 * GPU instances, on a smaller grid. */
#include "core/plan/plan-mig.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The existing and the wanted compute instances of one GPU instance, and the solution. */
struct parts {
	const struct clv_mig_model *model;
	struct clv_mig_existing have[CLV_MIG_INSTANCES_MAX];
	size_t n_have;
	struct clv_mig_wanted wishes[CLV_MIG_INSTANCES_MAX];
	size_t n_wishes;
	struct clv_mig_solution answer;
};

static const struct clv_mig_model *model_of(
	const struct clv_mig_planner *p, uint8_t profile)
{
	return clv_mig_model_of_parts(p->model->profiles[profile].slices);
}

static int find_size(const struct clv_mig_model *model, uint32_t slices)
{
	for (size_t i = 0; i < model->n_profiles; i++) {
		if (model->profiles[i].slices == slices)
			return (int)i;
	}
	return -EINVAL;
}

static struct clv_mig_instance whole_instance(const struct clv_mig_model *model)
{
	return (struct clv_mig_instance){(uint8_t)find_size(model, model->slices), 0};
}

static void add_have(
	struct parts *parts, struct clv_mig_instance instance, uint64_t holders)
{
	assert(parts->n_have < CLV_ARRAY_SIZE(parts->have));
	assert(instance.profile < parts->model->n_profiles);
	parts->have[parts->n_have++] = (struct clv_mig_existing){
		.instance = instance,
		.in_use = holders != 0,
		.holders = holders,
	};
}

/* A holder of the GPU instance holds all of its compute instances. */
static void fill_have(
	struct clv_mig_planner *p, const struct clv_partition *now, struct parts *parts)
{
	uint64_t all = clv_mig_planner_holders(p, &now->holders);

	if (now->is_incomplete)
		return;
	if (now->n_parts == 0)
		add_have(parts, whole_instance(parts->model), all);
	for (size_t i = 0; i < now->n_parts; i++) {
		const struct clv_partition *part = &now->parts[i];

		add_have(parts,
			(struct clv_mig_instance){
				(uint8_t)find_size(parts->model, part->size),
				(uint8_t)part->start},
			all | clv_mig_planner_holders(p, &part->holders));
	}
}

static void fill_wishes(const struct clv_mig_wanted_instance *wish, struct parts *parts)
{
	for (size_t i = 0; i < wish->n_parts; i++)
		parts->wishes[i] = (struct clv_mig_wanted){
			(uint8_t)find_size(parts->model, wish->parts[i]),
			wish->part_starts[i]};
	parts->n_wishes = wish->n_parts;
	if (wish->n_parts == 0)
		parts->wishes[parts->n_wishes++] = (struct clv_mig_wanted){
			whole_instance(parts->model).profile, CLV_MIG_ANYWHERE};
}

/* gone: mask of the holders that end anyway. */
static int solve(struct clv_mig_planner *p, const struct clv_partition *now,
	const struct clv_mig_wanted_instance *wish, uint64_t gone, struct parts *ret)
{
	*ret = (struct parts){.model = model_of(p, wish->profile)};
	if (now)
		fill_have(p, now, ret);
	for (size_t i = 0; i < ret->n_have; i++) {
		ret->have[i].in_use = (ret->have[i].holders & ~gone) != 0;
		ret->have[i].holders &= ~gone;
	}
	fill_wishes(wish, ret);
	return clv_mig_solve(ret->model, ret->have, ret->n_have, ret->wishes,
		ret->n_wishes, &ret->answer);
}

static bool stays(const struct parts *parts, size_t i)
{
	return parts->answer.stay & 1u << i;
}

static int fail_with_size(struct clv_mig_planner *p,
	const struct clv_mig_wanted_instance *wish, uint8_t size)
{
	char sizes[64];

	clv_mig_list_profiles(model_of(p, wish->profile), sizes, sizeof(sizes));
	return clv_planner_fail(p->planner, p->at, wish->source->line, -EINVAL,
		"%s has no compute instance %uc: it has %s",
		p->model->profiles[wish->profile].name, size, sizes);
}

static int check_start(
	struct clv_mig_planner *p, const struct clv_mig_wanted_instance *wish, size_t i)
{
	const struct clv_mig_model *model = model_of(p, wish->profile);
	int size = find_size(model, wish->parts[i]);
	uint8_t start = wish->part_starts[i];
	char starts[64];

	if (size < 0)
		return fail_with_size(p, wish, wish->parts[i]);
	if (start == CLV_MIG_ANYWHERE || memchr(model->profiles[size].starts, start,
						 model->profiles[size].n_starts))
		return 0;
	clv_mig_planner_list_starts(&model->profiles[size], starts, sizeof(starts));
	return clv_planner_fail(p->planner, p->at, wish->source->line, -EINVAL,
		"%s cannot be placed at %u in %s: its places are %s",
		model->profiles[size].name, start, p->model->profiles[wish->profile].name,
		starts);
}

int clv_plan_parts_check(
	struct clv_mig_planner *p, const struct clv_mig_wanted_instance *wish)
{
	const struct clv_mig_profile *profile = &p->model->profiles[wish->profile];
	const struct clv_mig_model *model = model_of(p, wish->profile);
	struct parts parts;
	unsigned sum = 0;

	if (wish->n_parts == 0)
		return 0;
	if (!model)
		return clv_planner_fail(p->planner, p->at, wish->source->line, -EINVAL,
			"nothing is known of compute instances in %s", profile->name);
	for (size_t i = 0; i < wish->n_parts; i++) {
		int r = check_start(p, wish, i);

		if (r < 0)
			return r;
		sum += wish->parts[i];
	}
	if (sum > profile->slices)
		return clv_planner_fail(p->planner, p->at, wish->source->line, -ENOSPC,
			"compute instances of %u slices do not fit in %s, which has %u",
			sum, profile->name, profile->slices);
	if (solve(p, NULL, wish, 0, &parts) < 0)
		return clv_planner_fail(p->planner, p->at, wish->source->line, -ENOSPC,
			"these parts do not fit together in %s: leave their places "
			"out, or request fewer",
			profile->name);
	return 0;
}

int clv_plan_parts_validate(
	struct clv_mig_planner *p, uint8_t profile, const struct clv_partition *partition)
{
	const struct clv_mig_model *model = model_of(p, profile);
	uint32_t taken = 0;

	for (size_t i = 0; i < partition->n_parts; i++) {
		const struct clv_partition *part = &partition->parts[i];
		uint32_t units;

		if (!model || find_size(model, part->size) < 0 ||
			part->start >= model->grid ||
			part->start + part->size > model->grid)
			return clv_planner_fail(p->planner, p->at, p->at.rule->line,
				-EINVAL,
				"%s exists but is not understood: %s has no such compute "
				"instance: destroy it with the tool that made it",
				part->name, partition->profile);
		units = ((1u << part->size) - 1) << part->start;
		if (taken & units)
			return clv_planner_fail(p->planner, p->at, p->at.rule->line,
				-EINVAL,
				"%s exists but is not understood: another is in its "
				"place: destroy it with the tool that made it",
				part->name);
		taken |= units;
	}
	return 0;
}

/* Adds a way, unless a known one ends only a subset of the same holders. */
static void add_way(
	struct clv_mig_planner *p, struct clv_mig_existing *to, size_t at, uint64_t ended)
{
	for (uint8_t i = 0; i < to->n_ends[at]; i++) {
		if ((to->ends[at][i] & ~ended) == 0)
			return;
	}
	assert(p->n_ways < CLV_PLAN_WAYS_MAX);
	if (to->n_ends[at] == 0)
		to->ends[at] = &p->ways[p->n_ways];
	p->ways[p->n_ways++] = ended;
	to->n_ends[at]++;
}

/* Lists the sets of holders whose end allows the change, small sets first.  If there are
 * too many holders, only the solution that ends the fewest. */
static void list_ways(
	struct clv_mig_planner *p, size_t have, size_t at, const struct parts *parts)
{
	struct clv_mig_existing *to = &p->have[have];
	unsigned n_holders = (unsigned)__builtin_popcountll(to->holders);
	size_t n_left = CLV_PLAN_WAYS_MAX - p->n_ways;
	struct parts tried;

	/* Keeps room for all choices here and for one way everywhere else. */
	if (n_holders > CLV_PLAN_CHOICES_MAX ||
		n_left < (1u << CLV_PLAN_CHOICES_MAX) +
				 CLV_MIG_INSTANCES_MAX * CLV_MIG_INSTANCES_MAX) {
		add_way(p, to, at, parts->answer.ended);
		return;
	}
	for (unsigned n = 1; n <= n_holders; n++) {
		for (uint64_t some = to->holders; some != 0;
			some = (some - 1) & to->holders) {
			if ((unsigned)__builtin_popcountll(some) == n &&
				solve(p, p->partitions[have], &p->wishes[at], some,
					&tried) == 0)
				add_way(p, to, at, some);
		}
	}
}

static void compare(struct clv_mig_planner *p, size_t have, size_t at)
{
	const struct clv_partition *now = p->partitions[have];
	const struct clv_mig_wanted_instance *wish = &p->wishes[at];
	struct clv_mig_existing *to = &p->have[have];
	bool is_plain = now->n_parts == 0 && !now->is_incomplete;
	uint16_t all;
	struct parts parts;
	int r;

	if (wish->profile != to->instance.profile || (is_plain && wish->n_parts == 0))
		return;
	r = model_of(p, wish->profile) ? solve(p, now, wish, 0, &parts) : -ENOSPC;
	if (r == -ENOSPC) {
		to->cannot_be |= (uint16_t)(1u << at);
		return;
	}
	all = (uint16_t)((1u << parts.n_have) - 1);
	if (parts.answer.stay != all ||
		memchr(parts.answer.from, CLV_MIG_NEW, parts.n_wishes))
		to->differs_from |= (uint16_t)(1u << at);
	if (r == -EBUSY)
		list_ways(p, have, at, &parts);
}

void clv_plan_parts_compare(struct clv_mig_planner *p, size_t have)
{
	struct clv_mig_existing *to = &p->have[have];

	for (size_t i = 0; i < p->n_wishes; i++) {
		/* Wishes of one line have the same compute instances. */
		if (i == 0 || p->wishes[i].source != p->wishes[i - 1].source ||
			p->wishes[i].n_parts != p->wishes[i - 1].n_parts) {
			compare(p, have, i);
			continue;
		}
		to->cannot_be |= (uint16_t)((to->cannot_be >> (i - 1) & 1) << i);
		to->differs_from |= (uint16_t)((to->differs_from >> (i - 1) & 1) << i);
		to->ends[i] = to->ends[i - 1];
		to->n_ends[i] = to->n_ends[i - 1];
	}
}

static void add_step(struct clv_mig_planner *p, enum clv_step_kind kind,
	const char *instance, const char *profile, const struct clv_mig_profile *part,
	uint8_t start)
{
	struct clv_step *step = clv_planner_step(p->planner, kind, p->at.index);

	snprintf(step->inside, sizeof(step->inside), "%s", instance);
	snprintf(step->profile, sizeof(step->profile), "%.4s.%.34s", part->name, profile);
	clv_part_make_name(instance, part->size, start, step->partition);
	step->start = start;
	step->size = part->size;
}

static void block_lost(struct clv_mig_planner *p, const struct clv_partition *now,
	const struct parts *parts)
{
	const char *why = "the layout wants other compute instances there";

	for (size_t i = 0; i < parts->n_have; i++) {
		if (stays(parts, i))
			continue;
		clv_planner_block(
			p->planner, p->at.index, now->name, &now->holders, "%s", why);
		break;
	}
	for (size_t i = 0; i < now->n_parts; i++) {
		if (!stays(parts, i))
			clv_planner_block(p->planner, p->at.index, now->parts[i].name,
				&now->parts[i].holders, "%s", why);
	}
}

/* A compute instance that fills the GPU instance has its name. */
static void add_shares(struct clv_mig_planner *p, const char *instance,
	const struct clv_mig_wanted_instance *wish, const struct clv_mig_profile *part,
	uint8_t start)
{
	char name[CLV_PARTITION_NAME_MAX];

	clv_part_make_name(instance, part->size, start, name);
	clv_planner_share(p->planner, p->at.index,
		part->slices == p->model->profiles[wish->profile].slices ? instance
									 : name,
		&wish->source->shares);
}

void clv_plan_parts_add(struct clv_mig_planner *p,
	const struct clv_mig_wanted_instance *wish, const struct clv_partition *now,
	const char *name)
{
	const struct clv_mig_profile *profile = &p->model->profiles[wish->profile];
	struct parts parts;

	/* Without a model a single part fills it: clv_plan_parts_check() refuses
	 * others. */
	if (!model_of(p, wish->profile)) {
		clv_planner_share(p->planner, p->at.index, name, &wish->source->shares);
		return;
	}
	solve(p, now, wish, p->answer.ended, &parts);
	if (now)
		block_lost(p, now, &parts);
	for (size_t i = 0; i < parts.n_have; i++) {
		const struct clv_mig_instance *lost = &parts.have[i].instance;

		if (!stays(&parts, i))
			add_step(p, CLV_STEP_DESTROY_PART, name, profile->name,
				&parts.model->profiles[lost->profile], lost->start);
	}
	for (size_t i = 0; i < parts.n_wishes; i++) {
		const struct clv_mig_profile *part =
			&parts.model->profiles[parts.wishes[i].profile];

		/* A new GPU instance is created with a part that fills it. */
		if (parts.answer.from[i] == CLV_MIG_NEW && (now || wish->n_parts > 0))
			add_step(p, CLV_STEP_CREATE_PART, name, profile->name, part,
				parts.answer.starts[i]);
		add_shares(p, name, wish, part, parts.answer.starts[i]);
	}
}
