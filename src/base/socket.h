/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct clv_error;

/* Unix sockets (mostly SOCK_SEQPACKET) and file descriptor passing.  All descriptors are
 * close-on-exec. */
#define CLV_SOCKET_FDS_MAX 4

/* Connects to path and returns the descriptor or a negative errno.  If timeout_ms is not
 * 0, sends and receives fail with -EAGAIN after that time. */
int clv_socket_connect(const char *path, int type, int timeout_ms, struct clv_error *err);

/* Binds to path, listens, and returns a non-blocking descriptor or a negative errno.  A
 * stale socket file without a listener is replaced; -EADDRINUSE if there is a
 * listener. */
int clv_socket_listen(
	const char *path, int type, unsigned int mode, struct clv_error *err);

/* Sends one message with up to CLV_SOCKET_FDS_MAX file descriptors.  Returns 0 or
 * -errno. */
int clv_socket_send(
	int fd, const void *data, size_t n_bytes, const int *fds, size_t n_fds);

/* Receives one message.  Returns its length, 0 at end of file, or -errno.  *n_fds holds
 * the room in fds on entry and the number received on return; the caller owns them. */
ssize_t clv_socket_receive(
	int fd, void *data, size_t room_bytes, int *fds, size_t *n_fds);

/* As clv_socket_receive(), and the message stays.  The files are copies of its own. */
ssize_t clv_socket_peek(int fd, void *data, size_t room_bytes, int *fds, size_t *n_fds);
