/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/plan/plan-internal.h"

/* What a rule wants of one device's functions, between plan-vf.c and plan-vgpu.c. */
struct clv_vf_plan {
	struct clv_planner *planner;
	struct clv_planned at;
	const struct clv_vf_state *now;
	uint32_t count;       /* how many are wanted */
	uint32_t n_functions; /* how many there will be: a driver may make all or none */
	bool is_new;          /* another number of functions than now */
	uint32_t line;
	const struct clv_layout_shares *shares;
	struct clv_vf_quota
		quota;     /* of each that is wanted; the type as it will be read */
	bool clears_types; /* functions that are vGPUs of another type lose it */
	bool *is_chosen;   /* by function, from 0: which are the wanted ones */
};

/* --- plan-vgpu.c: NVIDIA's functions, which are made all at once and then typed --- */

/* Reads the type that is wanted: sets quota.type, clears_types and n_functions. */
void clv_vgpu_read_wanted(struct clv_vf_plan *p);
/* Which functions get it, is_chosen: those that have it stay.  -ENOSPC */
int clv_vgpu_choose(struct clv_vf_plan *p);
/* -EINVAL: there is no such type, -ENOSPC: not so many of it; else it may warn. */
int clv_vgpu_check(struct clv_vf_plan *p);
/* Whether the function, from 0, loses the type that it has. */
bool clv_vgpu_is_cleared(const struct clv_vf_plan *p, uint32_t i);
/* The steps that take types away, and who is in the way of that. */
void clv_vgpu_plan_clearing(struct clv_vf_plan *p);
