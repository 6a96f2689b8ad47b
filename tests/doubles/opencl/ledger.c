/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger.h"
#include "engine.h"
#include "knobs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The memory of a device and the right to use it. With a device file, processes share
 * both through a mapping of it: robust mutexes, so that kill -9 releases them, and a slot
 * per process, held by a record lock that the kernel releases with the process. */

#define SHARED_MAGIC 0x636c7664U
#define SHARED_SLOTS 256

struct shared {
	uint32_t magic;
	/* A process that wants the device queues at the gate while it waits, so that a
	 * process with a deep queue cannot retake the device each time. */
	pthread_mutex_t gate, device, ledger;
	_Atomic uint64_t slots[SHARED_SLOTS];
};

struct dcl_ledger {
	pthread_mutex_t lock;
	uint64_t live, peak, allocations;
	struct shared *shared;
	int fd, slot;
};

static struct dcl_ledger ledgers[DCL_MAX_DEVICES];

_Noreturn static void die(const char *what, const char *path)
{
	fprintf(stderr, "cleave-double-opencl: %s %s: %s\n", what, path, strerror(errno));
	abort();
}

static void robust_lock(pthread_mutex_t *mutex)
{
	int r = pthread_mutex_lock(mutex);

	if (r == EOWNERDEAD)
		r = pthread_mutex_consistent(mutex);
	if (r != 0)
		abort();
}

static void robust_init(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

static bool slot_lock(int fd, int slot, int command, struct flock *lock)
{
	*lock = (struct flock){
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = slot,
		.l_len = 1,
	};
	return fcntl(fd, command, lock) == 0;
}

static int slot_claim(struct dcl_ledger *ledger)
{
	struct flock lock;

	for (int i = 0; i < SHARED_SLOTS; i++) {
		if (!slot_lock(ledger->fd, i, F_SETLK, &lock))
			continue;
		atomic_store(&ledger->shared->slots[i], 0);
		return i;
	}
	errno = EUSERS;
	return -1;
}

static void share(struct dcl_ledger *ledger, const char *path)
{
	struct stat st;

	ledger->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (ledger->fd < 0)
		die("cannot open the device file", path);
	if (flock(ledger->fd, LOCK_EX) < 0 || fstat(ledger->fd, &st) < 0 ||
		ftruncate(ledger->fd, sizeof(struct shared)) < 0)
		die("cannot prepare the device file", path);
	ledger->shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
		MAP_SHARED, ledger->fd, 0);
	if (ledger->shared == MAP_FAILED)
		die("cannot map the device file", path);
	if (ledger->shared->magic != SHARED_MAGIC) {
		robust_init(&ledger->shared->gate);
		robust_init(&ledger->shared->device);
		robust_init(&ledger->shared->ledger);
		ledger->shared->magic = SHARED_MAGIC;
	}
	ledger->slot = slot_claim(ledger);
	if (ledger->slot < 0)
		die("no free slot in the device file", path);
	flock(ledger->fd, LOCK_UN);
}

struct dcl_ledger *dcl_ledger_open(unsigned device)
{
	struct dcl_ledger *ledger = &ledgers[device];
	char path[4096];

	pthread_mutex_init(&ledger->lock, NULL);
	if (!dcl_knobs.device_file || device >= dcl_knobs.devices)
		return ledger;
	if (device == 0)
		snprintf(path, sizeof(path), "%s", dcl_knobs.device_file);
	else
		snprintf(path, sizeof(path), "%s.%u", dcl_knobs.device_file, device);
	share(ledger, path);
	return ledger;
}

static uint64_t slots_sum(struct dcl_ledger *ledger, bool reap)
{
	uint64_t sum = 0;
	struct flock lock;

	for (int i = 0; i < SHARED_SLOTS; i++) {
		uint64_t bytes = atomic_load(&ledger->shared->slots[i]);

		if (bytes && reap && i != ledger->slot &&
			slot_lock(ledger->fd, i, F_GETLK, &lock) &&
			lock.l_type == F_UNLCK)
			atomic_store(&ledger->shared->slots[i], bytes = 0);
		sum += bytes;
	}
	return sum;
}

static bool charge_shared(struct dcl_ledger *ledger, uint64_t bytes)
{
	uint64_t limit = dcl_knobs.mem_bytes;
	bool fits;

	robust_lock(&ledger->shared->ledger);
	fits = bytes <= limit && (slots_sum(ledger, false) <= limit - bytes ||
					 slots_sum(ledger, true) <= limit - bytes);
	if (fits)
		atomic_fetch_add(&ledger->shared->slots[ledger->slot], bytes);
	pthread_mutex_unlock(&ledger->shared->ledger);
	return fits;
}

bool dcl_ledger_charge(struct dcl_ledger *ledger, uint64_t bytes)
{
	bool fits;

	pthread_mutex_lock(&ledger->lock);
	fits = bytes <= dcl_knobs.mem_bytes &&
	       ledger->live <= dcl_knobs.mem_bytes - bytes &&
	       (!ledger->shared || charge_shared(ledger, bytes));
	if (fits) {
		ledger->live += bytes;
		ledger->allocations++;
		if (ledger->live > ledger->peak)
			ledger->peak = ledger->live;
	}
	pthread_mutex_unlock(&ledger->lock);
	return fits;
}

void dcl_ledger_refund(struct dcl_ledger *ledger, uint64_t bytes)
{
	pthread_mutex_lock(&ledger->lock);
	ledger->live -= bytes;
	if (ledger->shared)
		atomic_fetch_sub(&ledger->shared->slots[ledger->slot], bytes);
	pthread_mutex_unlock(&ledger->lock);
}

void dcl_ledger_read(
	struct dcl_ledger *ledger, uint64_t *live, uint64_t *peak, uint64_t *allocations)
{
	pthread_mutex_lock(&ledger->lock);
	*live += ledger->live;
	*peak += ledger->peak;
	*allocations += ledger->allocations;
	pthread_mutex_unlock(&ledger->lock);
}

void dcl_ledger_device_take(struct dcl_ledger *ledger)
{
	if (!ledger->shared)
		return;
	robust_lock(&ledger->shared->gate);
	robust_lock(&ledger->shared->device);
	pthread_mutex_unlock(&ledger->shared->gate);
}

void dcl_ledger_device_give(struct dcl_ledger *ledger)
{
	if (ledger->shared)
		pthread_mutex_unlock(&ledger->shared->device);
}

static uint32_t engines_of(cl_context context)
{
	uint32_t engines = 0;

	for (cl_uint i = 0; i < context->n_devices; i++)
		engines |= 1U << context->devices[i]->engine->index;
	return engines;
}

static void refund_engines(uint32_t engines, uint64_t bytes)
{
	for (; engines; engines &= engines - 1)
		dcl_ledger_refund(dcl_engines[__builtin_ctz(engines)].ledger, bytes);
}

bool dcl_ledger_charge_context(cl_context context, uint64_t bytes)
{
	uint32_t charged = 0;

	for (uint32_t left = engines_of(context); left; left &= left - 1) {
		unsigned index = (unsigned)__builtin_ctz(left);

		if (!dcl_ledger_charge(dcl_engines[index].ledger, bytes)) {
			refund_engines(charged, bytes);
			return false;
		}
		charged |= 1U << index;
	}
	return true;
}

void dcl_ledger_refund_context(cl_context context, uint64_t bytes)
{
	refund_engines(engines_of(context), bytes);
}
