/* SPDX-License-Identifier: Apache-2.0 */
/* The records of spilled memory, and the hints of the program for it (spill.h). */
#include "gate/cuda/memory/spill.h"

#include "base/clock.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/context/subcontext.h"
#include "gate/cuda/memory/charge.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/streams/context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct record {
	struct record *next;
	struct clv_cuda_spilled memory;
	bool is_back;   /* it is brought back, and counts in the quota */
	bool is_ending; /* it is about to be freed, unless the driver refuses */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record *records;
static _Atomic uint32_t n_spilled;
/* The context of the memory that is being brought back; NULL: none is.  Written with both
 * locks held. */
static void *recalled_context;
static pthread_mutex_t recall_lock = PTHREAD_MUTEX_INITIALIZER;

bool clv_cuda_spilled_any(void)
{
	return atomic_load_explicit(&n_spilled, memory_order_relaxed) > 0;
}

/* A hint and an allocation that spills exclude each other, and neither waits for long: a
 * prefetch into a full stream may return only once the program has allocated something.
 *
 * No hint begins while memory is being spilled, which takes a few calls of the driver.
 * After these calls it is known whether a hint for the range was under way meanwhile;
 * that is not so in a correct program, which has the address from then on only.  A batch
 * may be for any range, so its end is awaited first, for as long as a hint waits; to free
 * the memory afterwards would wait for the device. */
#define WAIT_NS (100 * CLV_NS_PER_MS)
#define LOOK_NS (100 * CLV_NS_PER_US)
#define HINTS_MAX 64

struct clv_cuda_hint {
	uint64_t address;
	size_t n_bytes;
	bool is_used;
	uint64_t ended; /* its number among those that have ended; 0: it is under way */
};

/* Guarded by `lock`. */
static struct clv_cuda_hint hints[HINTS_MAX];
static uint32_t n_spilling;
static uint64_t n_ended;

static bool overlap(uint64_t a, size_t a_bytes, uint64_t b, size_t b_bytes)
{
	return a < b + b_bytes && a + a_bytes > b;
}

/* The functions below are called with the lock held. */

/* Releases the lock meanwhile. */
static void wait_while(bool (*is_so)(void))
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t since_ns = clv_clock_ns();

	while (is_so() && clv_clock_ns() - since_ns < WAIT_NS) {
		pthread_mutex_unlock(&lock);
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&lock);
	}
}

static bool is_after(const struct clv_cuda_hint *hint, uint64_t since)
{
	return hint->is_used && (hint->ended == 0 || hint->ended > since);
}

/* Whether a hint for the range is under way, or has ended since. */
static bool is_hinted(const struct clv_cuda_spilled *memory, uint64_t since)
{
	for (size_t i = 0; i < HINTS_MAX; i++) {
		if (is_after(&hints[i], since) &&
			overlap(hints[i].address, hints[i].n_bytes, memory->address,
				memory->n_bytes))
			return true;
	}
	return false;
}

static bool is_batch_under_way(void)
{
	for (size_t i = 0; i < HINTS_MAX; i++) {
		if (is_after(&hints[i], n_ended) && hints[i].n_bytes == SIZE_MAX)
			return true;
	}
	return false;
}

/* False: a batch is under way.  *ret_since: the number of the last hint that has ended.
 */
static bool begin_spilling(uint64_t *ret_since)
{
	bool may_spill;

	pthread_mutex_lock(&lock);
	n_spilling++;
	wait_while(is_batch_under_way);
	may_spill = !is_batch_under_way();
	*ret_since = n_ended;
	pthread_mutex_unlock(&lock);
	return may_spill;
}

static void end_spilling(void)
{
	pthread_mutex_lock(&lock);
	n_spilling--;
	for (size_t i = 0; i < HINTS_MAX && n_spilling == 0; i++)
		hints[i].is_used = is_after(&hints[i], n_ended);
	pthread_mutex_unlock(&lock);
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

/* False: a hint for the range was under way. */
static bool add_record(struct record *record, uint64_t since)
{
	bool is_added;

	pthread_mutex_lock(&lock);
	is_added = !is_hinted(&record->memory, since);
	if (is_added) {
		record->next = records;
		records = record;
		atomic_fetch_add(&n_spilled, 1);
	}
	pthread_mutex_unlock(&lock);
	return is_added;
}

static int allocate(
	struct record *record, uint32_t flags, uint64_t since, uint64_t *ret_address)
{
	int r = clv_cuda.cuMemAllocManaged(
		&record->memory.address, record->memory.n_bytes, flags);

	if (r != CLV_CUDA_SUCCESS)
		return r;
	if (stay_at_host(&record->memory) != CLV_CUDA_SUCCESS ||
		!add_record(record, since)) {
		clv_cuda.cuMemFree_v2(record->memory.address);
		return CLV_CUDA_OUT_OF_MEMORY;
	}
	*ret_address = record->memory.address;
	return r;
}

int clv_cuda_spill(void *dptr, size_t n_bytes, uint32_t flags)
{
	struct record *record;
	uint64_t since;
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
	r = begin_spilling(&since) ? allocate(record, flags, since, dptr)
				   : CLV_CUDA_OUT_OF_MEMORY;
	end_spilling();
	if (r != CLV_CUDA_SUCCESS)
		free(record);
	return r;
}

/* Hints of the program. */

/* With the lock held. */
static bool find_spilled(uint64_t address, size_t n_bytes)
{
	const struct record *record = records;

	while (record &&
		(record->is_back || !overlap(record->memory.address,
					    record->memory.n_bytes, address, n_bytes)))
		record = record->next;
	return record;
}

bool clv_cuda_is_spilled(uint64_t address, size_t n_bytes)
{
	bool is_it;

	if (!clv_cuda_spilled_any())
		return false;
	pthread_mutex_lock(&lock);
	is_it = find_spilled(address, n_bytes);
	pthread_mutex_unlock(&lock);
	return is_it;
}

static bool is_spilling(void)
{
	return n_spilling > 0;
}

/* NULL: too many are under way.  With the lock held. */
static struct clv_cuda_hint *find_free_hint(void)
{
	for (size_t i = 0; i < HINTS_MAX; i++) {
		if (!hints[i].is_used)
			return &hints[i];
	}
	return NULL;
}

/* A hint that cannot be tested is not passed on: it only tells the driver what may be
 * faster. */
bool clv_cuda_hint_begin(uint64_t address, size_t n_bytes, struct clv_cuda_hint **ret)
{
	*ret = NULL;
	pthread_mutex_lock(&lock);
	wait_while(is_spilling);
	if (!is_spilling() && !find_spilled(address, n_bytes))
		*ret = find_free_hint();
	if (*ret)
		**ret = (struct clv_cuda_hint){address, n_bytes, true, 0};
	pthread_mutex_unlock(&lock);
	return *ret;
}

void clv_cuda_hint_end(struct clv_cuda_hint *hint)
{
	pthread_mutex_lock(&lock);
	hint->ended = ++n_ended;
	hint->is_used = is_spilling();
	pthread_mutex_unlock(&lock);
}

int clv_own_cuMemAdvise(
	clv_fn_cuMemAdvise *real, uint64_t dev_ptr, size_t count, int advice, int device)
{
	return CLV_UNLESS_SPILLED(dev_ptr, count, real(dev_ptr, count, advice, device));
}

int clv_own_cuMemAdvise_v2(clv_fn_cuMemAdvise_v2 *real, uint64_t dev_ptr, size_t count,
	int advice, struct clv_cuda_location location)
{
	return CLV_UNLESS_SPILLED(dev_ptr, count, real(dev_ptr, count, advice, location));
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
	recalled_context = NULL;
	memset(hints, 0, sizeof(hints));
	n_spilling = 0;
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
