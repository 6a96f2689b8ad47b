/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

struct json_t;

/* Ends the program's processes when the agent has ended the lease that they run in: its
 * time has expired, or it was released by force.  The agent itself ends only processes
 * that have attached to the lease. */
struct clv_lease_end {
	const struct json_t *lease;
	const char *agent_socket;
	pid_t child; /* asks the agent, and ends the processes; 0: none */
};

/* Checks whether the lease still has its socket, and if not, asks the agent whether the
 * lease has ended, and ends all descendants of this process but the outsider (0: none):
 * SIGTERM, and SIGKILL after five seconds.  A child process does this.  Called once a
 * second by the thread that reaps children; never blocks. */
void clv_lease_end_check(struct clv_lease_end *end, pid_t outsider);
