/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_operation;

/* What the agent of the exploration says of its operations. */

/* The last operation of this agent; NULL: none. */
const struct clv_operation *explore_last(void);
/* Whether an operation that ended under an earlier agent is listed as failed. */
bool explore_has_failed_before(void);
/* Whether the last operation, or one of an earlier agent, lists this GPU as left. */
bool explore_is_left(unsigned int gpu);
/* Whether the kept layout is listed as not applied on this GPU. */
bool explore_is_waited_for(unsigned int gpu);
