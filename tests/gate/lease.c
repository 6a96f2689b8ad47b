/* SPDX-License-Identifier: Apache-2.0 */
#include "lease.h"

#include "arbiter/attach.h"
#include "arbiter/page.h"
#include "base/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener, last = -1, fds[CLV_ATTACH_FDS];
static struct clv_control_page *control;
static struct clv_report_page *report;

static void *make_page(int *ret_fd, size_t n_bytes)
{
	int fd = memfd_create("lease", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)n_bytes) < 0)
		abort();
	*ret_fd = fd;
	return mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void *answer(void *userdata)
{
	struct clv_attach_reply reply = {
		.magic = CLV_ATTACH_MAGIC,
		.version = CLV_ATTACH_VERSION,
		.platform = "test",
		.ordinal = 1,
	};
	struct clv_attach_hello hello;
	const char *devices = getenv("LEASE_DEVICES");

	if (devices)
		snprintf(reply.devices, sizeof(reply.devices), "%s", devices);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		size_t n = 0;

		if (fd < 0 ||
			clv_socket_receive(fd, &hello, sizeof(hello), NULL, &n) <= 0)
			continue;
		atomic_store(&control->slots_used, reply.slot + 1);
		last = fd;
		clv_socket_send(fd, &reply, sizeof(reply), fds, CLV_ATTACH_FDS);
		reply.slot++;
	}
	return NULL;
}

void lease_open(const char *socket, uint64_t quota_bytes)
{
	pthread_t thread;
	int doorbell[2];

	control = make_page(&fds[CLV_ATTACH_FD_CONTROL], CLV_CONTROL_PAGE_BYTES);
	report = make_page(&fds[CLV_ATTACH_FD_REPORT], CLV_REPORT_PAGE_BYTES);
	if (pipe2(doorbell, O_CLOEXEC | O_NONBLOCK) < 0)
		abort();
	fds[CLV_ATTACH_FD_DOORBELL] = doorbell[1];
	control->version = CLV_PAGE_VERSION;
	control->memory_quota_bytes = quota_bytes;
	control->window_commands = 1024;
	control->window_ns = 1000000000;
	control->phase = CLV_PHASE_WORD(1, CLV_PHASE_OPEN);
	listener = clv_socket_listen(socket, SOCK_SEQPACKET, 0600, NULL);
	/* The socket is non-blocking, for an event loop; this thread blocks. */
	if (listener < 0 || fcntl(listener, F_SETFL, 0) < 0 ||
		pthread_create(&thread, NULL, answer, NULL) != 0)
		abort();
}

uint64_t lease_used_bytes(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CLV_SLOTS; i++)
		sum += atomic_load(&report->slots[i].memory_bytes);
	return sum;
}

ssize_t lease_receive(void *data, size_t room_bytes)
{
	struct pollfd some = {.fd = last, .events = POLLIN};
	size_t n = 0;

	if (poll(&some, 1, 5000) != 1)
		return -ETIMEDOUT;
	return clv_socket_receive(last, data, room_bytes, NULL, &n);
}
