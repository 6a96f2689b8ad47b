/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's compute and memory modes.  A compute mode belongs to one device.  A memory mode
 * belongs to a hive and takes effect when the driver is reloaded.  A reload removes all
 * devices of the driver and puts each into a compute mode of the driver's choice, so each
 * gets its compute mode again afterwards. */
#include "core/plan/plan-internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct target {
	bool is_wanted; /* a rule sets its modes */
	bool is_kept;   /* preserve keeps its modes */
	enum clv_compute_mode compute;
	uint32_t memory;
	uint32_t line;
	const struct clv_layout_shares *shares; /* of each of its partitions, or NULL */
};

struct xcp_plan {
	struct clv_planner *planner;
	struct target *targets; /* by device */
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

/* Targets. */

/* Reads the modes from a profile "CPX" or "CPX/NPS4". */
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
			"'%s' is no mode: write CPX or CPX/NPS4, for example",
			partition->profile);
	if (at.rule->has_compute_mode && at.rule->compute_mode != target->compute)
		return clv_planner_fail(p->planner, at, target->line, -EINVAL,
			"compute-mode is %s and the profile %s: set it once",
			clv_compute_mode_to_string(at.rule->compute_mode),
			partition->profile);
	if (slash && at.rule->memory_mode != 0 && at.rule->memory_mode != target->memory)
		return clv_planner_fail(p->planner, at, target->line, -EINVAL,
			"memory-mode is %s and the profile %s: set it once",
			clv_memory_mode_to_string(
				(enum clv_memory_mode)at.rule->memory_mode),
			partition->profile);
	if (at.rule->n_partitions > 1 || partition->n_starts > 0 ||
		partition->n_parts > 0)
		return clv_planner_fail(p->planner, at, target->line, -EINVAL,
			"a mode divides the whole device: set it once, without start or "
			"parts");
	return 0;
}

static int check_count(struct xcp_plan *p, struct clv_planned at, struct target *target)
{
	unsigned n = clv_xcp_devices(target->compute, at.device->xcp.dies);
	uint32_t count = target->shares ? at.rule->partitions[0].count : 0;

	if (count <= 1 || count == n)
		return 0;
	return clv_planner_fail(p->planner, at, target->line, -EINVAL,
		"%s makes %u partitions of it, not %" PRIu32,
		clv_compute_mode_to_string(target->compute), n, count);
}

static bool changes(const struct target *target, const struct clv_xcp_state *xcp)
{
	return target->compute != xcp->compute || target->memory != xcp->memory;
}

static void list_compute_modes(uint32_t bits, char *ret, size_t ret_bytes)
{
	ret[0] = '\0';
	for (int i = 0; i < _CLV_COMPUTE_MODE_MAX; i++) {
		if (bits & 1u << i)
			clv_text_list(ret, ret_bytes,
				clv_compute_mode_to_string((enum clv_compute_mode)i));
	}
	if (ret[0] == '\0')
		clv_text_list(ret, ret_bytes, "none");
}

/* First the rules of the driver, then the modes that it reports for this device. */
static int check_change(struct xcp_plan *p, struct clv_planned at, struct target *target)
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
		clv_memory_modes_list(xcp->memory_available, modes, sizeof(modes));
		return clv_planner_fail(p->planner, at, target->line, -EINVAL,
			"its driver does not offer %s: it offers %s",
			clv_memory_mode_to_string(memory), modes);
	}
	list_compute_modes(xcp->compute_available, modes, sizeof(modes));
	if (target->memory == xcp->memory &&
		!(xcp->compute_available & 1u << target->compute))
		return clv_planner_fail(p->planner, at, target->line, -EINVAL,
			"its driver does not offer %s with %s: it offers %s",
			clv_compute_mode_to_string(target->compute),
			clv_memory_mode_to_string(memory), modes);
	return 0;
}

/* The current modes are accepted whatever the tables say. */
static int check_target(struct xcp_plan *p, struct clv_planned at, struct target *target)
{
	const struct clv_xcp_state *xcp = &at.device->xcp;
	enum clv_memory_mode memory = (enum clv_memory_mode)target->memory;
	int r = changes(target, xcp) ? check_change(p, at, target) : 0;

	if (r < 0)
		return r;
	if (xcp->model && changes(target, xcp) &&
		!clv_xcp_is_validated(xcp->model, target->compute, memory) &&
		!clv_xcp_is_described(xcp->model, target->compute, memory))
		clv_planner_warn(p->planner,
			"%s: the driver accepts %s with %s, but AMD has not validated "
			"the "
			"pair on %s",
			at.device->info.name, clv_compute_mode_to_string(target->compute),
			clv_memory_mode_to_string(memory), xcp->model->name);
	return check_count(p, at, target);
}

static bool has_profile(const struct clv_layout_rule *rule)
{
	return rule->n_partitions > 0 &&
	       clv_planner_scheme_of(rule->partitions[0].profile) == CLV_SCHEME_XCP;
}

/* An empty list removes all partitions. */
static bool wants_none(const struct clv_layout_rule *rule)
{
	return rule->has_partitions && rule->n_partitions == 0;
}

static bool sets_modes(const struct clv_planned *at)
{
	const struct clv_layout_rule *rule = at->rule;

	return at->device->xcp.is_capable && rule &&
	       (rule->has_compute_mode || rule->memory_mode != 0 || has_profile(rule) ||
		       wants_none(rule));
}

static struct target current_modes(const struct clv_node_device *device)
{
	return (struct target){
		.compute = device->xcp.compute, .memory = device->xcp.memory};
}

static int read_target(struct xcp_plan *p, struct clv_planned at, struct target *target)
{
	const struct clv_layout_rule *rule = at.rule;
	int r = 0;

	*target = current_modes(at.device);
	if (!sets_modes(&at))
		return 0;
	target->is_wanted = true;
	target->line = rule->line;
	if (rule->has_compute_mode)
		target->compute = rule->compute_mode;
	if (rule->memory_mode != 0)
		target->memory = rule->memory_mode;
	if (has_profile(rule)) {
		r = read_profile(p, at, target);
	} else if (wants_none(rule) && !rule->has_compute_mode) {
		target->compute = CLV_SPX;
		if (rule->memory_mode == 0)
			target->memory = CLV_NPS1;
	}
	if (r < 0)
		return r;
	if (changes(target, &at.device->xcp) &&
		clv_planner_preserves(p->planner, at, "its mode")) {
		*target = current_modes(at.device);
		target->is_kept = true;
		return 0;
	}
	return check_target(p, at, target);
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

/* A memory mode changes for the whole hive. */
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
			: p->targets[j].is_kept ? "keeps its mode because of preserve"
						: "is not selected");
	}
	return 0;
}

static bool is_any_wanted(const struct xcp_plan *p)
{
	for (uint32_t i = 0; i < p->planner->node->n_devices; i++) {
		if (p->targets[i].is_wanted)
			return true;
	}
	return false;
}

/* Memory modes that were requested before, outside of this plan. */
static void warn_of_requests(struct xcp_plan *p)
{
	for (uint32_t i = 0; i < p->planner->node->n_devices; i++) {
		uint32_t requested = device_at(p, i)->xcp.requested_memory;

		if (requested != 0 && requested != p->targets[i].memory)
			clv_planner_warn(p->planner,
				"%s: %s was requested earlier and takes effect with the "
				"next reload of its driver, which cannot take that "
				"back",
				device_at(p, i)->info.name,
				clv_memory_mode_to_string(
					(enum clv_memory_mode)requested));
	}
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

/* All AMD GPUs have the same driver. */
static bool has_its_driver(
	const struct clv_node_device *device, const struct clv_node_device *other)
{
	return other->xcp.is_capable ||
	       (strcmp(device->info.vendor, other->info.vendor) == 0 &&
		       strcmp(other->info.type, "cpu") != 0);
}

static void add_reload(struct xcp_plan *p, uint32_t of)
{
	const struct clv_node *node = p->planner->node;
	struct clv_step *step = clv_planner_step(p->planner, CLV_STEP_RELOAD, of);

	step->value = p->targets[of].memory;
	step->needs = CLV_NEEDS_IDLE | CLV_NEEDS_RELOAD;
	snprintf(step->why, sizeof(step->why),
		"a memory mode takes effect when the driver is reloaded: all its devices "
		"vanish for up to two minutes");
	for (uint32_t i = 0; i < node->n_devices; i++) {
		if (has_its_driver(&node->devices[of], &node->devices[i]))
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

/* Without a reload each device changes on its own. */
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

/* The compute mode from which the memory mode can be requested: SPX, or a mode that is
 * valid with the current and the new memory mode.  SPX is valid with NPS1 only, so it may
 * be out of reach; without such a mode the current one stays and the driver chooses. */
static enum clv_compute_mode mode_to_ask_from(const struct xcp_plan *p, uint32_t i)
{
	const struct clv_xcp_state *xcp = &device_at(p, i)->xcp;
	uint32_t both = xcp->memory | p->targets[i].memory;

	if (clv_xcp_memory_modes(CLV_SPX, xcp->dies) & xcp->memory)
		return CLV_SPX;
	for (int mode = xcp->compute; mode >= 0; mode--) {
		if ((clv_xcp_memory_modes((enum clv_compute_mode)mode, xcp->dies) &
			    both) == both)
			return (enum clv_compute_mode)mode;
	}
	return xcp->compute;
}

/* The compute mode is always set again, because versions of the driver choose different
 * ones. */
static void add_compute_again(struct xcp_plan *p, uint32_t i)
{
	const struct target *target = &p->targets[i];
	enum clv_memory_mode memory = (enum clv_memory_mode)target->memory;
	enum clv_compute_mode first =
		clv_xcp_first_mode(device_at(p, i)->xcp.dies, memory);
	char why[96];

	if (first == _CLV_COMPUTE_MODE_INVALID)
		snprintf(why, sizeof(why),
			"a reload leaves it in a mode of the driver's choice");
	else if (first == target->compute)
		snprintf(why, sizeof(why),
			"a reload leaves it in %s, or in another mode with older drivers",
			clv_compute_mode_to_string(first));
	else
		snprintf(why, sizeof(why),
			"a reload leaves it in %s, which the driver chooses for %s",
			clv_compute_mode_to_string(first),
			clv_memory_mode_to_string(memory));
	add_compute(p, i, target->compute, why);
}

/* of: a device whose memory mode changes. */
static void plan_reload(struct xcp_plan *p, uint32_t of)
{
	uint32_t n = (uint32_t)p->planner->node->n_devices;

	for (uint32_t i = 0; i < n; i++) {
		if (has_its_driver(device_at(p, of), device_at(p, i)))
			clv_planner_block_all(p->planner, i,
				"the driver is reloaded, which removes all of its "
				"devices");
		if (changes_memory(p, i) &&
			device_at(p, i)->xcp.compute != mode_to_ask_from(p, i))
			add_compute(p, i, mode_to_ask_from(p, i),
				"a memory mode is not changed from every mode");
	}
	for (uint32_t i = 0; i < n; i++) {
		if (changes_memory(p, i))
			add_memory(p, i);
	}
	add_reload(p, of);
	for (uint32_t i = 0; i < n; i++) {
		if (device_at(p, i)->xcp.is_capable && p->targets[i].compute != CLV_SPX)
			add_compute_again(p, i);
	}
}

static int plan(struct xcp_plan *p)
{
	uint32_t n = (uint32_t)p->planner->node->n_devices, changed = n;
	int r = 0;

	for (uint32_t i = 0; i < n && r >= 0; i++)
		r = read_target(p, planned_at(p, i), &p->targets[i]);
	if (r < 0 || !is_any_wanted(p))
		return r;
	for (uint32_t i = 0; i < n && r >= 0; i++) {
		if (!changes_memory(p, i))
			continue;
		changed = changed == n ? i : changed;
		r = check_hive(p, i);
	}
	if (r < 0)
		return r;
	warn_of_requests(p);
	warn_of_mixture(p);
	if (changed < n)
		plan_reload(p, changed);
	for (uint32_t i = 0; i < n && changed == n; i++)
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
