/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/view.h"

/* The lease's limit in space, as the control page has it: how much of the device's
 * multiprocessors or compute units this process may use at once.  How it is held is each
 * API's own. */
struct clv_sm_limit {
	uint32_t ppm;          /* 0: there is none */
	uint32_t first, count; /* a count of 0: the agent does not know */
};

/* Of a process that is attached. */
struct clv_sm_limit clv_sm_limit_get(void);

/* Tells the agent what holds this process to it, and to how many.  What is no worse than
 * what was told before is not news. */
void clv_sm_tell(enum clv_attach_sm state, uint32_t count);

/* To the next agent. */
void clv_sm_tell_again(const struct clv_view *old, struct clv_view *view);
