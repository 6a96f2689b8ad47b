/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_client_error;
struct clv_locate;

/* An agent that was started on demand has an argument that begins so. */
#define CLV_START_ON_DEMAND "--idle-exit="

/* Starts the calling user's own agent, or that of a simulated node, detached, and returns
 * when it is ready to serve; when another process has just started one, that one is
 * enough.  It ends by itself once idle.  -EINTR when interrupt_fd (0: none) becomes
 * readable. */
int clv_start_agent(
	const struct clv_locate *where, int interrupt_fd, struct clv_client_error *err);
