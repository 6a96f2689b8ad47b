/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/aside.h"

#include "agent/os/helper.h"
#include "agent/os/stat.h"
#include "base/cleanup.h"
#include "base/socket.h"
#include "base/watched.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NVIDIA_MAJOR 195u /* Documentation/admin-guide/devices.txt */
/* The child answers before anything of it may hang. */
#define ANSWER_MS 10000

/* The kernel discards the files of a message that is received without room for any, and
 * says so. */
static bool carries_files(int socket_fd)
{
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	return recvmsg(socket_fd, &message, MSG_PEEK | MSG_DONTWAIT) > 0 &&
	       (message.msg_flags & MSG_CTRUNC);
}

/* Only memfds have seals. */
static bool is_sound(int fd)
{
	struct statx file;

	return fcntl(fd, F_GET_SEALS) >= 0 || clv_watched_is_list(fd) ||
	       (clv_stat_known(fd, "", &file) && S_ISCHR(file.stx_mode) &&
		       file.stx_rdev_major == NVIDIA_MAJOR);
}

_Noreturn static void pass_on(int from_fd, int to_fd, void *data, size_t room_bytes)
{
	int kept[] = {from_fd, to_fd}, files[CLV_SOCKET_FDS_MAX];
	size_t n_files = CLV_SOCKET_FDS_MAX;
	ssize_t got;

	clv_helper_close_all_but(kept, CLV_ARRAY_SIZE(kept));
	got = clv_socket_receive(from_fd, data, room_bytes, files, &n_files);
	if (got > 0)
		clv_socket_send(to_fd, data, (size_t)got, files,
			n_files == 1 && is_sound(files[0]));
	_exit(0);
}

static pid_t *find_place(struct clv_aside *aside)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(aside->hung); i++) {
		pid_t *place = &aside->hung[i];

		if (*place == 0 || waitpid(*place, NULL, WNOHANG) != 0) {
			*place = 0;
			return place;
		}
	}
	return NULL;
}

static ssize_t receive_in_child(pid_t *place, int socket_fd, void *data,
	size_t room_bytes, int *ret_fd, size_t *ret_n_fds)
{
	struct pollfd end = {.events = POLLIN};
	int ends[2];
	ssize_t got;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) <
		0)
		return -errno;
	*place = fork();
	if (*place == 0)
		pass_on(socket_fd, ends[1], data, room_bytes);
	close(ends[1]);
	end.fd = ends[0];
	poll(&end, 1, ANSWER_MS);
	*ret_n_fds = 1;
	got = clv_socket_receive(ends[0], data, room_bytes, ret_fd, ret_n_fds);
	close(ends[0]);
	if (*place < 0) {
		*place = 0;
		return -ENOMEM;
	}
	/* It closes what it has received: one sound file, or what may hang it. */
	kill(*place, SIGKILL);
	if (waitpid(*place, NULL, *ret_n_fds > 0 ? 0 : WNOHANG) != 0)
		*place = 0;
	if (got > 0)
		return got;
	/* It was too long. */
	memset(data, 0, room_bytes);
	return -EMSGSIZE;
}

ssize_t clv_aside_receive(struct clv_aside *aside, int socket_fd, void *data,
	size_t room_bytes, int *ret_fd, size_t *ret_n_fds)
{
	pid_t *place = carries_files(socket_fd) ? find_place(aside) : NULL;

	*ret_n_fds = 0;
	return place ? receive_in_child(
			       place, socket_fd, data, room_bytes, ret_fd, ret_n_fds)
		     : clv_socket_receive(socket_fd, data, room_bytes, NULL, ret_n_fds);
}
