/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Children that do what may hang in a file of a tenant's.  Loop thread only. */

/* The children of one tenant's that hang; 0: none. */
struct clv_aside {
	pid_t hung[4];
};

/* Receives a message as clv_socket_receive() does, and one file at most: a page's, a
 * list's (agent/os/exported.h) or an NVIDIA GPU's.  Before a file of another kind is
 * closed the kernel asks its file system, and a tenant's (FUSE) may never answer.  So a
 * child receives the files, and passes on one of these kinds.  While too many children
 * hang, messages come without files. */
ssize_t clv_aside_receive(struct clv_aside *aside, int socket_fd, void *data,
	size_t room_bytes, int *ret_fd, size_t *ret_n_fds);
