/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/plan/plan.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* What the planners of the schemes share.  Each takes one device and the rule that speaks
 * for it, and adds to the plan; out of memory is noted and said at the end. */
struct clv_planner {
	const struct clv_node *node;
	const struct clv_layout *layout;
	int32_t *rule_of; /* by device; -1: none */
	struct clv_plan *plan;
	struct clv_error *err;
	bool is_out_of_memory;
	struct clv_step spare; /* what steps are written to without memory */
};

/* One device of a node, and what is wanted of it. */
struct clv_planned {
	uint32_t index;
	const struct clv_node_device *device;
	const struct clv_layout_rule *rule;
};

/* Bits, 1 << enum clv_scheme: of which a rule says anything, and which it wants. */
struct clv_planned_schemes {
	uint32_t spoken;
	uint32_t wanted;
};

/* Digits alone, at most nine and no needless zero; -EINVAL for all else. */
int64_t clv_planner_number(const char *text);

/* Of the profile of a partition. */
enum clv_scheme clv_planner_scheme_of(const char *profile);
/* -EINVAL for what the device does not have, or cannot have at once. */
int clv_planner_read_schemes(struct clv_planner *planner, struct clv_planned at,
	struct clv_planned_schemes *ret);
bool clv_planner_will_be_whole(
	const struct clv_planned *at, const struct clv_planned_schemes *schemes);

/* By scheme; return 0 or what clv_plan_make() returns. */
int clv_plan_mig(struct clv_planner *planner, struct clv_planned at);
int clv_plan_vf(struct clv_planner *planner, struct clv_planned at);
int clv_plan_cores(struct clv_planner *planner, struct clv_planned at);
/* All devices at once, because those of a hive go together. */
int clv_plan_xcp(struct clv_planner *planner);

/* Never NULL: without memory it is a spare that nobody reads. */
struct clv_step *clv_planner_step(
	struct clv_planner *planner, enum clv_step_kind kind, uint32_t device);
void clv_planner_affect(
	struct clv_planner *planner, struct clv_step *step, uint32_t device);
void clv_planner_keep(struct clv_planner *planner, const char *partition);
void clv_planner_warn(struct clv_planner *planner, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Nothing for holders that are none. */
void clv_planner_block(struct clv_planner *planner, uint32_t device,
	const char *partition, const struct clv_holders *holders, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* All holders on the device and in its partitions. */
void clv_planner_block_all(struct clv_planner *planner, uint32_t device, const char *why);
/* So many equal ones or each of them, on what is or will be called so. */
void clv_planner_share(struct clv_planner *planner, uint32_t device, const char *where,
	const struct clv_layout_shares *shares);

/* "layout.yaml:LINE: gpu0 (MODEL): ..."; stores and returns code. */
int clv_planner_fail(struct clv_planner *planner, struct clv_planned at, uint32_t line,
	int code, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Whether the function has what is said of it. */
bool clv_vf_has_quota(const struct clv_vf_quota *wanted, const struct clv_vf *vf);
/* What a rule wants would end partitions; whether it preserves them.  Then they are kept,
 * a warning says that "what" (its mode, say) stays, and the rule no longer speaks of the
 * device. */
bool clv_planner_preserves(
	struct clv_planner *planner, struct clv_planned at, const char *what);
