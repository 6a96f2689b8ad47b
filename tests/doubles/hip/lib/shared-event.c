/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Events of several processes: a record writes the next number when the stream reaches
 * it, and a wait is one for the number that was recorded last. */

#define LOOK_US 1000
#define IS_PARCEL 0x45504948

struct shared_event {
	int fd;
	struct {
		_Atomic uint64_t recorded, reached;
	} * at;
};

struct parcel {
	uint32_t magic;
	int process, fd;
};

static struct shared_event *map_event(int fd)
{
	struct shared_event *shared = calloc(1, sizeof(*shared));

	shared->fd = fd;
	shared->at = mmap(
		NULL, sizeof(*shared->at), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared->at != MAP_FAILED)
		return shared;
	free(shared);
	return NULL;
}

struct shared_event *dhi_shared_event_new(void)
{
	int fd = memfd_create("event", MFD_CLOEXEC);

	return fd < 0 || ftruncate(fd, 16) < 0 ? NULL : map_event(fd);
}

static int submit(struct stream *s, enum op_kind kind, _Atomic uint64_t *at, uint64_t n)
{
	struct op op = {.kind = kind, .value = {(void *)at, n, UINT64_MAX, 8, 0}};

	return dhi_submit(s, &op);
}

int dhi_shared_event_record(struct shared_event *shared, struct stream *s)
{
	uint64_t n = atomic_fetch_add(&shared->at->recorded, 1) + 1;

	return submit(s, OP_WRITE, &shared->at->reached, n);
}

int dhi_shared_event_wait(struct shared_event *shared, struct stream *s)
{
	return submit(
		s, OP_AWAIT, &shared->at->reached, atomic_load(&shared->at->recorded));
}

bool dhi_shared_event_is_done(const struct shared_event *shared)
{
	return atomic_load(&shared->at->reached) >= atomic_load(&shared->at->recorded);
}

void dhi_shared_event_await(const struct shared_event *shared)
{
	uint64_t n = atomic_load(&shared->at->recorded);

	while (atomic_load(&shared->at->reached) < n)
		usleep(LOOK_US);
}

int dhi_hipIpcGetEventHandle(struct hip_ipc *ret, struct event *event)
{
	struct parcel parcel = {.magic = IS_PARCEL, .process = getpid()};

	if (!ret || !dhi_is_event(event))
		return HIP_INVALID_HANDLE;
	if (!event->shared)
		return HIP_INVALID_VALUE;
	parcel.fd = event->shared->fd;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &parcel, sizeof(parcel));
	return 0;
}

int dhi_hipIpcOpenEventHandle(struct event **ret, struct hip_ipc handle)
{
	struct shared_event *shared;
	struct parcel parcel;
	char path[64];
	int fd, r;

	memcpy(&parcel, &handle, sizeof(parcel));
	if (!ret || parcel.magic != IS_PARCEL)
		return HIP_INVALID_VALUE;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", parcel.process, parcel.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	shared = fd < 0 ? NULL : map_event(fd);
	if (!shared)
		return HIP_INVALID_VALUE;
	r = dhi_hipEventCreateWithFlags(ret, EVENT_NO_TIMING);
	if (!r)
		(*ret)->shared = shared;
	return r;
}
