/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Child processes of the agent that answer requests over a socket until the agent ends.
 * Calls that a tenant can block are made in such a child, which the agent can kill and
 * replace.  Loop thread only. */

struct clv_helper {
	pid_t pid; /* 0: no child runs */
	int fd;    /* the agent's end of the socket (SOCK_SEQPACKET) */
};

/* In a child: closes all descriptors but these, which are sorted.  A child that hangs
 * must not hold a lock or a connection of the agent. */
void clv_helper_close_all_but(int *kept, uint32_t n);

/* Starts a child that ps shows as cleaved-NAME, and that ends with the agent, or when
 * serve() returns.  Other threads of the agent may have held any lock when the child was
 * made: serve() calls async-signal-safe functions only, and does not allocate.  Returns 0
 * or a negative errno. */
int clv_helper_start(struct clv_helper *helper, const char *name, void (*serve)(int fd));

/* Kills the child.  Returns 0, or its pid if it has not ended yet; the caller reaps it
 * later. */
pid_t clv_helper_stop(struct clv_helper *helper);

/* Reaps the killed child if it has ended by now. */
bool clv_helper_has_ended(pid_t pid);

/* The fields of the process's stat file after the name, which may contain any character;
 * the first is the state.  NULL: there is no such process. */
const char *clv_helper_read_stat(pid_t pid, char *buffer, size_t room_bytes);
