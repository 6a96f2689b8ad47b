/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/plan/plan.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* State that the planners of the schemes share.  Each gets one device and its rule, and
 * adds to the plan.  Lack of memory is recorded and reported at the end. */
struct clv_planner {
	const struct clv_node *node;
	const struct clv_layout *layout;
	int32_t *rule_of; /* index of the rule, by device; -1: none */
	struct clv_plan *plan;
	struct clv_error *err;
	bool is_out_of_memory;
	bool has_too_many_shares;
	struct clv_step spare; /* receives steps when memory is lacking */
};

/* One device of a node and its rule. */
struct clv_planned {
	uint32_t index;
	const struct clv_node_device *device;
	const struct clv_layout_rule *rule;
};

/* Masks of 1 << enum clv_scheme: the schemes that a rule mentions, and those that it
 * wants. */
struct clv_planned_schemes {
	uint32_t spoken;
	uint32_t wanted;
};

/* Parses a number of at most nine digits without leading zeros; -EINVAL for anything
 * else. */
int64_t clv_planner_number(const char *text);

/* The scheme of the profile of a partition. */
enum clv_scheme clv_planner_scheme_of(const char *profile);
/* -EINVAL for schemes that the device does not have, or cannot have at once. */
int clv_planner_read_schemes(struct clv_planner *planner, struct clv_planned at,
	struct clv_planned_schemes *ret);
/* Whether the device is undivided once the rule is applied. */
bool clv_planner_will_be_whole(
	const struct clv_planned *at, const struct clv_planned_schemes *schemes);

/* By scheme; return 0 or what clv_plan_make() returns. */
int clv_plan_mig(struct clv_planner *planner, struct clv_planned at);
int clv_plan_vf(struct clv_planner *planner, struct clv_planned at);
int clv_plan_cores(struct clv_planner *planner, struct clv_planned at);
/* All devices at once, because devices of a hive change together. */
int clv_plan_xcp(struct clv_planner *planner);

/* Appends a step.  Never NULL: without memory it is a spare that is never read. */
struct clv_step *clv_planner_step(
	struct clv_planner *planner, enum clv_step_kind kind, uint32_t device);
void clv_planner_affect(
	struct clv_planner *planner, struct clv_step *step, uint32_t device);
void clv_planner_keep(struct clv_planner *planner, const char *partition);
void clv_planner_warn(struct clv_planner *planner, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds an obstacle with copies of the holders; nothing if the list is empty.  NULL: an
 * obstacle without holders. */
void clv_planner_block(struct clv_planner *planner, uint32_t device,
	const char *partition, const struct clv_holders *holders, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* The same for all holders of the device and of its partitions. */
void clv_planner_block_all(struct clv_planner *planner, uint32_t device, const char *why);
/* Adds the standing shares of a device or partition, which is or will be named
 * `where`. */
void clv_planner_share(struct clv_planner *planner, uint32_t device, const char *where,
	const struct clv_layout_shares *shares);

/* "layout.yaml:LINE: gpu0 (MODEL): ..."; stores and returns code. */
int clv_planner_fail(struct clv_planner *planner, struct clv_planned at, uint32_t line,
	int code, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Whether the function has all quotas that are set in wanted. */
bool clv_vf_has_quota(const struct clv_vf_quota *wanted, const struct clv_vf *vf);
/* For a rule that would end partitions: whether it preserves them.  If so they are kept,
 * a warning says that "what" (its mode, say) stays, and the rule no longer applies to the
 * device. */
bool clv_planner_preserves(
	struct clv_planner *planner, struct clv_planned at, const char *what);
