/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x646e7632U /* changes with the layout */

struct dnv_shared {
	uint32_t magic;
	pthread_mutex_t lock;
	struct dnv_counters counters;
	_Atomic uint32_t current; /* index of the current copy */
	struct dnv_state states[2];
};

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "cleave-double-nvml: %s: %s\n", what, strerror(errno));
	abort();
}

static void init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void dnv_shared_lock(struct dnv_shared *shared)
{
	int r = pthread_mutex_lock(&shared->lock);

	/* A process that died during a change did not modify the current copy. */
	if (r == EOWNERDEAD)
		r = pthread_mutex_consistent(&shared->lock);
	if (r)
		die("cannot lock the state");
}

void dnv_shared_unlock(struct dnv_shared *shared)
{
	pthread_mutex_unlock(&shared->lock);
}

const struct dnv_state *dnv_shared_state(const struct dnv_shared *shared)
{
	return &shared->states[shared->current];
}

struct dnv_counters *dnv_shared_counters(struct dnv_shared *shared)
{
	return &shared->counters;
}

struct dnv_state *dnv_shared_edit(struct dnv_shared *shared)
{
	struct dnv_state *copy = &shared->states[!shared->current];

	*copy = *dnv_shared_state(shared);
	return copy;
}

void dnv_shared_commit(struct dnv_shared *shared)
{
	shared->current = !shared->current;
}

static void start_gpu(const struct dnv_gpu *gpu, struct dnv_gpu_state *state)
{
	if (strcmp(state->uuid, gpu->uuid) == 0)
		return;
	*state = (struct dnv_gpu_state){
		.mig = gpu->starts_with_mig,
		.mig_pending = gpu->starts_with_mig,
		.minor = gpu->minor,
	};
	memcpy(state->uuid, gpu->uuid, sizeof(state->uuid));
}

static void start_gpus(struct dnv_shared *shared, const struct dnv_node *node)
{
	struct dnv_state *state;

	dnv_shared_lock(shared);
	state = dnv_shared_edit(shared);
	for (uint32_t i = 0; i < node->n_gpus; i++)
		start_gpu(&node->gpus[i], &state->gpus[i]);
	dnv_shared_commit(shared);
	dnv_shared_unlock(shared);
}

/* The process that creates the file holds its lock; the kernel releases it at its
 * death. */
static struct dnv_shared *map(int fd)
{
	struct dnv_shared *shared;

	if (flock(fd, LOCK_EX) < 0 || ftruncate(fd, sizeof(*shared)) < 0)
		die("cannot prepare the state");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		die("cannot map the state");
	if (shared->magic != MAGIC) {
		memset(shared, 0, sizeof(*shared));
		init_lock(&shared->lock);
		shared->magic = MAGIC;
	}
	flock(fd, LOCK_UN);
	return shared;
}

struct dnv_shared *dnv_shared_open(int dirfd, const struct dnv_node *node)
{
	int fd = openat(dirfd, "state", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct dnv_shared *shared;

	if (fd < 0)
		die("cannot open the state");
	/* For processes of other users, regardless of the umask. */
	(void)!fchmod(fd, 0666);
	shared = map(fd);
	close(fd);
	start_gpus(shared, node);
	return shared;
}

void dnv_shared_close(struct dnv_shared *shared)
{
	munmap(shared, sizeof(*shared));
}
