/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to keep the agent busy over the lease's socket as fast as a process can: by
 * attaching again and again, by sending messages with descriptors once attached, and by
 * connecting without sending anything.  They take no work and no memory, and only the
 * processor time that is left. */
#include "way.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N_OPEN = 64, N_FILES = 64, N_TALKERS = 4, REPLY_BYTES = 8192 };

/* The numbers of the attach messages. */
#define MAGIC 0x43564c43u
#define THREADS_MAGIC 0x54564c43u
#define NO_SLOT 0xffffffffu

static const uint32_t hello[8] = {MAGIC, 1, 1, 1, NO_SLOT};

static _Atomic unsigned long n_attached, n_said, n_silent;
static int files[N_FILES];

/* Does not receive the answer's descriptors. */
static bool has_answer(int fd)
{
	struct pollfd some = {.fd = fd, .events = POLLIN};
	int32_t reply[REPLY_BYTES / 4];

	return poll(&some, 1, 2000) == 1 &&
	       recv(fd, reply, sizeof(reply), MSG_DONTWAIT) > 8 && reply[2] == 0;
}

static int attach(void)
{
	int fd = way_connect(0);

	if (fd >= 0 && send(fd, hello, sizeof(hello), MSG_NOSIGNAL) > 0 &&
		has_answer(fd)) {
		atomic_fetch_add(&n_attached, 1);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static void *attach_again_and_again(void *userdata)
{
	int fds[N_OPEN];
	size_t n = 0;

	while (way_goes_on()) {
		fds[n] = attach();
		if (fds[n] >= 0 && ++n == N_OPEN) {
			while (n > 0)
				close(fds[--n]);
		}
	}
	return userdata;
}

static bool say(int fd, const void *data, size_t n_bytes, size_t n_files)
{
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = n_bytes};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(files))];
	} room = {.header = {.cmsg_level = SOL_SOCKET,
			  .cmsg_type = SCM_RIGHTS,
			  .cmsg_len = CMSG_LEN(n_files * sizeof(int))}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (n_files > 0) {
		memcpy(CMSG_DATA(&room.header), files, n_files * sizeof(int));
		message.msg_control = room.bytes;
		message.msg_controllen = CMSG_SPACE(n_files * sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

/* Sends lists of threads of the maximum length, and noise. */
static void *talk(void *userdata)
{
	uint32_t threads[1024] = {THREADS_MAGIC, 1022};
	char noise[3000] = "";
	int fd = -1;

	for (unsigned long i = 0; way_goes_on(); i++) {
		bool is_said = i % 2 ? say(fd, threads, sizeof(threads), 0)
				     : say(fd, noise, sizeof(noise), N_FILES);

		atomic_fetch_add(&n_said, is_said);
		if (is_said || (fd >= 0 && errno == EAGAIN))
			continue;
		close(fd);
		fd = attach();
	}
	return userdata;
}

static void *say_nothing(void *userdata)
{
	int fds[4 * N_OPEN];

	while (way_goes_on()) {
		size_t n = 0;

		while (n < 4 * N_OPEN && (fds[n] = way_connect(SOCK_NONBLOCK)) >= 0)
			n++;
		atomic_fetch_add(&n_silent, n);
		usleep(1000);
		while (n > 0)
			close(fds[--n]);
	}
	return userdata;
}

static int way_socket_flood(char **arguments)
{
	pthread_t threads[N_TALKERS + 2];
	struct way_device d;

	way_open(&d);
	setpriority(PRIO_PROCESS, 0, 19);
	for (size_t i = 0; i < N_FILES; i++)
		files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	way_begin();
	pthread_create(&threads[0], NULL, attach_again_and_again, NULL);
	pthread_create(&threads[1], NULL, say_nothing, NULL);
	for (size_t i = 0; i < N_TALKERS; i++)
		pthread_create(&threads[2 + i], NULL, talk, NULL);
	for (size_t i = 0; i < N_TALKERS + 2; i++)
		pthread_join(threads[i], NULL);
	way_say("attached %lu said %lu silent %lu\n", atomic_load(&n_attached),
		atomic_load(&n_said), atomic_load(&n_silent));
	way_end();
	return 0;
}

const struct way way_floods[] = {
	{"socket-flood", way_socket_flood},
	{NULL, NULL},
};
