/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;

/* Ends an agent that was started on demand when it is idle: no lease, no waiting request,
 * no operation, and no request at all for --idle-exit seconds. */
struct clv_idle;

/* *ret is NULL if the agent does not exit for idleness. */
int clv_idle_new(struct clv_agent *agent, struct clv_idle **ret, struct clv_error *err);
struct clv_idle *clv_idle_free(struct clv_idle *idle);

/* Restarts the idle time.  Accepts NULL. */
void clv_idle_touch(struct clv_idle *idle);
