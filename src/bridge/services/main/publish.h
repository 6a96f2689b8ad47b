/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_publisher;
struct clv_supervisor;

/* Publishes the project at the agent each second, if it has changed, for the console, and
 * takes the actions that users ask for there.  socket: the agent's, or NULL.  NULL: out
 * of memory. */
struct clv_publisher *clv_publisher_new(
	struct clv_supervisor *supervisor, const char *socket);
struct clv_publisher *clv_publisher_free(struct clv_publisher *publisher);
