/* SPDX-License-Identifier: Apache-2.0 */
/* MIG: the mode, the GPU instances (core/mig-plan finds their places), and the compute
 * instances inside each, which follow the same rules on a smaller grid. */
#include "core/plan-internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/mig-plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PARTS_MAX 8

/* One GPU instance that is wanted, with the slices of its compute instances. */
struct wish {
	uint8_t profile;
	uint8_t start;
	uint8_t n_parts; /* 0: one that fills it */
	uint8_t parts[PARTS_MAX];
	uint8_t part_starts[PARTS_MAX]; /* or CLV_MIG_ANYWHERE */
	const struct clv_layout_partition *source;
};

struct mig_plan {
	struct clv_planner *planner;
	struct clv_planned at;
	const struct clv_mig_model *model;
	struct clv_mig_have have[CLV_MIG_INSTANCES_MAX];
	const struct clv_partition *partitions[CLV_MIG_INSTANCES_MAX]; /* of have */
	size_t n_have;
	struct wish wishes[CLV_MIG_INSTANCES_MAX];
	size_t n_wishes;
	struct clv_mig_answer answer;
};

/* What is wanted. */

static int add_wish(struct mig_plan *p, const struct wish *wish)
{
	if (p->n_wishes == CLV_MIG_INSTANCES_MAX)
		return clv_planner_fail(p->planner, p->at, wish->source->line, -ENOSPC,
			"more than %d instances are wanted: a GPU holds %u slices",
			CLV_MIG_INSTANCES_MAX, p->model->slices);
	p->wishes[p->n_wishes++] = *wish;
	return 0;
}

static void list_starts(const struct clv_mig_profile *profile, char *ret, size_t size)
{
	size_t used = 0;

	for (uint8_t i = 0; i < profile->n_starts && used < size; i++)
		used += (size_t)snprintf(ret + used, size - used, "%s%u", i ? ", " : "",
			profile->starts[i]);
}

static int check_start(struct mig_plan *p, const struct wish *wish, uint32_t start)
{
	const struct clv_mig_profile *profile = &p->model->profiles[wish->profile];
	char starts[64];

	if (start < CLV_MIG_ANYWHERE &&
		memchr(profile->starts, (int)start, profile->n_starts))
		return 0;
	list_starts(profile, starts, sizeof(starts));
	return clv_planner_fail(p->planner, p->at, wish->source->line, -EINVAL,
		"%s cannot be placed at %" PRIu32 ": its places are %s", profile->name,
		start, starts);
}

/* At each place that is said, or so often anywhere. */
static int add_copies(struct mig_plan *p, struct wish *wish, uint32_t count)
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

static int check_part_starts(struct mig_plan *p, const struct wish *wish)
{
	const struct clv_mig_profile *profile = &p->model->profiles[wish->profile];
	const struct clv_mig_model *model = clv_mig_model_of_parts(profile->slices);

	for (uint8_t i = 0; i < wish->n_parts; i++) {
		char name[8], starts[64];
		int part;

		if (wish->part_starts[i] == CLV_MIG_ANYWHERE)
			continue;
		snprintf(name, sizeof(name), "%uc", wish->parts[i]);
		part = clv_mig_profile_find(model, name, NULL);
		if (part < 0 || memchr(model->profiles[part].starts, wish->part_starts[i],
					model->profiles[part].n_starts))
			continue;
		list_starts(&model->profiles[part], starts, sizeof(starts));
		return clv_planner_fail(p->planner, p->at, wish->source->line, -EINVAL,
			"%s cannot be placed at %u in %s: its places are %s", name,
			wish->part_starts[i], profile->name, starts);
	}
	return 0;
}

static int check_parts(struct mig_plan *p, const struct wish *wish)
{
	const struct clv_mig_profile *profile = &p->model->profiles[wish->profile];
	unsigned sum = 0;

	for (uint8_t i = 0; i < wish->n_parts; i++)
		sum += wish->parts[i];
	if (wish->n_parts > 0 && !clv_mig_model_of_parts(profile->slices))
		return clv_planner_fail(p->planner, p->at, wish->source->line, -EINVAL,
			"nothing is known of compute instances in %s", profile->name);
	if (sum > profile->slices)
		return clv_planner_fail(p->planner, p->at, wish->source->line, -ENOSPC,
			"compute instances of %u slices do not fit in %s, which has %u",
			sum, profile->name, profile->slices);
	/* One that fills it is what it has anyway. */
	return check_part_starts(p, wish);
}

static int find_profile(struct mig_plan *p, const struct clv_layout_partition *source,
	const char *name, uint8_t *ret)
{
	struct clv_error why = {0};
	int index = clv_mig_profile_find(p->model, name, &why);

	if (index < 0)
		return clv_planner_fail(
			p->planner, p->at, source->line, -EINVAL, "%s", why.msg);
	*ret = (uint8_t)index;
	return 0;
}

/* "1c.3g.20gb" three times is a full 3g.20gb; what is left over gets one of its own. */
static int add_part_wishes(
	struct mig_plan *p, const struct clv_layout_partition *source, unsigned slices)
{
	struct wish wish = {.source = source, .start = CLV_MIG_ANYWHERE};
	uint32_t left = source->n_starts ? 0 : source->count, per_instance;
	int r = find_profile(p, source, source->profile + 3, &wish.profile);

	if (r < 0)
		return r;
	if (source->n_parts > 0 || source->n_starts > 0)
		return clv_planner_fail(p->planner, p->at, source->line, -EINVAL,
			"%s takes a count alone: for places, say {profile: %s, start: "
			"[...], parts: [%uc, ...]}",
			source->profile, source->profile + 3, slices);
	per_instance = p->model->profiles[wish.profile].slices / slices;
	if (per_instance == 0)
		return clv_planner_fail(p->planner, p->at, source->line, -EINVAL,
			"%s: the instance has %u slices", source->profile,
			p->model->profiles[wish.profile].slices);
	for (; left > 0 && r >= 0; left -= wish.n_parts) {
		wish.n_parts = (uint8_t)(left < per_instance ? left : per_instance);
		memset(wish.parts, (int)slices, wish.n_parts);
		memset(wish.part_starts, CLV_MIG_ANYWHERE, wish.n_parts);
		r = add_wish(p, &wish);
	}
	return r;
}

static int add_wishes(struct mig_plan *p, const struct clv_layout_partition *source)
{
	struct wish wish = {.source = source, .start = CLV_MIG_ANYWHERE};
	const char *name = source->profile;
	int r;

	if (name[0] >= '1' && name[0] <= '9' && strncmp(name + 1, "c.", 2) == 0)
		return add_part_wishes(p, source, (unsigned)(name[0] - '0'));
	r = find_profile(p, source, name, &wish.profile);
	if (r < 0)
		return r;
	if (source->n_parts > PARTS_MAX)
		return clv_planner_fail(p->planner, p->at, source->line, -ENOSPC,
			"%zu parts: an instance has at most %d", source->n_parts,
			PARTS_MAX);
	for (size_t i = 0; i < source->n_parts; i++) {
		wish.parts[i] = (uint8_t)CLV_LAYOUT_PART_SLICES(source->parts[i]);
		wish.part_starts[i] = (uint8_t)CLV_LAYOUT_PART_START(source->parts[i]);
		wish.n_parts++;
	}
	r = check_parts(p, &wish);
	return r < 0 ? r : add_copies(p, &wish, source->count);
}

/* The compute instances of a wish as counts by slices. */
static void count_wished_parts(
	const struct mig_plan *p, const struct wish *wish, uint8_t ret[PARTS_MAX + 1])
{
	memset(ret, 0, PARTS_MAX + 1);
	if (wish->n_parts == 0)
		ret[p->model->profiles[wish->profile].slices % (PARTS_MAX + 1)]++;
	for (uint8_t i = 0; i < wish->n_parts; i++)
		ret[wish->parts[i] % (PARTS_MAX + 1)]++;
}

/* The same of what is there: all of them, or those that are held. */
static void count_parts(
	const struct mig_plan *p, size_t have, bool held_only, uint8_t ret[PARTS_MAX + 1])
{
	const struct clv_partition *partition = p->partitions[have];
	const struct clv_mig_profile *profile =
		&p->model->profiles[p->have[have].instance.profile];

	memset(ret, 0, PARTS_MAX + 1);
	if (partition->n_parts == 0 && !partition->is_half_made)
		ret[profile->slices % (PARTS_MAX + 1)] +=
			!held_only || partition->holders.n > 0;
	for (size_t i = 0; i < partition->n_parts; i++)
		ret[partition->parts[i].size % (PARTS_MAX + 1)] +=
			!held_only || partition->parts[i].holders.n > 0;
}

static void compare_parts(struct mig_plan *p, size_t have)
{
	uint8_t wished[PARTS_MAX + 1], all[PARTS_MAX + 1], held[PARTS_MAX + 1];

	count_parts(p, have, false, all);
	count_parts(p, have, true, held);
	for (size_t i = 0; i < p->n_wishes; i++) {
		count_wished_parts(p, &p->wishes[i], wished);
		if (memcmp(wished, all, sizeof(all)) != 0)
			p->have[have].differs_from |= (uint16_t)(1u << i);
		for (size_t size = 1; size <= PARTS_MAX; size++) {
			if (held[size] > wished[size])
				p->have[have].cannot_be |= (uint16_t)(1u << i);
		}
	}
}

/* What there is. */

static int add_have(struct mig_plan *p, const struct clv_partition *partition)
{
	struct clv_error why = {0};
	int profile = clv_mig_profile_find(p->model, partition->profile, &why);

	if (p->n_have == CLV_MIG_INSTANCES_MAX || profile < 0)
		return clv_planner_fail(p->planner, p->at, p->at.rule->line, -EINVAL,
			"%s is there and not understood: %s", partition->name,
			profile < 0 ? why.msg : "there are too many instances");
	p->partitions[p->n_have] = partition;
	p->have[p->n_have++] = (struct clv_mig_have){
		.instance = {(uint8_t)profile, (uint8_t)partition->start},
		.in_use = clv_partition_is_held(partition),
		.is_kept = p->at.rule->preserve,
	};
	return 0;
}

/* Why it cannot be had, by the first of the wishes for which no room is left. */

static void list_fits(
	const struct mig_plan *p, const struct clv_mig_set *set, char *ret, size_t size)
{
	size_t used = 0;

	snprintf(ret, size, "nothing");
	for (uint8_t i = 0; i < p->model->n_profiles && used < size; i++) {
		if (clv_mig_set_capacity(p->model, set, i) > 0 &&
			p->model->profiles[i].attributes == 0)
			used += (size_t)snprintf(ret + used, size - used, "%s%s",
				used ? ", " : "", p->model->profiles[i].name);
	}
}

static void fill_tool_wishes(
	const struct mig_plan *p, struct clv_mig_wish ret[CLV_MIG_INSTANCES_MAX])
{
	for (size_t i = 0; i < p->n_wishes; i++)
		ret[i] = (struct clv_mig_wish){p->wishes[i].profile, p->wishes[i].start};
}

static void set_of(const struct mig_plan *p, const struct clv_mig_answer *answer,
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

static int fail_with_room(struct mig_plan *p)
{
	struct clv_mig_have kept[CLV_MIG_INSTANCES_MAX];
	struct clv_mig_wish wishes[CLV_MIG_INSTANCES_MAX];
	struct clv_mig_answer answer = {0};
	struct clv_mig_set set = {0};
	char fits[128];
	size_t n = 0;

	fill_tool_wishes(p, wishes);
	memcpy(kept, p->have, sizeof(kept));
	for (size_t i = 0; i < p->n_have; i++)
		kept[i].in_use = false;
	set_of(p, &answer, 0, &set);
	while (n < p->n_wishes &&
		clv_mig_solve(p->model, kept, p->n_have, wishes, n + 1, &answer) == 0)
		set_of(p, &answer, ++n, &set);
	list_fits(p, &set, fits, sizeof(fits));
	return clv_planner_fail(p->planner, p->at, p->wishes[n].source->line, -ENOSPC,
		"only the first %zu of %zu instances fit together%s; %s has no room "
		"then, "
		"what still fits is %s",
		n, p->n_wishes, p->at.rule->preserve ? " beside those that are kept" : "",
		p->model->profiles[p->wishes[n].profile].name, fits);
}

/* The compute instances of one GPU instance. */

struct inside {
	const char *name;                /* of the GPU instance */
	const struct clv_partition *now; /* NULL: it is new */
	const struct wish *wish;
	const struct clv_mig_profile *profile;
};

static size_t fill_parts_now(const struct mig_plan *p, const struct inside *in,
	const struct clv_mig_model *model, struct clv_mig_have *ret)
{
	const struct clv_partition *now = in->now;
	char name[8];
	size_t n = 0;

	if (!now || now->is_half_made)
		return 0;
	if (now->n_parts == 0) {
		ret[0] = (struct clv_mig_have){
			.instance = {(uint8_t)(model->n_profiles - 1), 0},
			.in_use = now->holders.n > 0,
		};
		return 1;
	}
	for (size_t i = 0; i < now->n_parts && n < CLV_MIG_INSTANCES_MAX; i++) {
		int profile;

		snprintf(name, sizeof(name), "%uc", now->parts[i].size & 0xffu);
		profile = clv_mig_profile_find(model, name, NULL);
		if (profile < 0)
			continue;
		ret[n++] = (struct clv_mig_have){
			.instance = {(uint8_t)profile, (uint8_t)now->parts[i].start},
			.in_use = now->parts[i].holders.n > 0,
		};
	}
	return n;
}

static size_t fill_parts_wished(const struct inside *in,
	const struct clv_mig_model *model, struct clv_mig_wish *ret)
{
	char name[8];

	if (in->wish->n_parts == 0) {
		ret[0] = (struct clv_mig_wish){
			(uint8_t)(model->n_profiles - 1), CLV_MIG_ANYWHERE};
		return 1;
	}
	for (uint8_t i = 0; i < in->wish->n_parts; i++) {
		int profile;

		snprintf(name, sizeof(name), "%uc", in->wish->parts[i]);
		profile = clv_mig_profile_find(model, name, NULL);
		if (profile < 0)
			return 0;
		ret[i] =
			(struct clv_mig_wish){(uint8_t)profile, in->wish->part_starts[i]};
	}
	return in->wish->n_parts;
}

static struct clv_step *add_part_step(struct mig_plan *p, const struct inside *in,
	enum clv_step_kind kind, const struct clv_mig_profile *part, uint8_t start)
{
	struct clv_step *step = clv_planner_step(p->planner, kind, p->at.index);

	snprintf(step->inside, sizeof(step->inside), "%s", in->name);
	snprintf(step->profile, sizeof(step->profile), "%.4s.%.34s", part->name,
		in->profile->name);
	clv_part_make_name(in->name, part->size, start, step->partition);
	step->start = start;
	step->size = part->size;
	return step;
}

static void share_part(
	struct mig_plan *p, const struct inside *in, uint32_t size, uint8_t start)
{
	char name[CLV_PARTITION_NAME_MAX];

	clv_part_make_name(in->name, size, start, name);
	clv_planner_share(p->planner, p->at.index,
		size == in->profile->slices ? in->name : name, &in->wish->source->shares);
}

/* As fill_parts_now() numbers them: one that fills the instance is the instance. */
static void block_part(struct mig_plan *p, const struct inside *in, size_t have)
{
	const struct clv_partition *part =
		in->now->n_parts > 0 ? &in->now->parts[have] : in->now;

	clv_planner_block(p->planner, p->at.index, part->name, &part->holders,
		"the layout has no place for it beside what it wants in %s", in->name);
}

static int plan_parts(struct mig_plan *p, const struct inside *in)
{
	const struct clv_mig_model *model = clv_mig_model_of_parts(in->profile->slices);
	struct clv_mig_have have[CLV_MIG_INSTANCES_MAX];
	struct clv_mig_wish wishes[CLV_MIG_INSTANCES_MAX];
	struct clv_mig_answer answer = {0};
	size_t n_have, n_wishes;

	/* Such an instance is filled by one part, as check_parts() made sure. */
	if (!model) {
		clv_planner_share(
			p->planner, p->at.index, in->name, &in->wish->source->shares);
		return 0;
	}
	n_have = fill_parts_now(p, in, model, have);
	n_wishes = fill_parts_wished(in, model, wishes);
	if (n_wishes == 0 ||
		clv_mig_solve(model, have, n_have, wishes, n_wishes, &answer) == -ENOSPC)
		return clv_planner_fail(p->planner, p->at, in->wish->source->line,
			-ENOSPC, "these parts do not fit together in %s",
			in->profile->name);
	for (size_t i = 0; i < n_have; i++) {
		if (answer.in_the_way & 1u << i)
			block_part(p, in, i);
		if (!(answer.stay & 1u << i))
			add_part_step(p, in, CLV_STEP_DESTROY_PART,
				&model->profiles[have[i].instance.profile],
				have[i].instance.start);
	}
	for (size_t i = 0; i < n_wishes; i++) {
		const struct clv_mig_profile *part = &model->profiles[wishes[i].profile];

		/* A new instance is filled as it is made. */
		if (answer.from[i] == CLV_MIG_NEW && (in->now || in->wish->n_parts > 0))
			add_part_step(
				p, in, CLV_STEP_CREATE_PART, part, answer.starts[i]);
		share_part(p, in, part->size, answer.starts[i]);
	}
	return 0;
}

/* Steps. */

static void add_destroy(struct mig_plan *p, size_t have)
{
	const struct clv_partition *partition = p->partitions[have];
	struct clv_step *step =
		clv_planner_step(p->planner, CLV_STEP_DESTROY, p->at.index);

	snprintf(step->partition, sizeof(step->partition), "%s", partition->name);
	snprintf(step->profile, sizeof(step->profile), "%s", partition->profile);
	step->start = partition->start;
	step->size = partition->size;
	snprintf(step->why, sizeof(step->why), "the layout does not have it");
}

static void block_lost(struct mig_plan *p, size_t have)
{
	const struct clv_partition *partition = p->partitions[have];
	const char *why = "the layout has no place for it beside what it wants";

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

static void add_create(struct mig_plan *p, size_t wish, const char *name)
{
	const struct wish *wanted = &p->wishes[wish];
	const struct clv_mig_profile *profile = &p->model->profiles[wanted->profile];
	struct clv_step *step =
		clv_planner_step(p->planner, CLV_STEP_CREATE, p->at.index);

	snprintf(step->partition, sizeof(step->partition), "%s", name);
	snprintf(step->profile, sizeof(step->profile), "%s", profile->name);
	step->start = p->answer.starts[wish];
	step->size = profile->size;
	step->has_parts = wanted->n_parts > 0;
	if (wanted->start != CLV_MIG_ANYWHERE)
		snprintf(step->why, sizeof(step->why), "placed as line %" PRIu32 " says",
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

/* The large ones first, for drivers that place what is left by themselves. */
static int next_wish(const struct mig_plan *p, uint16_t done)
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

static int plan_wish(struct mig_plan *p, size_t wish)
{
	uint8_t from = p->answer.from[wish];
	char name[CLV_PARTITION_NAME_MAX];
	struct inside in = {
		.name = name,
		.now = from == CLV_MIG_NEW ? NULL : p->partitions[from],
		.wish = &p->wishes[wish],
		.profile = &p->model->profiles[p->wishes[wish].profile],
	};

	clv_partition_make_name(
		p->at.device->info.name, in.profile->name, p->answer.starts[wish], name);
	if (in.now)
		clv_planner_keep(p->planner, name);
	else
		add_create(p, wish, name);
	return plan_parts(p, &in);
}

static int add_steps(struct mig_plan *p)
{
	uint16_t done = 0;
	int wish, r = 0;

	for (size_t i = 0; i < p->n_have; i++) {
		if (p->answer.in_the_way & 1u << i)
			block_lost(p, i);
		if (!(p->answer.stay & 1u << i))
			add_destroy(p, i);
		else if (p->have[i].is_kept &&
			 !memchr(p->answer.from, (int)i, p->n_wishes))
			clv_planner_keep(p->planner, p->partitions[i]->name);
	}
	while (r >= 0 && (wish = next_wish(p, done)) >= 0) {
		done |= (uint16_t)(1u << wish);
		r = plan_wish(p, (size_t)wish);
	}
	return r;
}

/* The mode. */

static void add_mode(struct mig_plan *p, bool on)
{
	const struct clv_mig_state *mig = &p->at.device->mig;
	struct clv_step *step;

	clv_planner_block(p->planner, p->at.index, "", &p->at.device->holders,
		"MIG mode changes on an idle device only");
	if (mig->is_pending)
		clv_planner_block(p->planner, p->at.index, "", NULL,
			"an earlier change of its MIG mode waits for a reset: "
			"nvidia-smi --gpu-reset -i %" PRIu32 ", or restart the machine",
			p->at.device->index);
	step = clv_planner_step(p->planner, CLV_STEP_MIG_MODE, p->at.index);
	step->value = on;
	step->needs = CLV_NEEDS_IDLE | (mig->needs_reset ? CLV_NEEDS_RESET : 0);
	clv_planner_affect(p->planner, step, p->at.index);
	if (mig->is_lost_at_reboot && on)
		snprintf(step->why, sizeof(step->why),
			"this GPU forgets the mode when its driver is reloaded: it is "
			"turned on again when the agent starts");
}

static int solve(struct mig_plan *p)
{
	struct clv_mig_wish wishes[CLV_MIG_INSTANCES_MAX];

	for (size_t i = 0; i < p->n_have; i++)
		compare_parts(p, i);
	fill_tool_wishes(p, wishes);
	return clv_mig_solve(
		p->model, p->have, p->n_have, wishes, p->n_wishes, &p->answer);
}

static int read_both(struct mig_plan *p)
{
	const struct clv_node_device *device = p->at.device;
	const struct clv_layout_rule *rule = p->at.rule;
	int r = 0;

	for (size_t i = 0; i < device->n_partitions && r >= 0; i++)
		r = add_have(p, &device->partitions[i]);
	for (size_t i = 0; i < rule->n_partitions && r >= 0; i++)
		r = add_wishes(p, &rule->partitions[i]);
	return r;
}

/* mig: off, or an empty device to begin with. */
static int plan_off(struct mig_plan *p)
{
	int r = 0;

	if (p->at.rule->n_partitions > 0)
		return clv_planner_fail(p->planner, p->at, p->at.rule->line, -EINVAL,
			"partitions need mig: on, and the rule says off");
	if (!p->at.device->mig.is_on && !p->at.device->mig.is_pending)
		return 0;
	for (size_t i = 0; i < p->at.device->n_partitions && r >= 0; i++)
		r = add_have(p, &p->at.device->partitions[i]);
	for (size_t i = 0; i < p->n_have && r >= 0; i++) {
		block_lost(p, i);
		add_destroy(p, i);
	}
	if (r >= 0)
		add_mode(p, false);
	return r;
}

int clv_plan_mig(struct clv_planner *planner, struct clv_planned at)
{
	struct mig_plan p = {
		.planner = planner,
		.at = at,
		.model = at.device->mig.model,
	};
	int r;

	if (at.rule->has_mig && !at.rule->mig)
		return plan_off(&p);
	if (!p.model)
		return clv_planner_fail(planner, at, at.rule->line, -ENODEV,
			"neither its driver nor the tables say what profiles it has");
	if (!at.device->mig.is_on && (at.rule->has_mig || at.rule->n_partitions > 0))
		add_mode(&p, true);
	if (!at.rule->has_partitions)
		return 0;
	r = read_both(&p);
	if (r < 0)
		return r;
	r = solve(&p);
	return r == -ENOSPC ? fail_with_room(&p) : add_steps(&p);
}
