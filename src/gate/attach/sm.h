/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/view.h"

/* The lease's limit in space, from the control page: how many of the device's
 * multiprocessors or compute units this process may use at once.  Each API's gate
 * enforces it by its own means. */
struct clv_sm_limit {
	uint32_t ppm;          /* 0: there is none */
	uint32_t first, count; /* count 0: the agent does not know the units */
};

/* The limit of the attached process; all 0 if there is none. */
struct clv_sm_limit clv_sm_limit_get(void);

/* Reports to the agent what enforces the limit, and to how many units.  A state no worse
 * than the reported one is not sent. */
void clv_sm_tell(enum clv_attach_sm state, uint32_t count);

/* Repeats the report to the next agent. */
void clv_sm_tell_again(const struct clv_view *old, struct clv_view *view);
