/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_gate_api;
struct clv_view;

/* The process's attachment to its lease. */

/* Called once, before anything else. */
void clv_gate_init(const struct clv_gate_api *api);

/* The present view, or NULL where the process runs ungated (no lease,
 * --if-no-agent=open). *ret_refused is set when the process must see no device. Attaches
 * on first use, and again in a child. */
struct clv_view *clv_gate_view(bool *ret_refused);

/* After the agent died, or with descriptors lost: a thread attaches to the agent that is
 * there, or tries until there is one; the new view replaces the old one.  Never waits. */
void clv_gate_seek_agent(struct clv_view *view);

/* Now and then: what threads counted in the view before this one. */
void clv_gate_carry_leftovers(void);
