/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct clv_error;

/* Unix sockets of type SOCK_SEQPACKET, and file descriptors passed over them.  All fds
 * are close-on-exec. */
#define CLV_SOCKET_FDS_MAX 4

/* Connects to path; with timeout_ms sends and receives end with -EAGAIN after it. */
int clv_socket_connect(const char *path, int type, int timeout_ms, struct clv_error *err);

/* Binds and listens; an old socket file that nobody listens on is replaced, one with a
 * listener is -EADDRINUSE. */
int clv_socket_listen(
	const char *path, int type, unsigned int mode, struct clv_error *err);

/* One message with up to CLV_SOCKET_FDS_MAX file descriptors.  Returns 0 or -errno. */
int clv_socket_send(
	int fd, const void *data, size_t n_bytes, const int *fds, size_t n_fds);

/* Receives one message.  Returns its length, 0 at end of file, or -errno.  *n_fds holds
 * the room in fds on entry and the number received on return; the caller owns them. */
ssize_t clv_socket_receive(
	int fd, void *data, size_t room_bytes, int *fds, size_t *n_fds);
