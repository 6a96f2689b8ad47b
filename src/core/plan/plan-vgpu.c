/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's vGPUs.  Their driver creates all virtual functions of a GPU or none, and a
 * function becomes a vGPU when it gets a type; functions without a type are spare.  So a
 * rule that wants four of a type on a GPU of sixteen functions gets sixteen, of which
 * four have the type.  The driver may list types only when functions exist, and then only
 * types that still fit next to the existing vGPUs. */
#include "core/plan/plan-vf.h"

#include "core/device/vgpu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct clv_vgpu_type *wanted_type(const struct clv_vf_plan *p)
{
	return clv_vgpu_find(p->now->types, p->now->n_types, p->quota.type);
}

static const char *type_now(const struct clv_vf_plan *p, uint32_t i)
{
	return i < p->now->n ? p->now->items[i].quota.type : "";
}

/* The fewest functions that the driver creates and that suffice; an existing number that
 * suffices stays. */
static uint32_t functions_for(const struct clv_vf_state *vf, uint32_t count)
{
	if (vf->n >= count)
		return vf->n;
	for (uint32_t n = count; vf->counts != 0 && n <= vf->total && n <= 64; n++) {
		if (vf->counts & UINT64_C(1) << (n - 1))
			return n;
	}
	return count;
}

void clv_vgpu_read_wanted(struct clv_vf_plan *p)
{
	bool is_none = strcmp(p->quota.type, CLV_VGPU_NONE) == 0;
	const struct clv_vgpu_type *type = wanted_type(p);

	if (p->count == 0) /* without functions there are no types */
		memset(p->quota.type, 0, sizeof(p->quota.type));
	if (!clv_vgpu_has_types(p->now->framework) || p->quota.type[0] == '\0')
		return;
	p->clears_types = true;
	if (is_none)
		memset(p->quota.type, 0, sizeof(p->quota.type));
	else
		p->n_functions = functions_for(p->now, p->count);
	if (type)
		snprintf(p->quota.type, sizeof(p->quota.type), "%s", type->name);
}

/* The order in which functions are chosen. */
enum rank { HAS_IT_IN_USE, HAS_IT, IS_SPARE, IS_OTHER, IS_HELD, N_RANKS };

static enum rank rank_of(const struct clv_vf_plan *p, uint32_t i)
{
	bool is_held = i < p->now->n && p->now->items[i].holders.n > 0;
	const char *type = type_now(p, i);

	if (p->is_new || i >= p->now->n)
		return IS_SPARE;
	if (type[0] != '\0' && clv_vgpu_is_type(type, p->quota.type))
		return is_held ? HAS_IT_IN_USE : HAS_IT;
	if (is_held)
		return IS_HELD;
	return type[0] == '\0' ? IS_SPARE : IS_OTHER;
}

static bool is_preserved(const struct clv_vf_plan *p, uint32_t i)
{
	return p->at.rule->preserve && !p->is_new && type_now(p, i)[0] != '\0' &&
	       !clv_vgpu_is_type(type_now(p, i), p->quota.type);
}

static int fail_with_kept(struct clv_vf_plan *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_functions; i++)
		n += is_preserved(p, i);
	return clv_planner_fail(p->planner, p->at, p->line, -ENOSPC,
		"%" PRIu32 " are wanted, and preserve keeps all but %" PRIu32 " of its "
		"%" PRIu32 " functions as vGPUs of another type: leave preserve out",
		p->count, p->n_functions - n, p->n_functions);
}

int clv_vgpu_choose(struct clv_vf_plan *p)
{
	uint32_t n = 0;

	for (int rank = 0; rank < N_RANKS; rank++) {
		for (uint32_t i = 0; i < p->n_functions && n < p->count; i++) {
			if (rank_of(p, i) != (enum rank)rank || is_preserved(p, i))
				continue;
			p->is_chosen[i] = true;
			n++;
		}
	}
	return n < p->count ? fail_with_kept(p) : 0;
}

bool clv_vgpu_is_cleared(const struct clv_vf_plan *p, uint32_t i)
{
	const char *type = type_now(p, i);

	if (type[0] == '\0')
		return false;
	if (p->is_new)
		return true; /* functions cannot be removed while they are vGPUs */
	if (!p->clears_types)
		return false;
	if (p->is_chosen[i] && p->quota.type[0] != '\0')
		return !clv_vgpu_is_type(type, p->quota.type);
	return !p->at.rule->preserve;
}

static uint64_t size_of(const struct clv_vf_state *vf, const char *name)
{
	const struct clv_vgpu_type *type = clv_vgpu_find(vf->types, vf->n_types, name);

	return type && type->memory_bytes > 0 ? type->memory_bytes
					      : clv_vgpu_memory_of_name(name);
}

/* vGPUs that stay must have the size of the wanted ones. */
static int check_sizes(struct clv_vf_plan *p)
{
	const char *wanted = p->quota.type;

	for (uint32_t i = 0; i < p->now->n && !p->now->is_mixed; i++) {
		const char *other = type_now(p, i);

		if (!is_preserved(p, i) ||
			size_of(p->now, other) == size_of(p->now, wanted))
			continue;
		return clv_planner_fail(p->planner, p->at, p->line, -EINVAL,
			"preserve keeps a vGPU of type %s, and its driver has vGPUs of "
			"one size at a time: use that type, leave preserve out, or "
			"allow several sizes with nvidia-smi vgpu -shm 1",
			other);
	}
	return 0;
}

static bool has_it_somewhere(const struct clv_vf_plan *p)
{
	for (uint32_t i = 0; i < p->now->n; i++) {
		if (type_now(p, i)[0] != '\0' &&
			clv_vgpu_is_type(type_now(p, i), p->quota.type))
			return true;
	}
	return false;
}

static int check_unlisted(struct clv_vf_plan *p)
{
	char known[200];

	if (has_it_somewhere(p))
		return 0;
	if (!p->now->has_all_types) {
		clv_planner_warn(p->planner,
			"%s: its driver does not list the vGPU type '%s' yet, only types "
			"that fit on the existing functions: the type is checked when it "
			"is set, and everything is rolled back if there is no such type",
			p->at.device->info.name, p->quota.type);
		return 0;
	}
	clv_vgpu_list(
		p->now->types, p->now->n_types, p->quota.type, known, sizeof(known));
	return clv_planner_fail(p->planner, p->at, p->line, -EINVAL,
		"its driver offers no vGPU type '%s': it offers %s", p->quota.type,
		known);
}

int clv_vgpu_check(struct clv_vf_plan *p)
{
	const struct clv_vgpu_type *type = wanted_type(p);
	uint32_t most = type ? type->max_instances : 0;

	if (!clv_vgpu_has_types(p->now->framework) && p->quota.type[0] != '\0')
		return clv_planner_fail(p->planner, p->at, p->line, -EINVAL,
			"it has no vGPU types, which only NVIDIA's GPUs have: leave type "
			"out");
	if (p->quota.type[0] == '\0')
		return 0;
	if (p->count > p->now->total)
		return clv_planner_fail(p->planner, p->at, p->line, -ENOSPC,
			"it has %" PRIu32 " virtual functions at most, one for each "
			"vGPU, not %" PRIu32,
			p->now->total, p->count);
	if (most > 0 && p->count > most)
		return clv_planner_fail(p->planner, p->at, p->line, -ENOSPC,
			"%" PRIu32 " vGPUs of type %s do not fit: at most %" PRIu32 " do",
			p->count, type->name, most);
	if (!type && check_unlisted(p) < 0)
		return -EINVAL;
	return check_sizes(p);
}

static void clear(struct clv_vf_plan *p, uint32_t i)
{
	const struct clv_node_device *device = p->at.device;
	struct clv_step *step;

	clv_planner_block(p->planner, p->at.index,
		device->n_partitions > i ? device->partitions[i].name : "",
		&p->now->items[i].holders, "its vGPU, %s, goes when no process uses it",
		type_now(p, i));
	step = clv_planner_step(p->planner, CLV_STEP_VF_QUOTA, p->at.index);
	step->value = i + 1;
	snprintf(step->quota.type, sizeof(step->quota.type), "%s", CLV_VGPU_NONE);
	snprintf(step->why, sizeof(step->why), "%s",
		p->is_new ? "functions go when none is a vGPU"
			  : "the layout does not have it");
}

void clv_vgpu_plan_clearing(struct clv_vf_plan *p)
{
	for (uint32_t i = 0; i < p->now->n; i++) {
		if (clv_vgpu_is_cleared(p, i))
			clear(p, i);
	}
}
