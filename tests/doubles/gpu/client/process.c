/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"
#include "../vendor.h"
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HALF_SECOND 500000000
#define ARENA_BYTES (1ULL << 52) /* addresses, not memory */

struct dgp_area *dgp_area;
struct dgp_hello dgp_hello;
_Atomic bool dgp_connected, dgp_forked;

static int link_fd = -1, bell_fd = -1, arena_fd = -1;
static pthread_mutex_t link_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t dgp_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void dgp_ring(void)
{
	eventfd_write(bell_fd, 1);
}

void dgp_sleep_on(_Atomic uint32_t *word, uint32_t value)
{
	dgp_sleep_for(word, value, HALF_SECOND);
}

void dgp_sleep_for(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec most = {.tv_nsec = (long)(ns < HALF_SECOND ? ns : HALF_SECOND)};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

void dgp_wake_word(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool dgp_machine_lives(void)
{
	struct pollfd link = {.fd = link_fd, .events = POLLRDHUP};

	return poll(&link, 1, 0) == 0 || !(link.revents & (POLLHUP | POLLRDHUP));
}

int dgp_arena(void)
{
	return arena_fd;
}

static int exchange(
	struct dgp_message *message, const struct dgp_files *out, struct dgp_files *in)
{
	int r = DGP_UNKNOWN;

	pthread_mutex_lock(&link_lock);
	if (dgp_link_send(link_fd, message, out) &&
		dgp_link_receive(link_fd, message, in))
		r = message->result;
	pthread_mutex_unlock(&link_lock);
	return r;
}

int dgp_request(struct dgp_message *message)
{
	struct dgp_files in = {0};

	return exchange(message, NULL, &in);
}

int dgp_request_file(struct dgp_message *message, int send, int *ret_fd)
{
	struct dgp_files out = {{send}, send >= 0}, in = {0};
	int r = exchange(message, &out, &in);

	*ret_fd = in.n ? in.fds[0] : -1;
	return r;
}

/* --- The beginning --- */

/* A child must not keep the link open: the machine would not see the parent's end. */
static void forget_in_child(void)
{
	if (!dgp_connected)
		return;
	dgp_forked = true;
	close(link_fd);
	close(bell_fd);
	close(arena_fd);
	link_fd = bell_fd = arena_fd = -1;
}

static int say_hello(void)
{
	struct dgp_message message = {.request = DGP_HELLO};
	struct dgp_files out = {{arena_fd}, 1}, in = {0};
	int r = exchange(&message, &out, &in);

	if (r || in.n != 2)
		return DGP_NO_DEVICE;
	dgp_area = mmap(NULL, sizeof(*dgp_area), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, in.fds[0], 0);
	close(in.fds[0]);
	bell_fd = in.fds[1];
	if (dgp_area == MAP_FAILED)
		return DGP_NO_DEVICE;
	dgp_hello = message.hello;
	return 0;
}

int dgp_connect(void)
{
	const char *folder = getenv(DGP_FOLDER);
	int r;

	link_fd = folder ? dgp_link_open(folder) : -1;
	if (link_fd < 0)
		return DGP_NO_DEVICE;
	arena_fd = memfd_create(DGP_VENDOR "-double-memory", MFD_CLOEXEC);
	if (arena_fd < 0 || ftruncate(arena_fd, ARENA_BYTES) < 0)
		return DGP_OUT_OF_MEMORY;
	r = say_hello();
	if (r)
		return r;
	dgp_connected = true;
	pthread_atfork(NULL, NULL, forget_in_child);
	return 0;
}
