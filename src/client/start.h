/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_client_error;
struct clv_locate;

/* The beginning of the argument by which an agent that was started on demand is known. */
#define CLV_START_ON_DEMAND "--idle-exit="

/* Starts the calling user's own agent, or that of a simulated node, as a detached
 * process, and returns when it is ready; if another process has just started one, that
 * one is enough.  The agent ends when it is idle.  -EINTR if interrupt_fd (0: none)
 * becomes readable. */
int clv_start_agent(
	const struct clv_locate *where, int interrupt_fd, struct clv_client_error *err);
