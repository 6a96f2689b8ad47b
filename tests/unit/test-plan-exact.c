/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for one GPU compared with brute force, including compute instances and leases:
 * all placements are tried, and the plan ends as few leases, destroys as little and
 * refills as little as the best of them. tests/core/mig.py does the same for instances
 * alone, with all cases. */
#include "core/plan/plan.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/gpu/gpu.h"
#include "plan-random.h"
#include "plan-world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define N_CASES 1200
#define WISHES_MAX 12
#define PARTS_MAX 7

struct wish {
	uint8_t profile;
	int start; /* -1: anywhere */
	uint8_t sizes[PARTS_MAX];
	int part_starts[PARTS_MAX]; /* -1: anywhere */
	size_t n_parts;
};

/* The cost of a placement, the most important part first. */
struct cost {
	unsigned n_leases, n_used, n_idle, n_refilled;
};

struct brute {
	const struct clv_node_device *device;
	const struct clv_mig_model *model;
	struct wish wishes[WISHES_MAX];
	size_t n_wishes;
	struct clv_mig_set set;
	uint32_t stays; /* bits, by partition */
	uint64_t ended; /* bits, by lease */
	unsigned n_refilled;
	struct cost best;
	bool found;
};

/* --- Leases: a letter each --- */

static uint64_t leases_of(const struct clv_holders *holders)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < holders->n; i++)
		bits |= UINT64_C(1) << (holders->items[i].lease[0] - 'a');
	return bits;
}

static uint64_t all_leases_of(const struct clv_partition *partition)
{
	uint64_t bits = leases_of(&partition->holders);

	for (size_t i = 0; i < partition->n_parts; i++)
		bits |= leases_of(&partition->parts[i].holders);
	return bits;
}

/* --- Brute force --- */

static int compare(const struct cost *a, const struct cost *b)
{
	if (a->n_leases != b->n_leases)
		return a->n_leases < b->n_leases ? -1 : 1;
	if (a->n_used != b->n_used)
		return a->n_used < b->n_used ? -1 : 1;
	if (a->n_idle != b->n_idle)
		return a->n_idle < b->n_idle ? -1 : 1;
	if (a->n_refilled != b->n_refilled)
		return a->n_refilled < b->n_refilled ? -1 : 1;
	return 0;
}

static void note(struct brute *b)
{
	struct cost cost = {.n_refilled = b->n_refilled};
	uint64_t ended = b->ended;

	for (size_t i = 0; i < b->device->n_partitions; i++) {
		uint64_t leases = all_leases_of(&b->device->partitions[i]);

		if (b->stays & 1u << i)
			continue;
		ended |= leases;
		cost.n_used += leases != 0;
		cost.n_idle += leases == 0;
	}
	cost.n_leases = (unsigned)__builtin_popcountll(ended);
	if (!b->found || compare(&cost, &b->best) < 0)
		b->best = cost;
	b->found = true;
}

static void place(struct brute *b, size_t wish);

/* Compares the current parts with the wanted ones: starts[i] of sizes[i], or one that
 * fills the instance if there are none. */
static void stay_as(struct brute *b, size_t at, size_t wish, const uint8_t *starts)
{
	const struct clv_partition *now = &b->device->partitions[at];
	const struct wish *w = &b->wishes[wish];
	uint64_t ended_before = b->ended;
	unsigned refilled_before = b->n_refilled;
	size_t n_stay = 0;
	bool is_complete = now->n_parts == 0 && !now->is_incomplete;
	bool is_changed = is_complete != (w->n_parts == 0);

	if (is_complete && w->n_parts > 0)
		b->ended |= leases_of(&now->holders);
	for (size_t i = 0; i < now->n_parts; i++) {
		const struct clv_partition *part = &now->parts[i];
		bool stays = false;

		for (size_t k = 0; k < w->n_parts; k++)
			stays |= part->start == starts[k] && part->size == w->sizes[k];
		n_stay += stays;
		if (!stays)
			b->ended |= leases_of(&part->holders) | leases_of(&now->holders);
	}
	is_changed |= n_stay != now->n_parts || n_stay != w->n_parts;
	b->n_refilled += is_changed;
	b->stays |= 1u << at;
	place(b, wish + 1);
	b->stays &= ~(1u << at);
	b->n_refilled = refilled_before;
	b->ended = ended_before;
}

/* Tries all placements of the parts into the current ones. */
static void fill(struct brute *b, size_t at, size_t wish, size_t part,
	struct clv_mig_set *set, uint8_t *starts)
{
	const struct wish *w = &b->wishes[wish];
	const struct clv_mig_model *model =
		clv_mig_model_of_parts(b->model->profiles[w->profile].slices);

	if (part == w->n_parts) {
		stay_as(b, at, wish, starts);
		return;
	}
	for (uint8_t p = 0; p < model->n_profiles; p++) {
		for (uint8_t i = 0; i < model->profiles[p].n_starts; i++) {
			struct clv_mig_instance instance = {
				p, model->profiles[p].starts[i]};

			if (model->profiles[p].slices != w->sizes[part] ||
				(w->part_starts[part] >= 0 &&
					w->part_starts[part] != instance.start) ||
				clv_mig_set_add(model, set, instance) !=
					CLV_MIG_NO_OBSTACLE)
				continue;
			starts[part] = instance.start;
			fill(b, at, wish, part + 1, set, starts);
			clv_mig_set_remove(model, set, instance);
		}
	}
}

static void put(struct brute *b, size_t wish, uint8_t start)
{
	const char *profile = b->model->profiles[b->wishes[wish].profile].name;
	struct clv_mig_set parts = {0};
	uint8_t starts[PARTS_MAX];

	for (size_t i = 0; i < b->device->n_partitions; i++) {
		if (b->device->partitions[i].start == start &&
			strcmp(b->device->partitions[i].profile, profile) == 0) {
			fill(b, i, wish, 0, &parts, starts);
			return;
		}
	}
	place(b, wish + 1);
}

static void place(struct brute *b, size_t wish)
{
	const struct clv_mig_profile *profile;

	if (wish == b->n_wishes) {
		note(b);
		return;
	}
	profile = &b->model->profiles[b->wishes[wish].profile];
	for (uint8_t i = 0; i < profile->n_starts; i++) {
		struct clv_mig_instance instance = {
			b->wishes[wish].profile, profile->starts[i]};

		if (b->wishes[wish].start >= 0 &&
			b->wishes[wish].start != profile->starts[i])
			continue;
		if (clv_mig_set_add(b->model, &b->set, instance) != CLV_MIG_NO_OBSTACLE)
			continue;
		put(b, wish, instance.start);
		clv_mig_set_remove(b->model, &b->set, instance);
	}
}

/* A single part that fills the instance is not a list. */
static void read_wishes(struct brute *b, const struct clv_layout_rule *rule)
{
	for (size_t i = 0; i < rule->n_partitions; i++) {
		const struct clv_layout_partition *partition = &rule->partitions[i];
		struct wish *wish = &b->wishes[b->n_wishes++];

		wish->profile =
			(uint8_t)clv_mig_profile_find(b->model, partition->profile, NULL);
		wish->start = partition->n_starts ? (int)partition->starts[0] : -1;
		for (size_t k = 0; k < partition->n_parts; k++) {
			uint32_t part = partition->parts[k];

			wish->part_starts[k] = CLV_LAYOUT_PART_START(part);
			wish->sizes[wish->n_parts++] =
				(uint8_t)CLV_LAYOUT_PART_SLICES(part);
		}
		if (wish->n_parts == 1 &&
			wish->sizes[0] == b->model->profiles[wish->profile].slices)
			wish->n_parts = 0;
	}
}

/* --- The plan --- */

static const struct clv_partition *find(
	const struct clv_node_device *device, const char *name)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		if (strcmp(device->partitions[i].name, name) == 0)
			return &device->partitions[i];
	}
	return NULL;
}

static void count_step(const struct clv_node_device *device, const struct clv_step *step,
	uint32_t *refilled, struct cost *ret)
{
	const struct clv_partition *partition = find(
		device, step->kind == CLV_STEP_DESTROY ? step->partition : step->inside);

	if (!partition)
		return;
	if (step->kind == CLV_STEP_DESTROY) {
		ret->n_used += all_leases_of(partition) != 0;
		ret->n_idle += all_leases_of(partition) == 0;
	} else if (step->kind == CLV_STEP_DESTROY_PART ||
		   step->kind == CLV_STEP_CREATE_PART) {
		*refilled |= 1u << (partition - device->partitions);
	}
}

static struct cost cost_of(
	const struct clv_node_device *device, const struct clv_plan *plan)
{
	struct cost cost = {0};
	uint32_t refilled = 0;
	uint64_t ended = 0;

	for (size_t i = 0; i < plan->n_obstacles; i++)
		ended |= leases_of(&plan->obstacles[i].holders);
	for (size_t i = 0; i < plan->n_steps; i++)
		count_step(device, &plan->steps[i], &refilled, &cost);
	cost.n_leases = (unsigned)__builtin_popcountll(ended);
	cost.n_refilled = (unsigned)__builtin_popcount(refilled);
	return cost;
}

/* --- Cases --- */

static void make_texts(
	const char *model, uint32_t n_wishes, char **ret_node, char **ret_rules)
{
	size_t size;
	FILE *to = open_memstream(ret_node, &size);

	assert_non_null(to);
	random_mig(to, 0, model);
	fclose(to);
	to = open_memstream(ret_rules, &size);
	assert_non_null(to);
	random_mig_rule(to, 0, model, n_wishes);
	fclose(to);
}

/* Returns whether there was a case to compare. */
static bool check_case(const char *model, uint32_t n_wishes)
{
	_cleanup_free_ char *node_text = NULL, *rules = NULL;
	struct clv_layout layout;
	struct clv_plan plan = {0};
	struct clv_error err = {0};
	struct clv_node node;
	struct brute brute = {.model = clv_mig_model_find(model)};
	struct cost cost;
	bool is_comparable;
	int r;

	make_texts(model, n_wishes, &node_text, &rules);
	plan_node(node_text, &node);
	plan_layout(rules, &layout);
	brute.device = &node.devices[0];
	is_comparable = node.devices[0].mig.is_on && layout.rules[0].has_partitions;
	r = clv_plan_make(&node, &layout, &plan, &err);
	if (is_comparable) {
		read_wishes(&brute, &layout.rules[0]);
		place(&brute, 0);
		cost = cost_of(&node.devices[0], &plan);
		if ((r == 0) != brute.found || (r < 0 && r != -ENOSPC))
			fail_msg("%s%s%d %s, brute force %d", node_text, rules, r,
				err.msg, brute.found);
		if (r == 0 && compare(&cost, &brute.best) != 0)
			fail_msg("%s%s%u %u %u %u, brute force %u %u %u %u", node_text,
				rules, cost.n_leases, cost.n_used, cost.n_idle,
				cost.n_refilled, brute.best.n_leases, brute.best.n_used,
				brute.best.n_idle, brute.best.n_refilled);
	}
	clv_plan_clear(&plan);
	clv_layout_clear(&layout);
	clv_node_clear(&node);
	return is_comparable;
}

static void test_against_brute_force(void **state)
{
	static const struct {
		const char *model;
		uint32_t n_wishes;
	} rows[] = {
		{"A30-24GB", 4}, {"A100-40GB", 4}, {"RTX-PRO-6000-Blackwell-96GB", 4}};
	size_t n_compared = 0;

	random_seed(4711);
	for (size_t i = 0; i < N_CASES; i++) {
		size_t row = i % CLV_ARRAY_SIZE(rows);

		n_compared += check_case(rows[row].model, rows[row].n_wishes);
	}
	print_message("# %zu plans compared\n", n_compared);
	assert_true(n_compared > N_CASES / 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_brute_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
