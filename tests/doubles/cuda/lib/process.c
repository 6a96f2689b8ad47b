/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"
#include "visible.h"
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ARENA_BYTES (1ULL << 42) /* addresses, not memory */

struct dcu_area *dcu_area;
struct device dcu_devices[DCU_GPUS_MAX];
int dcu_n_devices;
uint32_t dcu_version = 12090, dcu_number, dcu_host_mb_s, dcu_device_mb_s;
_Atomic bool dcu_initialized, dcu_forked;

static int link_fd = -1, bell_fd = -1, arena_fd = -1;
static pthread_mutex_t link_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t dcu_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void dcu_ring(void)
{
	eventfd_write(bell_fd, 1);
}

void dcu_sleep_on(_Atomic uint32_t *word, uint32_t value)
{
	struct timespec half = {.tv_nsec = 500000000};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &half, NULL, 0);
}

bool dcu_machine_lives(void)
{
	struct pollfd link = {.fd = link_fd, .events = POLLRDHUP};

	return poll(&link, 1, 0) == 0 || !(link.revents & (POLLHUP | POLLRDHUP));
}

int dcu_arena(void)
{
	return arena_fd;
}

static int exchange(
	struct dcu_message *message, const struct dcu_files *out, struct dcu_files *in)
{
	int r = DCU_UNKNOWN;

	pthread_mutex_lock(&link_lock);
	if (dcu_link_send(link_fd, message, out) &&
		dcu_link_receive(link_fd, message, in))
		r = message->result;
	pthread_mutex_unlock(&link_lock);
	return r;
}

int dcu_request(struct dcu_message *message)
{
	struct dcu_files in = {0};

	return exchange(message, NULL, &in);
}

int dcu_request_file(struct dcu_message *message, int send, int *ret_fd)
{
	struct dcu_files out = {{send}, send >= 0}, in = {0};
	int r = exchange(message, &out, &in);

	*ret_fd = in.n ? in.fds[0] : -1;
	return r;
}

/* --- The beginning --- */

/* A child has its parent's memory and none of its CUDA.  The link must not stay open in
 * it: the parent's end would not be seen. */
static void forget_in_child(void)
{
	if (!dcu_initialized)
		return;
	dcu_forked = true;
	close(link_fd);
	close(bell_fd);
	close(arena_fd);
	link_fd = bell_fd = arena_fd = -1;
}

static int say_hello(void)
{
	struct dcu_message message = {.request = DCU_HELLO};
	struct dcu_files out = {{arena_fd}, 1}, in = {0};
	int r = exchange(&message, &out, &in);

	if (r || in.n != 2)
		return DCU_NO_DEVICE;
	dcu_area = mmap(NULL, sizeof(*dcu_area), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, in.fds[0], 0);
	close(in.fds[0]);
	bell_fd = in.fds[1];
	if (dcu_area == MAP_FAILED)
		return DCU_NO_DEVICE;
	dcu_version = message.hello.driver_version;
	dcu_number = message.hello.number;
	dcu_host_mb_s = message.hello.host_mb_s;
	dcu_device_mb_s = message.hello.device_mb_s;
	return 0;
}

static int find_devices(void)
{
	struct dcu_gpu_info all[DCU_GPUS_MAX];
	uint32_t chosen[DCU_GPUS_MAX], n = 0;

	while (n < DCU_GPUS_MAX) {
		struct dcu_message message = {.request = DCU_GPU, .a = n};

		if (dcu_request(&message))
			break;
		all[n++] = message.gpu;
	}
	dcu_n_devices = dcu_visible(all, n, chosen);
	for (int i = 0; i < dcu_n_devices; i++) {
		dcu_devices[i].gpu = chosen[i];
		dcu_devices[i].info = all[chosen[i]];
		pthread_mutex_init(&dcu_devices[i].lock, NULL);
	}
	return dcu_n_devices ? 0 : DCU_NO_DEVICE;
}

static int begin(void)
{
	const char *folder = getenv("CLV_CUDA_DOUBLE");
	int r;

	link_fd = folder ? dcu_link_open(folder) : -1;
	if (link_fd < 0)
		return DCU_NO_DEVICE;
	arena_fd = memfd_create("cuda-double-memory", MFD_CLOEXEC);
	if (arena_fd < 0 || ftruncate(arena_fd, ARENA_BYTES) < 0)
		return DCU_OUT_OF_MEMORY;
	r = say_hello();
	if (!r)
		r = find_devices();
	if (!r)
		pthread_atfork(NULL, NULL, forget_in_child);
	return r;
}

int dcu_process_init(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int r = 0;

	if (dcu_forked)
		return DCU_NOT_INITIALIZED;
	pthread_mutex_lock(&lock);
	if (!dcu_initialized) {
		r = begin();
		dcu_initialized = !r;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

struct device *dcu_device_at(int ordinal)
{
	return ordinal >= 0 && ordinal < dcu_n_devices ? &dcu_devices[ordinal] : NULL;
}
