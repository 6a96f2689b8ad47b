/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/os/helper.h"

#include <stddef.h>

/* Receives messages that carry files of a tenant.  Closing a descriptor calls its file
 * system, and a file system of the tenant (FUSE) may never answer.  So a child process
 * examines the files, and passes on one that is harmless.  Loop thread only. */

/* The child process of one lease, which the lease has from its first file that is not
 * harmless: closing such a file may block the child.  All other leases share one child.
 * All zero at the start. */
struct clv_fd_filter {
	struct clv_helper child;
	bool is_closing; /* the child reports when it has closed the file */
};

/* Receives a message as clv_socket_receive() does, with one file at most: a report page,
 * a list (agent/os/exported.h) or a device file of an NVIDIA GPU.  Until the file of an
 * earlier message of the lease is closed, messages are received without files.  tenant:
 * of the lease. */
ssize_t clv_fd_filter_receive(struct clv_fd_filter *filter, const char *tenant,
	int socket_fd, void *data, size_t room_bytes, int *ret_fd, size_t *ret_n_fds);

/* Closes a socket.  If it has unread data, a child closes it: a process of the tenant may
 * have sent a TCP socket with SO_LINGER, whose close() waits for its peer. */
void clv_fd_filter_close(const char *tenant, int socket_fd);

/* Call when the lease ends. */
void clv_fd_filter_end(struct clv_fd_filter *filter, const char *tenant);
