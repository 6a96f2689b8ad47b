/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of streams for events from outside the process: semaphores of other interfaces,
 * each a number of 64 bits in a file, and events that processes share, each with two such
 * numbers. They are never unmapped. */
#include "outside.h"
#include "capture.h"
#include "functions.h"
#include "launch.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIMELINE_FD 9
#define VALUE_BYTES 8
#define GEQ 0
#define LOOK_US 50
#define SHARED_EVENT 0x65767368

struct semaphore {
	uint32_t magic;
	uint64_t *value;
};

struct shared_event {
	struct {
		_Atomic uint64_t recorded, reached;
	} * at;
	int fd;
};

/* --- Semaphores --- */

int dcu_cuImportExternalSemaphore(
	struct semaphore **ret, const struct semaphore_handle *handle)
{
	struct semaphore *s;
	void *at;

	if (!dcu_current())
		return DCU_INVALID_CONTEXT;
	if (!ret || !handle || handle->type != TIMELINE_FD)
		return DCU_INVALID_VALUE;
	at = mmap(NULL, VALUE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		handle->handle.fd, 0);
	if (at == MAP_FAILED)
		return DCU_INVALID_VALUE;
	s = calloc(1, sizeof(*s));
	s->magic = DCU_IS_SEMAPHORE;
	s->value = at;
	/* From here on the driver owns the descriptor. */
	close(handle->handle.fd);
	*ret = s;
	return 0;
}

int dcu_cuDestroyExternalSemaphore(struct semaphore *s)
{
	if (!s || s->magic != DCU_IS_SEMAPHORE)
		return DCU_INVALID_HANDLE;
	s->magic = DCU_DEAD;
	return 0;
}

static bool are_semaphores(struct semaphore *const *all, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!all[i] || all[i]->magic != DCU_IS_SEMAPHORE)
			return false;
	return true;
}

static bool is_sound(const struct semaphores_params *p)
{
	return p->semaphores && p->values && are_semaphores(p->semaphores, p->n);
}

int dcu_semaphores_keep(struct semaphores_params *p)
{
	size_t bytes = p->n * sizeof(*p->semaphores);
	size_t value_bytes = p->n * sizeof(*p->values);
	void *semaphores, *values;

	if (!is_sound(p))
		return DCU_INVALID_VALUE;
	semaphores = malloc(bytes + 1);
	values = malloc(value_bytes + 1);
	p->semaphores = memcpy(semaphores, p->semaphores, bytes);
	p->values = memcpy(values, p->values, value_bytes);
	return 0;
}

int dcu_semaphores_wait(const struct semaphores_params *p, struct stream *stream)
{
	int r = 0;

	for (unsigned i = 0; i < p->n && !r; i++)
		r = dcu_wait_at(stream, p->semaphores[i]->value, p->values[i].value, GEQ,
			VALUE_BYTES);
	return r;
}

int dcu_cuWaitExternalSemaphoresAsync(struct semaphore *const *all,
	const struct semaphore_value *values, unsigned n, struct stream *handle)
{
	struct semaphores_params p = {all, values, n};
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!is_sound(&p))
		return DCU_INVALID_VALUE;
	return s->capture ? dcu_capture_semaphores(s, &p) : dcu_semaphores_wait(&p, s);
}

/* --- Events of several processes --- */

struct parcel {
	uint32_t magic;
	int process, fd;
};

static int map_event(int fd, struct shared_event **ret)
{
	struct shared_event *shared = calloc(1, sizeof(*shared));

	shared->fd = fd;
	shared->at = mmap(
		NULL, sizeof(*shared->at), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared->at == MAP_FAILED) {
		free(shared);
		return DCU_INVALID_VALUE;
	}
	*ret = shared;
	return 0;
}

int dcu_shared_event_new(struct shared_event **ret)
{
	int fd = memfd_create("event", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 2 * VALUE_BYTES) < 0)
		return DCU_OUT_OF_MEMORY;
	return map_event(fd, ret);
}

int dcu_shared_event_record(struct shared_event *shared, struct stream *stream)
{
	uint64_t value = atomic_fetch_add(&shared->at->recorded, 1) + 1;

	return dcu_write_at(stream, (void *)&shared->at->reached, value, VALUE_BYTES);
}

int dcu_shared_event_wait(struct shared_event *shared, struct stream *stream)
{
	return dcu_wait_at(stream, (void *)&shared->at->reached,
		atomic_load(&shared->at->recorded), GEQ, VALUE_BYTES);
}

bool dcu_shared_event_is_done(const struct shared_event *shared)
{
	return atomic_load(&shared->at->reached) >= atomic_load(&shared->at->recorded);
}

void dcu_shared_event_await(const struct shared_event *shared)
{
	uint64_t value = atomic_load(&shared->at->recorded);

	while (atomic_load(&shared->at->reached) < value)
		usleep(LOOK_US);
}

int dcu_cuIpcGetEventHandle(struct shared_bytes *ret, struct event *e)
{
	struct parcel parcel = {.magic = SHARED_EVENT, .process = getpid()};

	if (!ret || !e || e->magic != DCU_IS_EVENT || !e->shared)
		return DCU_INVALID_HANDLE;
	parcel.fd = e->shared->fd;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &parcel, sizeof(parcel));
	return 0;
}

int dcu_cuIpcOpenEventHandle(struct event **ret, struct shared_bytes bytes)
{
	struct shared_event *shared;
	struct parcel parcel;
	char path[64];
	int fd, r;

	memcpy(&parcel, &bytes, sizeof(parcel));
	if (!ret || parcel.magic != SHARED_EVENT)
		return DCU_INVALID_VALUE;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", parcel.process, parcel.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return DCU_INVALID_VALUE;
	r = map_event(fd, &shared);
	if (!r)
		r = dcu_cuEventCreate(
			ret, DCU_EVENT_INTERPROCESS | DCU_EVENT_DISABLE_TIMING);
	if (!r)
		(*ret)->shared = shared;
	return r;
}
