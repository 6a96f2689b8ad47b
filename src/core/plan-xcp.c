/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's compute and memory modes.  A compute mode is one device's own matter.  A memory
 * mode is its hive's, and comes true when the driver is reloaded, which puts every device
 * of the driver back to SPX, or to CPX where SPX does not go with the memory mode: so
 * those that change go to a mode that they can be in before, and each gets its mode
 * after. */
#include "core/plan-internal.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct target {
	bool is_wanted; /* a rule speaks of its modes */
	enum clv_compute_mode compute;
	uint32_t memory;
	uint32_t line;
	const struct clv_layout_shares *shares; /* of each of its partitions, or NULL */
};

struct xcp_plan {
	struct clv_planner *planner;
	struct target *targets; /* by device */
	bool needs_reload;
};

static const struct clv_node_device *device_at(const struct xcp_plan *p, uint32_t i)
{
	return &p->planner->node->devices[i];
}

static struct clv_planned planned_at(const struct xcp_plan *p, uint32_t i)
{
	int32_t rule = p->planner->rule_of[i];

	return (struct clv_planned){
		i, device_at(p, i), rule < 0 ? NULL : &p->planner->layout->rules[rule]};
}

/* What is wanted. */

/* "CPX" or "CPX/NPS4" into modes. */
static int read_profile(struct xcp_plan *p, struct clv_planned at, struct target *target)
{
	const struct clv_layout_partition *partition = &at.rule->partitions[0];
	const char *slash = strchr(partition->profile, '/');
	char mode[8] = "";

	target->line = partition->line;
	target->shares = &partition->shares;
	memcpy(mode, partition->profile, strnlen(partition->profile, 3));
	target->compute = clv_compute_mode_from_string(mode);
	if (slash)
		target->memory = clv_memory_mode_from_string(slash + 1);
	if (target->memory == 0)
		return clv_planner_fail(p->planner, at, target->line, -EINVAL,
			"'%s' is no mode: CPX or CPX/NPS4, say", partition->profile);
	if (at.rule->n_partitions > 1 || partition->n_starts > 0 ||
		partition->n_parts > 0)
		return clv_planner_fail(p->planner, at, target->line, -EINVAL,
			"a mode divides the whole device: say it once, without start or "
			"parts");
	return 0;
}

static int check_count(struct xcp_plan *p, struct clv_planned at, struct target *target)
{
	unsigned n = clv_xcp_devices(target->compute, at.device->xcp.dies);
	uint32_t count;

	if (at.rule->n_partitions == 0)
		return 0;
	count = at.rule->partitions[0].count;
	if (count <= 1 || count == n)
		return 0;
	return clv_planner_fail(p->planner, at, target->line, -EINVAL,
		"%s makes %u partitions of it, not %" PRIu32,
		clv_compute_mode_to_string(target->compute), n, count);
}

static void list_memory_modes(uint32_t modes, char *ret, size_t size)
{
	size_t used = 0;

	snprintf(ret, size, "none");
	for (uint32_t mode = CLV_NPS1; mode <= CLV_NPS8 && used < size; mode <<= 1) {
		if (modes & mode)
			used += (size_t)snprintf(ret + used, size - used, "%s%s",
				used ? ", " : "",
				clv_memory_mode_to_string((enum clv_memory_mode)mode));
	}
}

/* The rules of the driver first, then what this device's driver says that it has. */
static int check_target(struct xcp_plan *p, struct clv_planned at, struct target *target)
{
	const struct clv_xcp_state *xcp = &at.device->xcp;
	enum clv_memory_mode memory = (enum clv_memory_mode)target->memory;
	struct clv_xcp_model model = {
		.name = xcp->model ? xcp->model->name : at.device->info.model,
		.dies = xcp->dies,
		.memory_modes = xcp->model
					? xcp->model->memory_modes | xcp->memory_available
					: xcp->memory_available,
	};
	struct clv_error why = {0};
	char modes[48];

	if (clv_xcp_check(&model, target->compute, memory, &why) < 0)
		return clv_planner_fail(
			p->planner, at, target->line, -EINVAL, "%s", why.msg);
	if (target->memory != xcp->memory && !(xcp->memory_available & target->memory)) {
		list_memory_modes(xcp->memory_available, modes, sizeof(modes));
		return clv_planner_fail(p->planner, at, target->line, -EINVAL,
			"its driver does not offer %s: it offers %s",
			clv_memory_mode_to_string(memory), modes);
	}
	if (target->memory == xcp->memory && target->compute != xcp->compute &&
		!(xcp->compute_available & 1u << target->compute))
		return clv_planner_fail(p->planner, at, target->line, -EINVAL,
			"its driver does not offer %s beside %s",
			clv_compute_mode_to_string(target->compute),
			clv_memory_mode_to_string(memory));
	if (xcp->model && !clv_xcp_is_validated(xcp->model, target->compute, memory))
		clv_planner_warn(p->planner,
			"%s: the driver takes %s with %s, and AMD has not validated the "
			"pair on %s",
			at.device->info.name, clv_compute_mode_to_string(target->compute),
			clv_memory_mode_to_string(memory), xcp->model->name);
	return check_count(p, at, target);
}

static bool speaks_of_modes(const struct clv_planned *at)
{
	const struct clv_layout_rule *rule = at->rule;

	return at->device->xcp.is_capable && rule &&
	       (rule->has_compute_mode || rule->memory_mode != 0 || rule->has_partitions);
}

static int read_target(struct xcp_plan *p, struct clv_planned at, struct target *target)
{
	const struct clv_layout_rule *rule = at.rule;
	int r = 0;

	*target = (struct target){
		.compute = at.device->xcp.compute,
		.memory = at.device->xcp.memory,
	};
	if (!speaks_of_modes(&at))
		return 0;
	target->is_wanted = true;
	target->line = rule->line;
	if (rule->has_compute_mode)
		target->compute = rule->compute_mode;
	if (rule->memory_mode != 0)
		target->memory = rule->memory_mode;
	if (rule->n_partitions > 0)
		r = read_profile(p, at, target);
	else if (rule->has_partitions && !rule->has_compute_mode)
		target->compute = CLV_SPX;
	return r < 0 ? r : check_target(p, at, target);
}

/* Hives. */

static bool share_hive(const struct clv_node_device *a, const struct clv_node_device *b)
{
	return a->hive[0] != '\0' && strcmp(a->hive, b->hive) == 0;
}

static bool changes_memory(const struct xcp_plan *p, uint32_t i)
{
	return device_at(p, i)->xcp.is_capable &&
	       p->targets[i].memory != device_at(p, i)->xcp.memory;
}

/* A memory mode that changes, changes for all of the hive. */
static int check_hive(struct xcp_plan *p, uint32_t i)
{
	struct clv_planned at = planned_at(p, i);

	for (uint32_t j = 0; j < p->planner->node->n_devices; j++) {
		const struct clv_node_device *other = device_at(p, j);

		if (!share_hive(at.device, other) ||
			p->targets[j].memory == p->targets[i].memory)
			continue;
		return clv_planner_fail(p->planner, at, p->targets[i].line, -EINVAL,
			"a change to %s is for its whole hive, and %s of it %s: select "
			"all of the hive",
			clv_memory_mode_to_string(
				(enum clv_memory_mode)p->targets[i].memory),
			other->info.name,
			p->targets[j].is_wanted ? "is to have another one"
						: "is not selected");
	}
	return 0;
}

static void warn_of_mixture(struct xcp_plan *p)
{
	const struct clv_node_device *first = NULL;
	uint32_t first_memory = 0;

	for (uint32_t i = 0; i < p->planner->node->n_devices; i++) {
		const struct clv_node_device *device = device_at(p, i);

		if (!device->xcp.is_capable)
			continue;
		if (!first) {
			first = device;
			first_memory = p->targets[i].memory;
		} else if (p->targets[i].memory != first_memory) {
			clv_planner_warn(p->planner,
				"%s will have %s and %s %s: AMD advises against mixed "
				"memory modes on one node",
				first->info.name,
				clv_memory_mode_to_string(
					(enum clv_memory_mode)first_memory),
				device->info.name,
				clv_memory_mode_to_string(
					(enum clv_memory_mode)p->targets[i].memory));
			return;
		}
	}
}

/* Steps. */

static void add_compute(
	struct xcp_plan *p, uint32_t i, enum clv_compute_mode mode, const char *why)
{
	struct clv_step *step = clv_planner_step(p->planner, CLV_STEP_COMPUTE_MODE, i);

	step->value = mode;
	step->needs = CLV_NEEDS_IDLE;
	snprintf(step->why, sizeof(step->why), "%s", why);
}

static void add_memory(struct xcp_plan *p, uint32_t i)
{
	clv_planner_step(p->planner, CLV_STEP_MEMORY_MODE, i)->value =
		p->targets[i].memory;
}

static void add_reload(struct xcp_plan *p)
{
	const struct clv_node *node = p->planner->node;
	struct clv_step *step = NULL;

	for (uint32_t i = 0; i < node->n_devices; i++) {
		if (!step && changes_memory(p, i)) {
			step = clv_planner_step(p->planner, CLV_STEP_RELOAD, i);
			step->value = p->targets[i].memory;
			step->needs = CLV_NEEDS_IDLE | CLV_NEEDS_RELOAD;
			snprintf(step->why, sizeof(step->why),
				"a memory mode comes true when the driver is reloaded: "
				"all its devices vanish for up to two minutes");
		}
	}
	for (uint32_t i = 0; step && i < node->n_devices; i++) {
		if (node->devices[i].xcp.is_capable)
			clv_planner_affect(p->planner, step, i);
	}
}

static void share_partitions(struct xcp_plan *p, uint32_t i)
{
	const struct target *target = &p->targets[i];
	const struct clv_node_device *device = device_at(p, i);
	unsigned n = clv_xcp_devices(target->compute, device->xcp.dies);
	char profile[CLV_PROFILE_NAME_MAX], name[CLV_PARTITION_NAME_MAX];

	snprintf(profile, sizeof(profile), "%s/%s",
		clv_compute_mode_to_string(target->compute),
		clv_memory_mode_to_string((enum clv_memory_mode)target->memory));
	for (unsigned k = 0; k < n && target->shares; k++) {
		clv_partition_make_name(device->info.name, profile, k, name);
		clv_planner_share(
			p->planner, i, n > 1 ? name : device->info.name, target->shares);
	}
}

static void keep_all(struct xcp_plan *p, uint32_t i)
{
	const struct clv_node_device *device = device_at(p, i);

	for (size_t k = 0; k < device->n_partitions && p->targets[i].is_wanted; k++)
		clv_planner_keep(p->planner, device->partitions[k].name);
}

/* Without a reload each device changes by itself. */
static void plan_alone(struct xcp_plan *p, uint32_t i)
{
	const struct clv_node_device *device = device_at(p, i);

	if (!device->xcp.is_capable)
		return;
	if (p->targets[i].compute == device->xcp.compute) {
		keep_all(p, i);
		return;
	}
	clv_planner_block_all(
		p->planner, i, "a compute mode changes on an idle device only");
	add_compute(p, i, p->targets[i].compute, "");
}

/* AMD changes a memory mode from SPX, which goes with NPS1 alone.  From another one it
 * is enough that the compute mode goes with the memory mode to come: CPX does with all.
 */
static void add_first_mode(struct xcp_plan *p, uint32_t i)
{
	const struct clv_xcp_state *xcp = &device_at(p, i)->xcp;

	if (xcp->memory == CLV_NPS1 && xcp->compute != CLV_SPX)
		add_compute(p, i, CLV_SPX, "a memory mode is changed from SPX");
	else if (xcp->memory != CLV_NPS1 &&
		 !(clv_xcp_memory_modes(xcp->compute, xcp->dies) & p->targets[i].memory))
		add_compute(p, i, CLV_CPX, "CPX goes with both memory modes");
}

static void plan_reload(struct xcp_plan *p)
{
	uint32_t n = (uint32_t)p->planner->node->n_devices;

	for (uint32_t i = 0; i < n; i++) {
		if (!device_at(p, i)->xcp.is_capable)
			continue;
		clv_planner_block_all(p->planner, i,
			"the driver is reloaded, which takes every device of it away");
		if (changes_memory(p, i))
			add_first_mode(p, i);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (changes_memory(p, i))
			add_memory(p, i);
	}
	add_reload(p);
	for (uint32_t i = 0; i < n; i++) {
		if (device_at(p, i)->xcp.is_capable && p->targets[i].compute != CLV_SPX)
			add_compute(p, i, p->targets[i].compute,
				"the reload has put it back to SPX");
	}
}

static int plan(struct xcp_plan *p)
{
	uint32_t n = (uint32_t)p->planner->node->n_devices;
	int r = 0;

	for (uint32_t i = 0; i < n && r >= 0; i++)
		r = read_target(p, planned_at(p, i), &p->targets[i]);
	for (uint32_t i = 0; i < n && r >= 0; i++) {
		if (changes_memory(p, i)) {
			p->needs_reload = true;
			r = check_hive(p, i);
		}
	}
	if (r < 0)
		return r;
	warn_of_mixture(p);
	if (p->needs_reload)
		plan_reload(p);
	for (uint32_t i = 0; i < n && !p->needs_reload; i++)
		plan_alone(p, i);
	for (uint32_t i = 0; i < n; i++)
		share_partitions(p, i);
	return 0;
}

int clv_plan_xcp(struct clv_planner *planner)
{
	_cleanup_free_ struct target *targets =
		calloc(planner->node->n_devices + 1, sizeof(*targets));
	struct xcp_plan p = {.planner = planner, .targets = targets};

	if (!targets) {
		planner->is_out_of_memory = true;
		return 0;
	}
	return plan(&p);
}
