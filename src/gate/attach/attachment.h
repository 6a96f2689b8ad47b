/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_gate_api;
struct clv_view;

/* The process's attachment to its lease.  Any thread. */

/* Sets the API's operations.  Call once, before anything else. */
void clv_gate_init(const struct clv_gate_api *api);

/* The present view, or NULL where the process runs ungated (no lease,
 * --if-no-agent=open).  *ret_refused is set if the process must see no device.  Attaches
 * on first use, and again in a child. */
struct clv_view *clv_gate_view(bool *ret_refused);

/* Call after the agent died or descriptors were lost: starts a thread that retries to
 * attach, to the same agent or the next one, and then replaces the view.  Never waits. */
void clv_gate_seek_agent(struct clv_view *view);

/* Called at intervals: moves what threads have counted in the previous view to the
 * present one. */
void clv_gate_carry_leftovers(void);
