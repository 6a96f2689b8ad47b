/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a layout on a node: matches rules and devices, then runs the planner of each
 * scheme on each device, then that of AMD's modes, which concern several devices. */
#include "core/plan/plan.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/plan/plan-internal.h"

#include <assert.h>
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
	struct clv_step *step = CLV_APPEND(planner->plan->steps, planner->plan->n_steps);

	assert(device < planner->node->n_devices);
	if (!step) {
		planner->is_out_of_memory = true;
		step = &planner->spare;
	}
	step->kind = kind;
	step->device = device;
	return step;
}

void clv_planner_affect(
	struct clv_planner *planner, struct clv_step *step, uint32_t device)
{
	size_t n_words = planner->node->n_devices / BITS + 1;

	assert(device < planner->node->n_devices);
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
	struct clv_plan_share *share;

	planner->has_too_many_shares = plan->n_shares == CLV_PLAN_SHARES_MAX;
	if (planner->has_too_many_shares)
		return;
	share = CLV_APPEND(plan->shares, plan->n_shares);
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

bool clv_planner_preserves(
	struct clv_planner *planner, struct clv_planned at, const char *what)
{
	const struct clv_node_device *device = at.device;

	if (!at.rule->preserve || device->n_partitions == 0)
		return false;
	clv_planner_warn(planner,
		"%s: preserve keeps its %zu partition%s, so that %s stays",
		device->info.name, device->n_partitions,
		device->n_partitions == 1 ? "" : "s", what);
	for (size_t i = 0; i < device->n_partitions; i++)
		clv_planner_keep(planner, device->partitions[i].name);
	planner->rule_of[at.index] = -1;
	return true;
}

int64_t clv_planner_number(const char *text)
{
	size_t length = strlen(text);

	if (length < 1 || length > 9 || strspn(text, "0123456789") != length ||
		(text[0] == '0' && length > 1))
		return -EINVAL;
	return strtol(text, NULL, 10);
}

static int plan_scheme(
	struct clv_planner *planner, struct clv_planned at, enum clv_scheme scheme)
{
	switch (scheme) {
	case CLV_SCHEME_MIG:
		return clv_plan_mig(planner, at);
	case CLV_SCHEME_VF:
		return clv_plan_vf(planner, at);
	case CLV_SCHEME_CORES:
		return clv_plan_cores(planner, at);
	default: /* modes are planned for all devices at once */
		return 0;
	}
}

/* Shares of the whole device, which must not be divided then. */
static int plan_shares(struct clv_planner *planner, struct clv_planned at,
	const struct clv_planned_schemes *schemes)
{
	const struct clv_layout_shares *shares = &at.rule->shares;

	if (shares->n_equal == 0 && shares->n == 0)
		return 0;
	if (!clv_planner_will_be_whole(&at, schemes))
		return clv_planner_fail(planner, at, at.rule->line, -EINVAL,
			"it is or will be divided: give the shares of its partitions "
			"inside partitions");
	if (at.rule->preserve && at.device->n_partitions > 0)
		clv_planner_warn(planner,
			"%s: preserve keeps its partitions, so that the whole has no "
			"shares",
			at.device->info.name);
	else
		clv_planner_share(planner, at.index, at.device->info.name, shares);
	return 0;
}

static int plan_schemes(
	struct clv_planner *planner, struct clv_planned at, uint32_t schemes)
{
	int r = 0;

	for (int i = CLV_SCHEME_MIG; i < _CLV_SCHEME_MAX && r >= 0; i++) {
		if (schemes & 1u << i && planner->rule_of[at.index] >= 0)
			r = plan_scheme(planner, at, (enum clv_scheme)i);
	}
	return r;
}

/* Schemes that are to be removed come first. */
static int plan_device(struct clv_planner *planner, struct clv_planned at)
{
	struct clv_planned_schemes schemes;
	int r = clv_planner_read_schemes(planner, at, &schemes);

	if (r >= 0)
		r = plan_schemes(planner, at, schemes.spoken & ~schemes.wanted);
	if (r >= 0)
		r = plan_schemes(planner, at, schemes.wanted);
	return r < 0 ? r : plan_shares(planner, at, &schemes);
}

static void note_device(struct clv_planner *planner, uint32_t at)
{
	struct clv_plan *plan = planner->plan;
	struct clv_plan_device *device = CLV_APPEND(plan->devices, plan->n_devices);

	if (!device) {
		planner->is_out_of_memory = true;
		return;
	}
	device->device = at;
	device->line = planner->layout->rules[planner->rule_of[at]].line;
}

static int plan_all(struct clv_planner *planner)
{
	int r = 0;

	for (uint32_t i = 0; i < planner->node->n_devices && r >= 0; i++) {
		if (planner->rule_of[i] < 0)
			continue;
		note_device(planner, i);
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
	free(planner.spare.affected);
	if (r >= 0 && planner.is_out_of_memory)
		r = clv_error_errno(err, ENOMEM, "cannot plan");
	if (r >= 0 && planner.has_too_many_shares)
		r = clv_error_set(err, -E2BIG,
			"%s: the layout has more than %u standing shares: give fewer",
			layout->name, CLV_PLAN_SHARES_MAX);
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
	free(plan->devices);
	free(plan->steps);
	free(plan->obstacles);
	free(plan->kept);
	free(plan->shares);
	free(plan->warnings);
	*plan = (struct clv_plan){0};
}
