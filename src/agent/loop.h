/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_agent;
struct clv_error;

/* Builds the parts of the agent, in the order in which they need each other, and runs the
 * loop.  agent->config is complete.  is_ready is called when the sockets listen. */
int clv_loop_run(struct clv_agent *agent, void (*is_ready)(void *userdata),
	void *userdata, struct clv_error *err);

/* Before an agent on demand ends: takes the API's socket out of sight.  False: somebody
 * has just connected, and the agent must stay. */
bool clv_loop_leave_socket(struct clv_agent *agent);
