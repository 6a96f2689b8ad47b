/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct clv_common;

/* Sees that a user's own agent, which nobody else looks after, is there for as long as a
 * program runs in a lease of it: where it was killed, or is stopped for more than a
 * moment, a new one is started.  The system's agent is its service manager's. */
struct clv_guard {
	const struct clv_common *common;
	const char *socket_path; /* of the agent */
	pid_t agent;
	int pidfd;          /* -1: it need not be looked after, or is gone */
	unsigned n_stopped; /* looks in a row in which it was */
	pid_t starter;      /* a child that starts the next one; 0: none */
	/* The agent that it started is this process's child, as it leaves its own tree
	 * below a subreaper; 0: none.  It is no part of the program's tree. */
	pid_t outsider;
	bool is_needed;
};

/* Both strings are borrowed. */
void clv_guard_begin(struct clv_guard *guard, const struct clv_common *common,
	const char *socket_path);
void clv_guard_end(struct clv_guard *guard);

/* Now and then, from the thread that waits for children.  Never waits. */
void clv_guard_look(struct clv_guard *guard);
