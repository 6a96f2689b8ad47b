/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_common;

/* Keeps a user's own agent alive while a program runs in one of its leases: if the agent
 * was killed, or is stopped or hangs for more than a moment, a new one is started.  The
 * system's agent is left to its service manager. */
struct clv_guard {
	const struct clv_common *common;
	const char *socket_path; /* of the agent */
	pid_t agent;
	int pidfd;        /* of the agent; -1: not watched, or gone */
	uint64_t n_waits; /* of the agent's main thread, at the last check */
	unsigned n_idle;  /* checks in a row between which it did nothing */
	pid_t starter;    /* the child that starts the next agent; 0: none */
	/* The agent that the starter started; 0: none.  It is reparented to this process,
	 * a subreaper, but is not part of the program's tree. */
	pid_t outsider;
	bool is_needed;
};

/* Borrows common and socket_path.  Other agents than the user's own are not watched. */
void clv_guard_begin(struct clv_guard *guard, const struct clv_common *common,
	const char *socket_path);
void clv_guard_end(struct clv_guard *guard);

/* Checks the agent.  Called periodically by the thread that reaps children; never blocks.
 */
void clv_guard_check(struct clv_guard *guard);
