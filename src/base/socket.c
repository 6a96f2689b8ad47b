/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets and file descriptor passing.  Gates use this too, so it depends on libc
 * only. */
#include "base/socket.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

union fd_room {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * CLV_SOCKET_FDS_MAX)];
};

static int fill_address(const char *path, struct sockaddr_un *ret, struct clv_error *err)
{
	size_t length = strlen(path);

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (length >= sizeof(ret->sun_path))
		return clv_error_set(err, -ENAMETOOLONG,
			"the socket path %.60s... is over %zu bytes: use a shorter "
			"folder",
			path, sizeof(ret->sun_path) - 1);

	memcpy(ret->sun_path, path, length + 1);
	return 0;
}

int clv_socket_connect(const char *path, int type, int timeout_ms, struct clv_error *err)
{
	struct timeval timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	struct sockaddr_un address;
	_cleanup_close_ int fd = -1;
	int r = fill_address(path, &address, err);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return clv_error_errno(err, errno, "cannot create a socket");
	if (timeout_ms > 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	}
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return clv_error_errno(err, errno, "cannot connect to %s", path);

	return CLV_TAKE_FD(fd);
}

/* A socket file that a process has left behind is removed; one that is served is not. */
static int remove_unserved(const char *path, int type, struct clv_error *err)
{
	int probe = clv_socket_connect(path, type, 100, NULL);

	if (probe >= 0) {
		close(probe);
		return clv_error_set(err, -EADDRINUSE,
			"%s has a listener already: another agent runs there", path);
	}
	if (unlink(path) < 0 && errno != ENOENT)
		return clv_error_errno(err, errno, "cannot replace %s", path);
	return 0;
}

int clv_socket_listen(
	const char *path, int type, unsigned int mode, struct clv_error *err)
{
	struct sockaddr_un name;
	const struct sockaddr *address = (struct sockaddr *)&name;
	_cleanup_close_ int fd = -1;
	int r = fill_address(path, &name, err);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return clv_error_errno(err, errno, "cannot create a socket");
	r = bind(fd, address, sizeof(name));
	/* Most paths are new, and a new lease does not wait for a probe. */
	if (r < 0 && errno == EADDRINUSE) {
		r = remove_unserved(path, type, err);
		if (r < 0)
			return r;
		r = bind(fd, address, sizeof(name));
	}
	if (r < 0)
		return clv_error_errno(err, errno, "cannot bind %s", path);
	if (chmod(path, mode) < 0 || listen(fd, 128) < 0)
		return clv_error_errno(err, errno, "cannot listen on %s", path);

	return CLV_TAKE_FD(fd);
}

int clv_socket_send(
	int fd, const void *data, size_t n_bytes, const int *fds, size_t n_fds)
{
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = n_bytes};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union fd_room room = {0};
	ssize_t sent;

	assert(n_fds <= CLV_SOCKET_FDS_MAX);
	if (n_fds > 0) {
		message.msg_control = room.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		room.header.cmsg_level = SOL_SOCKET;
		room.header.cmsg_type = SCM_RIGHTS;
		room.header.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(&room.header), fds, sizeof(int) * n_fds);
	}
	do
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Closes descriptors beyond room: otherwise a peer could fill the descriptor table of
 * this process. */
static void take_fds(struct cmsghdr *header, int *fds, size_t room, size_t *n_fds)
{
	size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
		if (*n_fds < room)
			fds[(*n_fds)++] = fd;
		else
			close(fd);
	}
}

static ssize_t receive(
	int fd, int flags, void *data, size_t room_bytes, int *fds, size_t *n_fds)
{
	struct iovec part = {.iov_base = data, .iov_len = room_bytes};
	union fd_room room = {0};
	size_t room_fds = n_fds ? *n_fds : 0, got_fds = 0;
	/* Without room the kernel discards files; to close one may take for ever. */
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = room_fds > 0 ? room.bytes : NULL,
		.msg_controllen = room_fds > 0 ? sizeof(room.bytes) : 0,
	};
	ssize_t got;

	if (n_fds)
		*n_fds = 0;
	do
		got = recvmsg(fd, &message, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&message); h;
		h = CMSG_NXTHDR(&message, h)) {
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
			take_fds(h, fds, room_fds, &got_fds);
	}
	if (n_fds)
		*n_fds = got_fds;
	if (message.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;

	return got;
}

ssize_t clv_socket_receive(int fd, void *data, size_t room_bytes, int *fds, size_t *n_fds)
{
	return receive(fd, 0, data, room_bytes, fds, n_fds);
}

ssize_t clv_socket_peek(int fd, void *data, size_t room_bytes, int *fds, size_t *n_fds)
{
	return receive(fd, MSG_PEEK, data, room_bytes, fds, n_fds);
}
