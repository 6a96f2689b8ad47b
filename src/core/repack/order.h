/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/repack/repack.h"

/* The moves of a plan as steps that can be carried out one after the other: at each step
 * the lease leaves its place, and then the next one has room for it. */

enum clv_repack_how {
	CLV_REPACK_MOVE,  /* to its new place */
	CLV_REPACK_ASIDE, /* to a spare place, because the moves form a cycle */
	CLV_REPACK_END,   /* the same where no place is spare: the lease ends ... */
	CLV_REPACK_BEGIN, /* ... and begins again at its new place */
};

struct clv_repack_step {
	struct clv_place_at from, to; /* an END has no `to`, a BEGIN no `from` */
	uint8_t move;                 /* index of the move in the plan */
	enum clv_repack_how how;
};

#define CLV_REPACK_STEPS_MAX (2 * CLV_REPACK_MOVES_MAX)

/* plan: of clv_repack_find(), for the fleet as it is, which is not changed.  As few
 * leases as possible leave their place twice.  The request of the plan has room after the
 * last step.  Returns the number of steps; -ESTALE: the fleet has changed since the plan
 * was found; -ENOMEM. */
int clv_repack_order(const struct clv_fleet *fleet, const struct clv_repack_plan *plan,
	struct clv_repack_step ret[CLV_REPACK_STEPS_MAX]);
