/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/gpu/mig-plan.h"
#include "core/plan/plan-internal.h"

#define CLV_PLAN_PARTS_MAX 8
/* Ways to refill what is there, of all instances; and the holders of one instance up to
 * whom all ways are looked for. */
#define CLV_PLAN_WAYS_MAX 1024u
#define CLV_PLAN_CHOICES_MAX 8u

/* A GPU instance that is wanted, with the slices of its compute instances. */
struct clv_mig_wished {
	uint8_t profile;
	uint8_t start;
	uint8_t n_parts; /* 0: one that fills it */
	uint8_t parts[CLV_PLAN_PARTS_MAX];
	uint8_t part_starts[CLV_PLAN_PARTS_MAX]; /* or CLV_MIG_ANYWHERE */
	const struct clv_layout_partition *source;
};

/* The plan of one GPU while it is made. */
struct clv_mig_planner {
	struct clv_planner *planner;
	struct clv_planned at;
	const struct clv_mig_model *model;
	struct clv_mig_have have[CLV_MIG_INSTANCES_MAX];
	const struct clv_partition *partitions[CLV_MIG_INSTANCES_MAX]; /* of have */
	size_t n_have;
	uint32_t taken; /* units, by have */
	struct clv_mig_wished wishes[CLV_MIG_INSTANCES_MAX];
	size_t n_wishes;
	const struct clv_holder *holders[CLV_MIG_HOLDERS_MAX]; /* one for each bit */
	size_t n_holders;
	uint64_t ways[CLV_PLAN_WAYS_MAX]; /* what clv_mig_have.ends points to */
	size_t n_ways;
	struct clv_mig_answer answer;
};

void clv_mig_planner_list_starts(
	const struct clv_mig_profile *profile, char *ret, size_t size);
/* The bits of these holders. */
uint64_t clv_mig_planner_holders(
	struct clv_mig_planner *p, const struct clv_holders *holders);

/* The compute instances of a GPU instance (plan-parts.c). */

/* Whether they can be had: 0, -EINVAL or -ENOSPC. */
int clv_plan_parts_check(struct clv_mig_planner *p, const struct clv_mig_wished *wish);
/* Whether those that are there are known: 0 or -EINVAL. */
int clv_plan_parts_know(struct clv_mig_planner *p, uint8_t profile,
	const struct clv_partition *partition);
/* What it would take to turn those that are there into those of each wish. */
void clv_plan_parts_compare(struct clv_mig_planner *p, size_t have);
/* The steps that do so, and the shares of what there will be.  now: NULL for a GPU
 * instance that is made by this plan. */
void clv_plan_parts_add(struct clv_mig_planner *p, const struct clv_mig_wished *wish,
	const struct clv_partition *now, const char *name);
