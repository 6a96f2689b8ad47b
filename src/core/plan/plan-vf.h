/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/plan/plan-internal.h"

/* The plan for the virtual functions of one device, shared by plan-vf.c and
 * plan-vgpu.c. */
struct clv_vf_plan {
	struct clv_planner *planner;
	struct clv_planned at;
	const struct clv_vf_state *now;
	uint32_t count; /* how many are wanted */
	/* how many there will be: some drivers create all or none */
	uint32_t n_functions;
	bool is_new; /* the number of functions changes */
	uint32_t line;
	const struct clv_layout_shares *shares;
	/* of each wanted function; the type as the driver will report it */
	struct clv_vf_quota quota;
	bool clears_types; /* functions that are vGPUs of another type lose it */
	bool *is_chosen;   /* by function, from 0: whether it is a wanted one */
};

/* --- plan-vgpu.c: NVIDIA's functions, created all at once and then typed --- */

/* Reads the wanted type: sets quota.type, clears_types and n_functions. */
void clv_vgpu_read_wanted(struct clv_vf_plan *p);
/* Chooses the functions that get the type (is_chosen); those that have it stay.
 * -ENOSPC */
int clv_vgpu_choose(struct clv_vf_plan *p);
/* -EINVAL: there is no such type; -ENOSPC: fewer of it fit than the layout asks for.  May
 * add a warning. */
int clv_vgpu_check(struct clv_vf_plan *p);
/* Whether the function, from 0, loses its type. */
bool clv_vgpu_is_cleared(const struct clv_vf_plan *p, uint32_t i);
/* Adds the steps that remove types, and the holders that block them. */
void clv_vgpu_plan_clearing(struct clv_vf_plan *p);
