/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/os/helper.h"

#include <stddef.h>

/* Messages that bring files of a tenant's.  Before a descriptor is closed the kernel asks
 * the file system, and a tenant's (FUSE) may never answer.  So a child looks at the
 * files, and passes on one that is harmless.  Loop thread only. */

/* A lease's own child, from its first file that is not harmless on: this may keep the
 * child from closing it, and one child serves all other leases.  All zero at the start.
 */
struct clv_fd_filter {
	struct clv_helper child;
	bool is_closing; /* and says so when it has closed the file */
};

/* Receives a message as clv_socket_receive() does, and one file at most: a page's, a
 * list's (agent/os/exported.h) or an NVIDIA GPU's.  While a file of an earlier message of
 * the lease is not closed, messages come without files.  tenant: of the lease. */
ssize_t clv_fd_filter_receive(struct clv_fd_filter *filter, const char *tenant,
	int socket_fd, void *data, size_t room_bytes, int *ret_fd, size_t *ret_n_fds);

/* Closes a socket on which a process of the tenant's may have sent more, in a child if
 * so: of a socket with SO_LINGER the kernel awaits the end. */
void clv_fd_filter_close(const char *tenant, int socket_fd);

/* The lease ends. */
void clv_fd_filter_end(struct clv_fd_filter *filter, const char *tenant);
