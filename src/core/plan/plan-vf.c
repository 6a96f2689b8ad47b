/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual functions.  The kernel changes their number only through 0; quotas change in
 * place. */
#include "core/plan/plan-vf.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS_MAX 64u

static bool allows(const struct clv_vf_state *vf, uint32_t count)
{
	if (count == 0)
		return true;
	if (count > vf->total)
		return false;
	return vf->counts == 0 ||
	       (count <= COUNTS_MAX && vf->counts & UINT64_C(1) << (count - 1));
}

static void list_counts(const struct clv_vf_state *vf, char *ret, size_t size)
{
	char count[16];

	if (vf->counts == 0) {
		snprintf(ret, size, "0 to %" PRIu32, vf->total);
		return;
	}
	snprintf(ret, size, "0");
	for (uint32_t i = 1; i <= COUNTS_MAX && i <= vf->total; i++) {
		snprintf(count, sizeof(count), "%" PRIu32, i);
		if (allows(vf, i))
			clv_text_list(ret, size, count);
	}
}

static int fail(struct clv_vf_plan *p, const char *what)
{
	return clv_planner_fail(p->planner, p->at, p->line, -EINVAL, "%s", what);
}

/* Reads the wanted number from the profile "vf:4" or from the vf of the rule. */
static int read_wanted(struct clv_vf_plan *p)
{
	const struct clv_layout_rule *rule = p->at.rule;
	const struct clv_layout_partition *partition = rule->partitions;
	int64_t count;

	p->count = rule->vf_count;
	p->line = rule->line;
	if (rule->n_partitions == 0 ||
		clv_planner_scheme_of(partition->profile) != CLV_SCHEME_VF)
		return 0;
	p->line = partition->line;
	p->shares = &partition->shares;
	count = clv_planner_number(partition->profile + strlen("vf:"));
	if (count < 0)
		return clv_planner_fail(p->planner, p->at, p->line, -EINVAL,
			"'%s' must end in a number: vf:4", partition->profile);
	p->count = (uint32_t)count;
	if (rule->n_partitions > 1 || (rule->has_vf && rule->vf_count != p->count))
		return fail(p, "a rule can have only one number of virtual functions");
	if (partition->n_starts > 0 || partition->n_parts > 0)
		return fail(
			p, "functions are all alike: write vf:4 without start or parts");
	if (partition->count > 1 && partition->count != p->count)
		return clv_planner_fail(p->planner, p->at, p->line, -EINVAL,
			"%s makes %" PRIu32 " partitions of it, not %" PRIu32,
			partition->profile, p->count, partition->count);
	return 0;
}

static int check_memory(struct clv_vf_plan *p)
{
	uint64_t each = p->at.rule->vf_quota.memory_bytes;
	uint64_t all = p->at.device->info.memory_bytes;
	char wanted[32], most[32];

	if (p->count == 0 || all == 0 || each <= all / p->count)
		return 0;
	clv_units_format_bytes(each, wanted);
	clv_units_format_bytes(all / p->count, most);
	return clv_planner_fail(p->planner, p->at, p->line, -ENOSPC,
		"%" PRIu32 " functions of %s do not fit in its memory: at most %s each",
		p->count, wanted, most);
}

static int check_count(struct clv_vf_plan *p)
{
	char counts[160];

	if (p->n_functions == p->now->n || allows(p->now, p->n_functions))
		return 0;
	list_counts(p->now, counts, sizeof(counts));
	return clv_planner_fail(p->planner, p->at, p->line, -EINVAL,
		"it cannot have %" PRIu32 " virtual functions: it can have %s",
		p->n_functions, counts);
}

static int check(struct clv_vf_plan *p)
{
	int r = clv_vgpu_check(p);

	if (r >= 0)
		r = check_count(p);
	return r < 0 ? r : check_memory(p);
}

static bool wants_quota(const struct clv_vf_quota *wanted)
{
	static const struct clv_vf_quota none;

	return memcmp(wanted, &none, sizeof(none)) != 0;
}

static void add_count(struct clv_vf_plan *p, uint32_t count, const char *why)
{
	struct clv_step *step =
		clv_planner_step(p->planner, CLV_STEP_VF_COUNT, p->at.index);

	step->value = count;
	step->needs = count == 0 ? CLV_NEEDS_IDLE : 0;
	snprintf(step->why, sizeof(step->why), "%s", why);
}

static void add_quota(struct clv_vf_plan *p, uint32_t number)
{
	struct clv_step *step =
		clv_planner_step(p->planner, CLV_STEP_VF_QUOTA, p->at.index);

	step->value = number;
	step->quota = p->quota;
}

static void name_function(const struct clv_vf_plan *p, uint32_t number, char *ret)
{
	char profile[CLV_PROFILE_NAME_MAX];

	snprintf(profile, sizeof(profile), "vf:%" PRIu32, p->n_functions);
	clv_partition_make_name(p->at.device->info.name, profile, number, ret);
}

/* clv_vgpu_plan_clearing() reports the holders of a vGPU that is removed. */
static void block_function(struct clv_vf_plan *p, uint32_t i)
{
	const struct clv_node_device *device = p->at.device;

	if (clv_vgpu_is_cleared(p, i))
		return;
	clv_planner_block(p->planner, p->at.index,
		device->n_partitions > i ? device->partitions[i].name : "",
		&p->now->items[i].holders,
		"the number of virtual functions changes only when none is in use");
}

/* Programs on a GPU go on beside its new functions; a machine that has the GPU has taken
 * it from the driver that makes them. */
static void block_machine(struct clv_vf_plan *p)
{
	const struct clv_holders *holders = &p->at.device->holders;

	for (size_t i = 0; i < holders->n; i++) {
		if (holders->items[i].is_machine)
			clv_planner_block(p->planner, p->at.index, "", holders,
				"virtual functions are not made of a GPU that a virtual "
				"machine has as a whole");
	}
}

static void plan_new_count(struct clv_vf_plan *p)
{
	bool is_whole = p->count < p->n_functions;

	block_machine(p);
	for (uint32_t i = 0; i < p->now->n; i++)
		block_function(p, i);
	if (p->now->n > 0)
		add_count(p, 0,
			"the kernel changes the number of functions through 0 only");
	if (p->n_functions > 0)
		add_count(p, p->n_functions,
			is_whole ? "the driver makes no smaller number of them: the rest "
				   "stay spare"
				 : "");
}

static bool is_right(const struct clv_vf_plan *p, uint32_t i)
{
	if (p->is_new || clv_vgpu_is_cleared(p, i))
		return false;
	return !p->is_chosen[i] || clv_vf_has_quota(&p->quota, &p->now->items[i]);
}

static bool is_all_right(const struct clv_vf_plan *p)
{
	for (uint32_t i = 0; i < p->n_functions; i++) {
		if (!is_right(p, i))
			return false;
	}
	return !p->is_new;
}

static void plan_function(struct clv_vf_plan *p, uint32_t i)
{
	char name[CLV_PARTITION_NAME_MAX];

	name_function(p, i + 1, name);
	if (is_right(p, i))
		clv_planner_keep(p->planner, name);
	else if (!p->is_new && !clv_vgpu_is_cleared(p, i))
		clv_planner_block(p->planner, p->at.index, name,
			&p->now->items[i].holders,
			"its quota changes only when it is not in use");
	if (!p->is_chosen[i])
		return;
	if (!is_right(p, i) && wants_quota(&p->quota))
		add_quota(p, i + 1);
	if (p->shares)
		clv_planner_share(p->planner, p->at.index, name, p->shares);
}

static int choose(struct clv_vf_plan *p)
{
	if (p->clears_types && p->quota.type[0] != '\0')
		return clv_vgpu_choose(p);
	for (uint32_t i = 0; i < p->n_functions; i++)
		p->is_chosen[i] = true;
	return 0;
}

static int plan(struct clv_vf_plan *p)
{
	int r = 0;

	/* A state that exists already is accepted without checks. */
	if (p->count > p->n_functions || !is_all_right(p))
		r = check(p);
	if (r < 0)
		return r;
	if (p->is_new && p->now->n > 0 &&
		clv_planner_preserves(p->planner, p->at, "the number of its functions"))
		return 0;
	clv_vgpu_plan_clearing(p);
	if (p->is_new)
		plan_new_count(p);
	for (uint32_t i = 0; i < p->n_functions; i++)
		plan_function(p, i);
	return 0;
}

int clv_plan_vf(struct clv_planner *planner, struct clv_planned at)
{
	_cleanup_free_ bool *is_chosen = NULL;
	struct clv_vf_plan p = {
		.planner = planner,
		.at = at,
		.now = &at.device->vf,
		.quota = at.rule->vf_quota,
	};
	int r = read_wanted(&p);

	if (r < 0)
		return r;
	p.n_functions = p.count;
	clv_vgpu_read_wanted(&p);
	p.is_new = p.n_functions != p.now->n;
	is_chosen = calloc((size_t)p.n_functions + p.now->n + 1, sizeof(*is_chosen));
	if (!is_chosen) {
		planner->is_out_of_memory = true;
		return 0;
	}
	p.is_chosen = is_chosen;
	r = choose(&p);
	return r < 0 ? r : plan(&p);
}
