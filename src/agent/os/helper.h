/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Children of the agent that live on, and answer requests over a socket.  What a tenant
 * can make hang is done in one, which the agent kills and replaces.  Loop thread only. */

struct clv_helper {
	pid_t pid; /* 0: there is none */
	int fd;    /* of the agent's end of the socket (SOCK_SEQPACKET) */
};

/* In a child: closes all descriptors but these, which are sorted.  A child that hangs
 * must keep no lock and no connection of the agent's. */
void clv_helper_close_all_but(int *kept, uint32_t n);

/* Starts a child that ps shows as cleaved-NAME, and that ends with the agent, or when
 * serve() returns.  Other threads of the agent may have held any lock when the child was
 * made: serve() calls async-signal-safe functions only, and does not allocate.  Returns 0
 * or a negative errno. */
int clv_helper_start(struct clv_helper *helper, const char *name, void (*serve)(int fd));

/* Kills the child.  Returns 0, or the child if the kernel does not let it end yet; it has
 * to be reaped later. */
pid_t clv_helper_stop(struct clv_helper *helper);

/* Reaps the killed child if it has ended by now. */
bool clv_helper_has_ended(pid_t pid);

/* The process's stat file behind the name, which may have any characters: its state is
 * the first.  NULL: it is gone. */
const char *clv_helper_read_stat(pid_t pid, char *buffer, size_t room_bytes);
