/* SPDX-License-Identifier: Apache-2.0 */
/* From a node and a layout to a plan: which rule speaks for which device, then each
 * scheme's own planner, then what concerns the node as a whole. */
#include "core/plan.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/plan-internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BITS 64u

struct clv_step *clv_planner_step(
	struct clv_planner *planner, enum clv_step_kind kind, uint32_t device)
{
	static struct clv_step spare;
	struct clv_step *step = CLV_APPEND(planner->plan->steps, planner->plan->n_steps);

	if (!step) {
		planner->is_out_of_memory = true;
		step = &spare;
	}
	step->kind = kind;
	step->device = device;
	return step;
}

void clv_planner_affect(
	struct clv_planner *planner, struct clv_step *step, uint32_t device)
{
	size_t n_words = planner->node->n_devices / BITS + 1;

	if (!step->affected)
		step->affected = calloc(n_words, sizeof(*step->affected));
	if (!step->affected)
		planner->is_out_of_memory = true;
	else
		step->affected[device / BITS] |= UINT64_C(1) << device % BITS;
}

void clv_planner_keep(struct clv_planner *planner, const char *partition)
{
	struct clv_plan *plan = planner->plan;
	char(*kept)[CLV_PARTITION_NAME_MAX] = CLV_APPEND(plan->kept, plan->n_kept);

	if (!kept)
		planner->is_out_of_memory = true;
	else
		snprintf(*kept, sizeof(*kept), "%s", partition);
}

void clv_planner_warn(struct clv_planner *planner, const char *format, ...)
{
	struct clv_plan *plan = planner->plan;
	char(*warning)[256] = CLV_APPEND(plan->warnings, plan->n_warnings);
	va_list args;

	if (!warning) {
		planner->is_out_of_memory = true;
		return;
	}
	va_start(args, format);
	vsnprintf(*warning, sizeof(*warning), format, args);
	va_end(args);
}

static void add_holders(struct clv_planner *planner, struct clv_obstacle *obstacle,
	const struct clv_holders *holders)
{
	for (size_t i = 0; i < holders->n; i++) {
		struct clv_holder *holder = clv_holders_add(&obstacle->holders);

		if (!holder) {
			planner->is_out_of_memory = true;
			return;
		}
		*holder = holders->items[i];
	}
}

static struct clv_obstacle *add_obstacle(
	struct clv_planner *planner, uint32_t device, const char *partition)
{
	struct clv_plan *plan = planner->plan;
	struct clv_obstacle *obstacle = CLV_APPEND(plan->obstacles, plan->n_obstacles);

	if (!obstacle) {
		planner->is_out_of_memory = true;
		return NULL;
	}
	obstacle->device = device;
	snprintf(obstacle->partition, sizeof(obstacle->partition), "%s", partition);
	return obstacle;
}

void clv_planner_block(struct clv_planner *planner, uint32_t device,
	const char *partition, const struct clv_holders *holders, const char *format, ...)
{
	struct clv_obstacle *obstacle;
	va_list args;

	if (holders && holders->n == 0)
		return;
	obstacle = add_obstacle(planner, device, partition);
	if (!obstacle)
		return;
	va_start(args, format);
	vsnprintf(obstacle->why, sizeof(obstacle->why), format, args);
	va_end(args);
	if (holders)
		add_holders(planner, obstacle, holders);
}

void clv_planner_block_all(struct clv_planner *planner, uint32_t index, const char *why)
{
	const struct clv_node_device *device = &planner->node->devices[index];

	clv_planner_block(planner, index, "", &device->holders, "%s", why);
	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];

		clv_planner_block(
			planner, index, partition->name, &partition->holders, "%s", why);
		for (size_t j = 0; j < partition->n_parts; j++)
			clv_planner_block(planner, index, partition->parts[j].name,
				&partition->parts[j].holders, "%s", why);
	}
}

static void add_share(struct clv_planner *planner, uint32_t device, const char *where,
	const char *name, const struct clv_share_request *request)
{
	struct clv_plan *plan = planner->plan;
	struct clv_plan_share *share = CLV_APPEND(plan->shares, plan->n_shares);

	if (!share) {
		planner->is_out_of_memory = true;
		return;
	}
	share->device = device;
	share->request = *request;
	snprintf(share->where, sizeof(share->where), "%s", where);
	snprintf(share->name, sizeof(share->name), "%s/%s", where, name);
}

void clv_planner_share(struct clv_planner *planner, uint32_t device, const char *where,
	const struct clv_layout_shares *shares)
{
	char number[16];

	for (uint32_t i = 0; i < shares->n_equal; i++) {
		struct clv_share_request equal = {
			.compute_ppm = 1000000 / shares->n_equal,
			.class = CLV_CLASS_NORMAL,
		};

		snprintf(number, sizeof(number), "%" PRIu32, i + 1);
		add_share(planner, device, where, number, &equal);
	}
	for (size_t i = 0; i < shares->n; i++)
		add_share(planner, device, where, shares->items[i].name,
			&shares->items[i].request);
}

int clv_planner_fail(struct clv_planner *planner, struct clv_planned at, uint32_t line,
	int code, const char *format, ...)
{
	char text[384];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return clv_error_set(planner->err, code, "%s:%" PRIu32 ": %s (%s): %s",
		planner->layout->name, line, at.device->info.name, at.device->info.model,
		text);
}

/* Which schemes a rule speaks of. */

static bool is_mode(const char *profile)
{
	char mode[4] = {0};

	memcpy(mode, profile, strnlen(profile, 3));
	return clv_compute_mode_from_string(mode) != _CLV_COMPUTE_MODE_INVALID &&
	       (profile[3] == '\0' || profile[3] == '/');
}

static enum clv_scheme scheme_of_profile(const char *profile)
{
	if (strncmp(profile, "vf:", 3) == 0)
		return CLV_SCHEME_VF;
	if (strncmp(profile, "cores:", 6) == 0)
		return CLV_SCHEME_CORES;
	if (strlen(profile) >= 3 && is_mode(profile))
		return CLV_SCHEME_XCP;
	return CLV_SCHEME_MIG;
}

static uint32_t wanted_schemes(const struct clv_planned *at)
{
	const struct clv_layout_rule *rule = at->rule;
	uint32_t schemes = 0;

	/* What has no MIG has it off. */
	if (rule->has_mig && (rule->mig || !at->device->mig.is_absent))
		schemes |= 1u << CLV_SCHEME_MIG;
	if (rule->has_compute_mode || rule->memory_mode != 0)
		schemes |= 1u << CLV_SCHEME_XCP;
	if (rule->has_vf)
		schemes |= 1u << CLV_SCHEME_VF;
	for (size_t i = 0; i < rule->n_partitions; i++)
		schemes |= 1u << scheme_of_profile(rule->partitions[i].profile);
	/* An empty list: none of what the device has. */
	if (rule->has_partitions && rule->n_partitions == 0)
		schemes |= 1u << at->device->scheme;
	return schemes & ~(1u << CLV_SCHEME_NONE);
}

static const struct {
	const char *name; /* "MIG" */
	const char *other;
} scheme_texts[_CLV_SCHEME_MAX] = {
	[CLV_SCHEME_MIG] = {"MIG instances", "MIG"},
	[CLV_SCHEME_XCP] = {"compute and memory modes", "compute-mode"},
	[CLV_SCHEME_VF] = {"virtual functions", "vf"},
	[CLV_SCHEME_CORES] = {"sets of processors", "partitions of cores:N"},
};

static bool can(const struct clv_node_device *device, enum clv_scheme scheme)
{
	switch (scheme) {
	case CLV_SCHEME_MIG:
		return device->mig.is_capable;
	case CLV_SCHEME_XCP:
		return device->xcp.is_capable;
	case CLV_SCHEME_VF:
		return device->vf.is_capable;
	case CLV_SCHEME_CORES:
		return device->cores.is_capable;
	default:
		return false;
	}
}

static int fail_with_scheme(
	struct clv_planner *planner, struct clv_planned at, enum clv_scheme scheme)
{
	const struct clv_node_device *device = at.device;
	const char *why = device->cannot_divide;

	if (scheme == CLV_SCHEME_VF && device->vf.why_not[0] != '\0')
		why = device->vf.why_not;
	for (int i = CLV_SCHEME_MIG; i < _CLV_SCHEME_MAX && why[0] == '\0'; i++) {
		if (can(device, (enum clv_scheme)i))
			return clv_planner_fail(planner, at, at.rule->line, -EINVAL,
				"it has no %s: it can be divided by %s",
				scheme_texts[scheme].name, scheme_texts[i].other);
	}
	return clv_planner_fail(planner, at, at.rule->line, -EINVAL,
		"it has no %s%s%s: use shares", scheme_texts[scheme].name,
		why[0] ? ": " : "", why);
}

static int check_schemes(
	struct clv_planner *planner, struct clv_planned at, uint32_t schemes)
{
	for (int i = CLV_SCHEME_MIG; i < _CLV_SCHEME_MAX; i++) {
		if (schemes & 1u << i && !can(at.device, (enum clv_scheme)i))
			return fail_with_scheme(planner, at, (enum clv_scheme)i);
	}
	return 0;
}

/* Shares of a device as a whole need one that is whole. */
static int plan_whole(struct clv_planner *planner, struct clv_planned at)
{
	const struct clv_layout_shares *shares = &at.rule->shares;

	if (shares->n_equal == 0 && shares->n == 0)
		return 0;
	if (at.rule->n_partitions > 0 ||
		(at.device->n_partitions > 0 && !at.rule->has_partitions))
		return clv_planner_fail(planner, at, at.rule->line, -EINVAL,
			"it is divided into partitions: say shares of these, inside "
			"partitions");
	clv_planner_share(planner, at.index, at.device->info.name, shares);
	return 0;
}

static int plan_device(struct clv_planner *planner, struct clv_planned at)
{
	uint32_t schemes = wanted_schemes(&at);
	int r = check_schemes(planner, at, schemes);

	/* Modes are planned for all devices at once. */
	if (r >= 0 && schemes & 1u << CLV_SCHEME_MIG)
		r = clv_plan_mig(planner, at);
	if (r >= 0 && schemes & 1u << CLV_SCHEME_VF)
		r = clv_plan_vf(planner, at);
	if (r >= 0 && schemes & 1u << CLV_SCHEME_CORES)
		r = clv_plan_cores(planner, at);
	return r < 0 ? r : plan_whole(planner, at);
}

static int plan_all(struct clv_planner *planner)
{
	int r = 0;

	for (uint32_t i = 0; i < planner->node->n_devices && r >= 0; i++) {
		if (planner->rule_of[i] < 0)
			continue;
		r = plan_device(
			planner, (struct clv_planned){i, &planner->node->devices[i],
					 &planner->layout->rules[planner->rule_of[i]]});
	}
	return r < 0 ? r : clv_plan_xcp(planner);
}

int clv_plan_make(const struct clv_node *node, const struct clv_layout *layout,
	struct clv_plan *ret, struct clv_error *err)
{
	_cleanup_free_ int32_t *rule_of = calloc(node->n_devices + 1, sizeof(*rule_of));
	struct clv_plan plan = {0};
	struct clv_planner planner = {
		.node = node,
		.layout = layout,
		.rule_of = rule_of,
		.plan = &plan,
		.err = err,
	};
	int r;

	if (!rule_of)
		return clv_error_errno(err, ENOMEM, "cannot plan");
	r = clv_layout_match(layout, node, rule_of, err);
	if (r >= 0)
		r = plan_all(&planner);
	if (r >= 0 && planner.is_out_of_memory)
		r = clv_error_errno(err, ENOMEM, "cannot plan");
	if (r < 0) {
		clv_plan_clear(&plan);
		return r;
	}
	*ret = plan;
	return 0;
}

void clv_plan_clear(struct clv_plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		free(plan->steps[i].affected);
	for (size_t i = 0; i < plan->n_obstacles; i++)
		free(plan->obstacles[i].holders.items);
	free(plan->steps);
	free(plan->obstacles);
	free(plan->kept);
	free(plan->shares);
	free(plan->warnings);
	*plan = (struct clv_plan){0};
}
