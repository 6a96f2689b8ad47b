/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/gpu/mig-plan.h"
#include "core/plan/plan-internal.h"

#define CLV_PLAN_PARTS_MAX 8
/* Bounds on the ways to refill all instances together, and on the holders of one instance
 * up to which all choices of them are tried. */
#define CLV_PLAN_WAYS_MAX 1024u
#define CLV_PLAN_CHOICES_MAX 8u

/* A wanted GPU instance with the slices of its compute instances. */
struct clv_mig_wanted_instance {
	uint8_t profile;
	uint8_t start;
	uint8_t n_parts; /* 0: a single one that fills it */
	uint8_t parts[CLV_PLAN_PARTS_MAX];
	uint8_t part_starts[CLV_PLAN_PARTS_MAX]; /* or CLV_MIG_ANYWHERE */
	const struct clv_layout_partition *source;
};

/* The plan of one GPU, being built. */
struct clv_mig_planner {
	struct clv_planner *planner;
	struct clv_planned at;
	const struct clv_mig_model *model;
	struct clv_mig_existing have[CLV_MIG_INSTANCES_MAX];
	/* by index in have */
	const struct clv_partition *partitions[CLV_MIG_INSTANCES_MAX];
	size_t n_have;
	uint32_t taken; /* bitmap of the units of have */
	struct clv_mig_wanted_instance wishes[CLV_MIG_INSTANCES_MAX];
	size_t n_wishes;
	const struct clv_holder *holders[CLV_MIG_HOLDERS_MAX]; /* by bit number */
	size_t n_holders;
	uint64_t ways[CLV_PLAN_WAYS_MAX]; /* storage of clv_mig_existing.ends */
	size_t n_ways;
	struct clv_mig_solution answer;
};

void clv_mig_planner_list_starts(
	const struct clv_mig_profile *profile, char *ret, size_t size);
/* The mask of these holders. */
uint64_t clv_mig_planner_holders(
	struct clv_mig_planner *p, const struct clv_holders *holders);

/* The compute instances of a GPU instance (plan-parts.c). */

/* Whether the wanted ones are possible: 0, -EINVAL or -ENOSPC. */
int clv_plan_parts_check(
	struct clv_mig_planner *p, const struct clv_mig_wanted_instance *wish);
/* Whether the existing ones are valid: 0 or -EINVAL. */
int clv_plan_parts_validate(struct clv_mig_planner *p, uint8_t profile,
	const struct clv_partition *partition);
/* Fills in what it takes to turn the existing ones into those of each wish. */
void clv_plan_parts_compare(struct clv_mig_planner *p, size_t have);
/* Adds the steps that do so and the standing shares.  now: NULL for a GPU instance that
 * this plan creates. */
void clv_plan_parts_add(struct clv_mig_planner *p,
	const struct clv_mig_wanted_instance *wish, const struct clv_partition *now,
	const char *name);
