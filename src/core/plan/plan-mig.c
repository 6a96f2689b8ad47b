/* SPDX-License-Identifier: Apache-2.0 */
/* MIG: the mode and the GPU instances.  core/gpu/mig-plan finds their places, plan-parts
 * plans the compute instances inside each. */
#include "core/plan/plan-mig.h"

#include "base/error.h"
#include "base/text.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_same_holder(const struct clv_holder *a, const struct clv_holder *b)
{
	if (a->lease[0] != '\0' || b->lease[0] != '\0')
		return strcmp(a->lease, b->lease) == 0;
	if (a->pid != 0 || b->pid != 0)
		return a->pid == b->pid;
	return strcmp(a->text, b->text) == 0;
}

/* Holders beyond the maximum share the last bit and count as one. */
static size_t number_of(struct clv_mig_planner *p, const struct clv_holder *holder)
{
	for (size_t i = 0; i < p->n_holders; i++) {
		if (is_same_holder(p->holders[i], holder))
			return i;
	}
	if (p->n_holders == CLV_MIG_HOLDERS_MAX)
		return CLV_MIG_HOLDERS_MAX - 1;
	p->holders[p->n_holders] = holder;
	return p->n_holders++;
}

uint64_t clv_mig_planner_holders(
	struct clv_mig_planner *p, const struct clv_holders *holders)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < holders->n; i++)
		bits |= UINT64_C(1) << number_of(p, &holders->items[i]);
	return bits;
}

/* Wishes. */

static int add_wish(struct clv_mig_planner *p, const struct clv_mig_wanted_instance *wish)
{
	if (p->n_wishes == CLV_MIG_INSTANCES_MAX)
		return clv_planner_fail(p->planner, p->at, wish->source->line, -ENOSPC,
			"more than %d instances are wanted: a GPU holds %u slices",
			CLV_MIG_INSTANCES_MAX, p->model->slices);
	p->wishes[p->n_wishes++] = *wish;
	return 0;
}

void clv_mig_planner_list_starts(
	const struct clv_mig_profile *profile, char *ret, size_t size)
{
	char start[8];

	ret[0] = '\0';
	for (uint8_t i = 0; i < profile->n_starts; i++) {
		snprintf(start, sizeof(start), "%u", profile->starts[i]);
		clv_text_list(ret, size, start);
	}
}

static int check_start(struct clv_mig_planner *p,
	const struct clv_mig_wanted_instance *wish, uint32_t start)
{
	const struct clv_mig_profile *profile = &p->model->profiles[wish->profile];
	char starts[64];

	if (start < CLV_MIG_ANYWHERE &&
		memchr(profile->starts, (int)start, profile->n_starts))
		return 0;
	clv_mig_planner_list_starts(profile, starts, sizeof(starts));
	return clv_planner_fail(p->planner, p->at, wish->source->line, -EINVAL,
		"%s cannot be placed at %" PRIu32 ": its places are %s", profile->name,
		start, starts);
}

/* One wish for each given start, or `count` wishes without a start. */
static int add_copies(
	struct clv_mig_planner *p, struct clv_mig_wanted_instance *wish, uint32_t count)
{
	const struct clv_layout_partition *source = wish->source;
	int r = 0;

	for (size_t i = 0; i < source->n_starts && r >= 0; i++) {
		r = check_start(p, wish, source->starts[i]);
		wish->start = (uint8_t)source->starts[i];
		if (r >= 0)
			r = add_wish(p, wish);
	}
	wish->start = CLV_MIG_ANYWHERE;
	for (uint32_t i = 0; i < count && r >= 0; i++)
		r = add_wish(p, wish);
	return r;
}

static int find_profile(struct clv_mig_planner *p,
	const struct clv_layout_partition *source, const char *name, uint8_t *ret)
{
	struct clv_error why = {0};
	int index = clv_mig_profile_find(p->model, name, &why);

	if (index < 0)
		return clv_planner_fail(
			p->planner, p->at, source->line, -EINVAL, "%s", why.msg);
	*ret = (uint8_t)index;
	return 0;
}

/* Three times "1c.3g.20gb" is a full 3g.20gb; the rest gets an instance of its own. */
static int add_part_wishes(struct clv_mig_planner *p,
	const struct clv_layout_partition *source, unsigned slices)
{
	struct clv_mig_wanted_instance wish = {
		.source = source, .start = CLV_MIG_ANYWHERE};
	uint32_t left = source->n_starts ? 0 : source->count, per_instance;
	int r = find_profile(p, source, source->profile + 3, &wish.profile);

	if (r < 0)
		return r;
	if (source->n_parts > 0 || source->n_starts > 0)
		return clv_planner_fail(p->planner, p->at, source->line, -EINVAL,
			"%s takes only a count: for places, write {profile: %s, start: "
			"[...], parts: [%uc, ...]}",
			source->profile, source->profile + 3, slices);
	wish.n_parts = 1;
	wish.parts[0] = (uint8_t)slices;
	memset(wish.part_starts, CLV_MIG_ANYWHERE, sizeof(wish.part_starts));
	r = clv_plan_parts_check(p, &wish);
	per_instance = p->model->profiles[wish.profile].slices / slices;
	for (; left > 0 && r >= 0; left -= wish.n_parts) {
		wish.n_parts = (uint8_t)(left < per_instance ? left : per_instance);
		memset(wish.parts, (int)slices, wish.n_parts);
		r = add_wish(p, &wish);
	}
	return r;
}

static int add_wishes(
	struct clv_mig_planner *p, const struct clv_layout_partition *source)
{
	struct clv_mig_wanted_instance wish = {
		.source = source, .start = CLV_MIG_ANYWHERE};
	const char *name = source->profile;
	int r;

	if (name[0] >= '1' && name[0] <= '9' && strncmp(name + 1, "c.", 2) == 0)
		return add_part_wishes(p, source, (unsigned)(name[0] - '0'));
	r = find_profile(p, source, name, &wish.profile);
	if (r < 0)
		return r;
	if (source->n_parts > CLV_PLAN_PARTS_MAX)
		return clv_planner_fail(p->planner, p->at, source->line, -ENOSPC,
			"%zu parts: an instance has at most %d", source->n_parts,
			CLV_PLAN_PARTS_MAX);
	for (size_t i = 0; i < source->n_parts; i++) {
		wish.parts[i] = (uint8_t)CLV_LAYOUT_PART_SLICES(source->parts[i]);
		wish.part_starts[i] = (uint8_t)CLV_LAYOUT_PART_START(source->parts[i]);
		wish.n_parts++;
	}
	r = clv_plan_parts_check(p, &wish);
	return r < 0 ? r : add_copies(p, &wish, source->count);
}

/* Existing instances. */

static int fail_unknown(
	struct clv_mig_planner *p, const struct clv_partition *partition, const char *why)
{
	return clv_planner_fail(p->planner, p->at, p->at.rule->line, -EINVAL,
		"%s exists but is not understood: %s: destroy it with the tool that made "
		"it",
		partition->name, why);
}

/* The place must be inside the grid and free.  Whether the rules allow it is not checked:
 * the driver does. */
static int check_place(struct clv_mig_planner *p, const struct clv_partition *partition,
	const struct clv_mig_profile *profile)
{
	uint32_t units;

	if (p->n_have == CLV_MIG_INSTANCES_MAX)
		return fail_unknown(p, partition, "there are too many instances");
	if (partition->start >= p->model->grid ||
		partition->start + profile->size > p->model->grid)
		return fail_unknown(p, partition, "it is not inside the GPU's grid");
	units = ((1u << profile->size) - 1) << partition->start;
	if (p->taken & units)
		return fail_unknown(p, partition, "another is in its place");
	p->taken |= units;
	return 0;
}

static int add_have(struct clv_mig_planner *p, const struct clv_partition *partition)
{
	struct clv_error why = {0};
	int profile = clv_mig_profile_find(p->model, partition->profile, &why);
	struct clv_mig_existing *have;
	int r;

	if (profile < 0)
		return fail_unknown(p, partition, why.msg);
	r = check_place(p, partition, &p->model->profiles[profile]);
	if (r >= 0)
		r = clv_plan_parts_validate(p, (uint8_t)profile, partition);
	if (r < 0)
		return r;
	p->partitions[p->n_have] = partition;
	have = &p->have[p->n_have++];
	*have = (struct clv_mig_existing){
		.instance = {(uint8_t)profile, (uint8_t)partition->start},
		.is_kept = p->at.rule->preserve,
		.holders = clv_mig_planner_holders(p, &partition->holders),
	};
	for (size_t i = 0; i < partition->n_parts; i++)
		have->holders |= clv_mig_planner_holders(p, &partition->parts[i].holders);
	have->in_use = have->holders != 0;
	return 0;
}

/* The error names the first wish for which no room is left. */

static void list_fits(const struct clv_mig_planner *p, const struct clv_mig_set *set,
	char *ret, size_t size)
{
	ret[0] = '\0';
	for (uint8_t i = 0; i < p->model->n_profiles; i++) {
		if (clv_mig_set_capacity(p->model, set, i) > 0 &&
			p->model->profiles[i].attributes == 0)
			clv_text_list(ret, size, p->model->profiles[i].name);
	}
	if (ret[0] == '\0')
		clv_text_list(ret, size, "nothing");
}

static void fill_plain_wishes(
	const struct clv_mig_planner *p, struct clv_mig_wanted ret[CLV_MIG_INSTANCES_MAX])
{
	for (size_t i = 0; i < p->n_wishes; i++)
		ret[i] =
			(struct clv_mig_wanted){p->wishes[i].profile, p->wishes[i].start};
}

static void set_of(const struct clv_mig_planner *p, const struct clv_mig_solution *answer,
	size_t n_wishes, struct clv_mig_set *ret)
{
	*ret = (struct clv_mig_set){0};
	for (size_t i = 0; i < p->n_have; i++) {
		if (p->have[i].is_kept)
			clv_mig_set_add(p->model, ret, p->have[i].instance);
	}
	for (size_t i = 0; i < n_wishes; i++) {
		if (answer->from[i] == CLV_MIG_NEW || !p->have[answer->from[i]].is_kept)
			clv_mig_set_add(p->model, ret,
				(struct clv_mig_instance){
					p->wishes[i].profile, answer->starts[i]});
	}
}

static int fail_with_room(struct clv_mig_planner *p)
{
	struct clv_mig_existing kept[CLV_MIG_INSTANCES_MAX];
	struct clv_mig_wanted wishes[CLV_MIG_INSTANCES_MAX];
	struct clv_mig_solution answer = {0};
	struct clv_mig_set set = {0};
	char fits[128];
	size_t n = 0;

	fill_plain_wishes(p, wishes);
	memcpy(kept, p->have, sizeof(kept));
	/* Holders make no difference to the room. */
	for (size_t i = 0; i < p->n_have; i++) {
		kept[i].in_use = false;
		kept[i].holders = 0;
		memset(kept[i].n_ends, 0, sizeof(kept[i].n_ends));
	}
	set_of(p, &answer, 0, &set);
	while (n < p->n_wishes &&
		clv_mig_solve(p->model, kept, p->n_have, wishes, n + 1, &answer) == 0)
		set_of(p, &answer, ++n, &set);
	list_fits(p, &set, fits, sizeof(fits));
	return clv_planner_fail(p->planner, p->at, p->wishes[n].source->line, -ENOSPC,
		"only the first %zu of %zu instances fit together%s; %s has no room "
		"then, what still fits is %s",
		n, p->n_wishes, p->at.rule->preserve ? " with the kept ones" : "",
		p->model->profiles[p->wishes[n].profile].name, fits);
}

/* Steps. */

static void destroy(struct clv_mig_planner *p, const struct clv_partition *partition)
{
	struct clv_step *step =
		clv_planner_step(p->planner, CLV_STEP_DESTROY, p->at.index);

	snprintf(step->partition, sizeof(step->partition), "%s", partition->name);
	snprintf(step->profile, sizeof(step->profile), "%s", partition->profile);
	step->start = partition->start;
	step->size = partition->size;
	snprintf(step->why, sizeof(step->why), "the layout does not have it");
}

static void block_lost(
	struct clv_mig_planner *p, const struct clv_partition *partition, const char *why)
{
	clv_planner_block(
		p->planner, p->at.index, partition->name, &partition->holders, "%s", why);
	for (size_t i = 0; i < partition->n_parts; i++)
		clv_planner_block(p->planner, p->at.index, partition->parts[i].name,
			&partition->parts[i].holders, "%s", why);
}

static unsigned count_places(const struct clv_mig_model *model)
{
	unsigned n = 0;

	for (size_t i = 0; i < model->n_profiles; i++)
		n += model->profiles[i].n_starts;
	return n;
}

static void add_create(struct clv_mig_planner *p, size_t wish, const char *name)
{
	const struct clv_mig_wanted_instance *wanted = &p->wishes[wish];
	const struct clv_mig_profile *profile = &p->model->profiles[wanted->profile];
	struct clv_step *step =
		clv_planner_step(p->planner, CLV_STEP_CREATE, p->at.index);

	snprintf(step->partition, sizeof(step->partition), "%s", name);
	snprintf(step->profile, sizeof(step->profile), "%s", profile->name);
	step->start = p->answer.starts[wish];
	step->size = profile->size;
	step->has_parts = wanted->n_parts > 0;
	if (wanted->start != CLV_MIG_ANYWHERE)
		snprintf(step->why, sizeof(step->why), "placed by line %" PRIu32,
			wanted->source->line);
	else if (p->answer.options == 0)
		snprintf(step->why, sizeof(step->why),
			"with the layout's others it fills the GPU");
	else
		snprintf(step->why, sizeof(step->why),
			"with the layout's others, leaves %u of the GPU's %u placements "
			"open; no choice leaves more",
			p->answer.options, count_places(p->model));
}

/* Large instances first, for drivers that choose the place themselves. */
static int next_wish(const struct clv_mig_planner *p, uint16_t done)
{
	int best = -1;

	for (size_t i = 0; i < p->n_wishes; i++) {
		if (done & 1u << i)
			continue;
		if (best < 0 || p->model->profiles[p->wishes[i].profile].size >
					p->model->profiles[p->wishes[best].profile].size)
			best = (int)i;
	}
	return best;
}

static void plan_wish(struct clv_mig_planner *p, size_t wish)
{
	const struct clv_mig_wanted_instance *wanted = &p->wishes[wish];
	uint8_t from = p->answer.from[wish];
	char name[CLV_PARTITION_NAME_MAX];

	if (from != CLV_MIG_NEW) {
		clv_planner_keep(p->planner, p->partitions[from]->name);
		clv_plan_parts_add(
			p, wanted, p->partitions[from], p->partitions[from]->name);
		return;
	}
	clv_partition_make_name(p->at.device->info.name,
		p->model->profiles[wanted->profile].name, p->answer.starts[wish], name);
	add_create(p, wish, name);
	clv_plan_parts_add(p, wanted, NULL, name);
}

static void add_steps(struct clv_mig_planner *p)
{
	uint16_t done = 0;
	int wish;

	for (size_t i = 0; i < p->n_have; i++) {
		if (p->answer.in_the_way & 1u << i)
			block_lost(
				p, p->partitions[i], "the layout leaves no place for it");
		if (!(p->answer.stay & 1u << i))
			destroy(p, p->partitions[i]);
		else if (!memchr(p->answer.from, (int)i, p->n_wishes))
			clv_planner_keep(p->planner, p->partitions[i]->name);
	}
	while ((wish = next_wish(p, done)) >= 0) {
		done |= (uint16_t)(1u << wish);
		plan_wish(p, (size_t)wish);
	}
}

/* The mode. */

static struct clv_step *add_mode(struct clv_mig_planner *p, bool on)
{
	struct clv_step *step =
		clv_planner_step(p->planner, CLV_STEP_MIG_MODE, p->at.index);

	step->value = on;
	return step;
}

/* Obstacles that remain even if all holders end. */
static void block_without_reset(struct clv_mig_planner *p, bool on)
{
	const struct clv_mig_state *mig = &p->at.device->mig;
	uint32_t index = p->at.device->index;

	if (mig->is_pending && mig->cannot_reset)
		clv_planner_block(p->planner, p->at.index, "", NULL,
			"its MIG mode is changed already and waits for a restart of this "
			"virtual machine, which may not reset the GPU");
	else if (mig->is_pending)
		clv_planner_block(p->planner, p->at.index, "", NULL,
			"an earlier change of its MIG mode waits for a reset: "
			"nvidia-smi --gpu-reset -i %" PRIu32 ", or restart the machine",
			index);
	else if (mig->needs_reset && mig->cannot_reset)
		clv_planner_block(p->planner, p->at.index, "", NULL,
			"MIG mode changes with a reset, which this virtual machine may "
			"not do: nvidia-smi -i %" PRIu32 " -mig %d, then restart it",
			index, on);
}

static void change_mode(struct clv_mig_planner *p, bool on)
{
	const struct clv_mig_state *mig = &p->at.device->mig;
	struct clv_step *step = add_mode(p, on);

	clv_planner_block(p->planner, p->at.index, "", &p->at.device->holders,
		"MIG mode changes on an idle device only");
	block_without_reset(p, on);
	step->needs = CLV_NEEDS_IDLE | (mig->needs_reset ? CLV_NEEDS_RESET : 0);
	clv_planner_affect(p->planner, step, p->at.index);
	if (mig->is_lost_at_reboot && on)
		snprintf(step->why, sizeof(step->why),
			"this GPU forgets the mode when its driver is reloaded: it is "
			"turned on again when the agent starts");
}

static void plan_mode(struct clv_mig_planner *p, bool on)
{
	const struct clv_mig_state *mig = &p->at.device->mig;

	if (mig->is_on != on)
		change_mode(p, on);
	else if (mig->is_pending)
		snprintf(add_mode(p, on)->why, sizeof(((struct clv_step *)NULL)->why),
			"takes back an earlier change, which would take effect with the "
			"next reset");
}

static int solve(struct clv_mig_planner *p)
{
	struct clv_mig_wanted wishes[CLV_MIG_INSTANCES_MAX];

	for (size_t i = 0; i < p->n_have; i++)
		clv_plan_parts_compare(p, i);
	fill_plain_wishes(p, wishes);
	return clv_mig_solve(
		p->model, p->have, p->n_have, wishes, p->n_wishes, &p->answer);
}

static int read_have_and_wishes(struct clv_mig_planner *p)
{
	const struct clv_node_device *device = p->at.device;
	const struct clv_layout_rule *rule = p->at.rule;
	int r = 0;

	for (size_t i = 0; i < device->n_partitions && device->mig.is_on && r >= 0; i++)
		r = add_have(p, &device->partitions[i]);
	for (size_t i = 0; i < rule->n_partitions && r >= 0; i++)
		r = add_wishes(p, &rule->partitions[i]);
	return r;
}

static int plan_off(struct clv_mig_planner *p)
{
	const struct clv_node_device *device = p->at.device;

	if (p->at.rule->n_partitions > 0)
		return clv_planner_fail(p->planner, p->at, p->at.rule->line, -EINVAL,
			"partitions need mig: on, and the rule says off");
	if (device->mig.is_on && clv_planner_preserves(p->planner, p->at, "its MIG"))
		return 0;
	for (size_t i = 0; i < device->n_partitions && device->mig.is_on; i++) {
		block_lost(p, &device->partitions[i], "MIG is turned off");
		destroy(p, &device->partitions[i]);
	}
	plan_mode(p, false);
	return 0;
}

/* Instances stay if the rule does not mention partitions. */
static void keep_all(struct clv_mig_planner *p)
{
	const struct clv_node_device *device = p->at.device;

	for (size_t i = 0; i < device->n_partitions && device->mig.is_on; i++)
		clv_planner_keep(p->planner, device->partitions[i].name);
}

int clv_plan_mig(struct clv_planner *planner, struct clv_planned at)
{
	struct clv_mig_planner p = {
		.planner = planner,
		.at = at,
		.model = at.device->mig.model,
	};
	const char *unchecked;
	int r;

	if (at.rule->has_mig && !at.rule->mig)
		return plan_off(&p);
	if (!p.model)
		return clv_planner_fail(planner, at, at.rule->line, -ENODEV,
			"neither its driver nor the tables say what profiles it has: "
			"update its driver");
	unchecked = clv_mig_unchecked(p.model->name);
	if (unchecked)
		clv_planner_warn(planner, "%s (%s): %s", at.device->info.name,
			at.device->info.model, unchecked);
	if (at.rule->has_mig || at.rule->n_partitions > 0)
		plan_mode(&p, true);
	if (!at.rule->has_partitions) {
		keep_all(&p);
		return 0;
	}
	r = read_have_and_wishes(&p);
	if (r < 0)
		return r;
	if (solve(&p) == -ENOSPC)
		return fail_with_room(&p);
	add_steps(&p);
	return 0;
}
