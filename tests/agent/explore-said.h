/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_operation;

/* What the agent of the exploration says of its operations. */

/* The last operation of this agent; the last one of a user, of all and of those that have
 * the GPU; the last one that has begun its steps.  NULL: none. */
const struct clv_operation *explore_last(void);
const struct clv_operation *explore_user(void);
const struct clv_operation *explore_user_of(unsigned int gpu);
const struct clv_operation *explore_begun(void);
/* Whether an operation under way waits for a device. */
bool explore_waits(unsigned int gpu);
/* Whether all operations have ended, or wait for a program to end. */
bool explore_is_at_rest(void);
/* Whether an operation that ended under an earlier agent is listed, and as failed. */
bool explore_has_past(void);
bool explore_has_failed_before(void);
/* Whether an operation of this or of an earlier agent lists this GPU as left. */
bool explore_is_left(unsigned int gpu);
/* Whether the kept layout is listed as not applied on this GPU. */
bool explore_is_waited_for(unsigned int gpu);
