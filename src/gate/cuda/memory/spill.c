/* SPDX-License-Identifier: Apache-2.0 */
/* The records of spilled memory, and the hints of the program for it (spill.h). */
#include "gate/cuda/memory/spill.h"

#include "gate/cuda/context/library.h"
#include "gate/cuda/context/subcontext.h"
#include "gate/cuda/memory/charge.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/streams/context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct record {
	struct record *next;
	struct clv_cuda_spilled memory;
	bool is_back;   /* it is brought back, and counts in the quota */
	bool is_ending; /* it is about to be freed, unless the driver refuses */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record *records;
/* Held for reading between the test of a hint's range and the driver's call, so that
 * nothing is spilled there meanwhile.  Taken before `lock`. */
static pthread_rwlock_t hint_lock = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic uint32_t n_spilled;
/* The context of the memory that is being brought back; NULL: none is.  Written with both
 * locks held. */
static void *recalled_context;
static pthread_mutex_t recall_lock = PTHREAD_MUTEX_INITIALIZER;

bool clv_cuda_spilled_any(void)
{
	return atomic_load_explicit(&n_spilled, memory_order_relaxed) > 0;
}

/* Without concurrent access all managed memory moves to the device with each kernel. */
static bool can_reach_host(int device)
{
	int is_concurrent = 0;

	return clv_cuda.cuMemAllocManaged && clv_cuda.cuMemAdvise &&
	       clv_cuda.cuDeviceGetAttribute(&is_concurrent,
		       CLV_CUDA_ATTRIBUTE_CONCURRENT_MANAGED,
		       device) == CLV_CUDA_SUCCESS &&
	       is_concurrent;
}

static bool get_device(int *ret)
{
	return clv_cuda.cuCtxGetDevice(ret) == CLV_CUDA_SUCCESS;
}

bool clv_cuda_charge_or_spill(uint64_t n_bytes, struct clv_charge *ret)
{
	int device;

	if (clv_cuda_try_charge(n_bytes, ret) ||
		(get_device(&device) && can_reach_host(device) && clv_charge_spill(ret)))
		return true;
	clv_ledger_count_refusal();
	return false;
}

static int stay_at_host(const struct clv_cuda_spilled *memory)
{
	int r = clv_cuda.cuMemAdvise(memory->address, memory->n_bytes,
		CLV_CUDA_ADVISE_PREFERRED_LOCATION, CLV_CUDA_DEVICE_HOST);

	return r == CLV_CUDA_SUCCESS
		       ? clv_cuda.cuMemAdvise(memory->address, memory->n_bytes,
				 CLV_CUDA_ADVISE_ACCESSED_BY, memory->device)
		       : r;
}

static int allocate(struct record *record, uint32_t flags, uint64_t *ret_address)
{
	int r = clv_cuda.cuMemAllocManaged(
		&record->memory.address, record->memory.n_bytes, flags);

	if (r != CLV_CUDA_SUCCESS)
		return r;
	if (stay_at_host(&record->memory) != CLV_CUDA_SUCCESS) {
		clv_cuda.cuMemFree_v2(record->memory.address);
		return CLV_CUDA_OUT_OF_MEMORY;
	}
	*ret_address = record->memory.address;
	pthread_mutex_lock(&lock);
	record->next = records;
	records = record;
	atomic_fetch_add(&n_spilled, 1);
	pthread_mutex_unlock(&lock);
	return r;
}

int clv_cuda_spill(void *dptr, size_t n_bytes, uint32_t flags)
{
	struct record *record;
	int r;

	if (!dptr || n_bytes == 0)
		return CLV_CUDA_INVALID_VALUE;
	record = malloc(sizeof(*record));
	if (!record)
		return CLV_CUDA_OUT_OF_MEMORY;
	*record = (struct record){
		.memory = {.n_bytes = n_bytes,
			.context = clv_cuda_memory_context(clv_context())}};
	get_device(&record->memory.device);
	pthread_rwlock_wrlock(&hint_lock);
	r = allocate(record, flags, dptr);
	pthread_rwlock_unlock(&hint_lock);
	if (r != CLV_CUDA_SUCCESS)
		free(record);
	return r;
}

/* Hints. */

void clv_cuda_hint_begin(void)
{
	pthread_rwlock_rdlock(&hint_lock);
}

void clv_cuda_hint_end(void)
{
	pthread_rwlock_unlock(&hint_lock);
}

static bool touches(const struct record *record, uint64_t address, size_t n_bytes)
{
	return !record->is_back &&
	       address < record->memory.address + record->memory.n_bytes &&
	       address + n_bytes > record->memory.address;
}

bool clv_cuda_is_spilled(uint64_t address, size_t n_bytes)
{
	const struct record *record;

	if (!clv_cuda_spilled_any())
		return false;
	pthread_mutex_lock(&lock);
	record = records;
	while (record && !touches(record, address, n_bytes))
		record = record->next;
	pthread_mutex_unlock(&lock);
	return record;
}

int clv_own_cuMemAdvise(
	clv_fn_cuMemAdvise *real, uint64_t dev_ptr, size_t count, int advice, int device)
{
	return CLV_UNLESS(clv_cuda_is_spilled(dev_ptr, count),
		real(dev_ptr, count, advice, device));
}

int clv_own_cuMemAdvise_v2(clv_fn_cuMemAdvise_v2 *real, uint64_t dev_ptr, size_t count,
	int advice, struct clv_cuda_location location)
{
	return CLV_UNLESS(clv_cuda_is_spilled(dev_ptr, count),
		real(dev_ptr, count, advice, location));
}

/* Ends. */

static bool is_at(const struct record *record, uint64_t address)
{
	return record->memory.address == address;
}

static bool is_ending_at(const struct record *record, uint64_t address)
{
	return record->is_ending && is_at(record, address);
}

static bool is_of_context(const struct record *record, uint64_t context)
{
	return (uint64_t)(uintptr_t)record->memory.context == context;
}

static void mark_if(bool (*matches)(const struct record *record, uint64_t what),
	uint64_t what, bool is_ending)
{
	for (struct record *record = records; record; record = record->next) {
		if (matches(record, what))
			record->is_ending = is_ending;
	}
}

static void forget_if(
	bool (*matches)(const struct record *record, uint64_t what), uint64_t what)
{
	for (struct record **link = &records; *link;) {
		struct record *record = *link;

		if (!matches(record, what)) {
			link = &record->next;
			continue;
		}
		*link = record->next;
		free(record);
		atomic_fetch_sub(&n_spilled, 1);
	}
}

void clv_cuda_spilled_leave(uint64_t address)
{
	if (!clv_cuda_spilled_any())
		return;
	pthread_mutex_lock(&lock);
	mark_if(is_at, address, true);
	pthread_mutex_unlock(&lock);
}

/* The address may have been allocated again by now, so only records of ended memory are
 * removed. */
void clv_cuda_spilled_left(uint64_t address, bool is_gone)
{
	if (!clv_cuda_spilled_any())
		return;
	pthread_mutex_lock(&lock);
	if (is_gone)
		forget_if(is_ending_at, address);
	else
		mark_if(is_at, address, false);
	pthread_mutex_unlock(&lock);
}

void clv_cuda_spilled_leave_context(const void *context)
{
	bool is_recalled;

	if (!clv_cuda_spilled_any())
		return;
	pthread_mutex_lock(&lock);
	mark_if(is_of_context, (uint64_t)(uintptr_t)context, true);
	is_recalled = recalled_context == context;
	pthread_mutex_unlock(&lock);
	/* The recall has a stream in this context, so it must end first. */
	if (is_recalled) {
		pthread_mutex_lock(&recall_lock);
		pthread_mutex_unlock(&recall_lock);
	}
}

void clv_cuda_spilled_left_context(const void *context, bool is_gone)
{
	uint64_t what = (uint64_t)(uintptr_t)context;

	if (!clv_cuda_spilled_any())
		return;
	pthread_mutex_lock(&lock);
	if (is_gone)
		forget_if(is_of_context, what);
	else
		mark_if(is_of_context, what, false);
	pthread_mutex_unlock(&lock);
}

void clv_cuda_spilled_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&recall_lock, NULL);
	pthread_rwlock_init(&hint_lock, NULL);
	recalled_context = NULL;
	records = NULL;
	atomic_store(&n_spilled, 0);
}

/* For recall.c. */

static bool take(struct clv_cuda_spilled *ret)
{
	struct record *record;

	pthread_mutex_lock(&lock);
	record = records;
	while (record && (record->is_back || record->is_ending ||
				 !clv_charge_unspill((
					 const void *)(uintptr_t)record->memory.address)))
		record = record->next;
	if (record) {
		record->is_back = true;
		recalled_context = record->memory.context;
		*ret = record->memory;
	}
	pthread_mutex_unlock(&lock);
	return record;
}

static bool is_back_at(const struct record *record, uint64_t address)
{
	return record->is_back && is_at(record, address);
}

bool clv_cuda_spilled_recall(void (*recall)(const struct clv_cuda_spilled *spilled))
{
	struct clv_cuda_spilled spilled;
	bool is_any;

	pthread_mutex_lock(&recall_lock);
	is_any = take(&spilled);
	if (is_any) {
		recall(&spilled);
		pthread_mutex_lock(&lock);
		forget_if(is_back_at, spilled.address);
		recalled_context = NULL;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_unlock(&recall_lock);
	return is_any;
}

int clv_cuda_spilled_call(const struct clv_cuda_spilled *spilled,
	int (*call)(const struct clv_cuda_spilled *spilled, void *userdata),
	void *userdata)
{
	const struct record *record;
	int r = -1;

	pthread_mutex_lock(&lock);
	record = records;
	while (record && !is_back_at(record, spilled->address))
		record = record->next;
	if (record && !record->is_ending)
		r = call(spilled, userdata);
	pthread_mutex_unlock(&lock);
	return r;
}
