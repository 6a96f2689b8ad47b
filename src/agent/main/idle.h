/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;

/* Ends an agent that was started on demand when nobody has needed it for a while: no
 * lease, no waiting request, no request at all for --idle-exit seconds. */
struct clv_idle;

/* A NULL *ret and 0 when the agent is to run for ever. */
int clv_idle_new(struct clv_agent *agent, struct clv_idle **ret, struct clv_error *err);
struct clv_idle *clv_idle_free(struct clv_idle *idle);

/* Something happened: count from now.  Accepts NULL. */
void clv_idle_touch(struct clv_idle *idle);
