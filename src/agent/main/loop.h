/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;

/* Builds the parts of the agent, in the order in which they need each other, and runs the
 * loop.  agent->config is complete.  is_ready is called when the sockets listen. */
int clv_loop_run(struct clv_agent *agent, void (*is_ready)(void *userdata),
	void *userdata, struct clv_error *err);
