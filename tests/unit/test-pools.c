/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools of CUDA: what an allocation asks the driver, and that the pools are
 * charged with what they have reserved. */
#include "gate/cuda/memory/pool.h"

#include "gate/cuda/context/abi.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/charge.h"
#include "gate/cuda/memory/device-pool.h"
#include "gate/cuda/memory/freed.h"
#include "gate/cuda/memory/recall.h"
#include "gate/cuda/memory/spill.h"
#include "gate/memory/ledger.h"
#include "gate/memory/pieces.h"
#include "gate/streams/capture.h"
#include "gate/streams/context.h"
#include "gate/streams/legacy.h"
#include "gate/streams/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define PIECE (32 * MIB)
#define QUOTA (1024 * MIB)
#define N_POOLS 3
#define N_BLOCKS 64

/* --- The lease --- */

static uint64_t charged_bytes;

uint64_t clv_ledger_quota_bytes(void)
{
	return QUOTA;
}

uint64_t clv_ledger_used_bytes(void)
{
	return charged_bytes;
}

uint32_t clv_ledger_epoch(void)
{
	return 1;
}

void clv_ledger_correct(uint64_t charged, uint64_t real)
{
	charged_bytes += real - charged;
}

void clv_ledger_release(uint64_t n_bytes, uint32_t epoch)
{
	charged_bytes -= n_bytes;
}

struct clv_charge clv_charge_take(uint64_t n_bytes)
{
	bool fits = n_bytes <= QUOTA && charged_bytes <= QUOTA - n_bytes;

	charged_bytes += fits ? n_bytes : 0;
	return (struct clv_charge){.n_bytes = n_bytes, .charged = fits, .refused = !fits};
}

/* Memory of a pool has no charge of its own. */
struct clv_charge clv_charge_withdraw(const void *address)
{
	return (struct clv_charge){0};
}

/* --- What has no part in this --- */

_Atomic uint32_t clv_n_captures;

void clv_charge_undo(const struct clv_charge *charge)
{
}

void clv_charge_pointer(const struct clv_charge *charge, const void *address)
{
}

void clv_release_pointer(const void *address)
{
}

bool clv_cuda_freed_settle(void)
{
	return false;
}

bool clv_cuda_freed_any(void)
{
	return false;
}

bool clv_cuda_freed_await(struct clv_charge *charge, void *stream)
{
	return false;
}

bool clv_pieces_settle(void)
{
	return false;
}

bool clv_stream_is_capturing(void *stream, bool is_per_thread)
{
	return false;
}

void clv_stream_count_others(void *stream, bool is_per_thread, uint32_t n)
{
}

void clv_legacy_before_wait(const void *stream, bool is_per_thread)
{
}

void *clv_context(void)
{
	return NULL;
}

int clv_cuda_spill(void *dptr, size_t n_bytes, uint32_t flags)
{
	return CLV_CUDA_OUT_OF_MEMORY;
}

bool clv_cuda_charge_or_spill(uint64_t n_bytes, struct clv_charge *ret)
{
	return false;
}

void clv_cuda_recall_start(void)
{
}

void clv_cuda_spilled_leave(uint64_t address)
{
}

void clv_cuda_spilled_left(uint64_t address, bool is_gone)
{
}

/* --- The driver --- */

static struct fake {
	uint64_t used, reserved;
	bool is_in_pieces; /* its free room is of no use */
	bool is_silent;    /* it does not tell what is in use */
} fakes[N_POOLS];
static struct fake *current;
static struct block {
	struct fake *pool;
	uint64_t n_bytes;
} blocks[N_BLOCKS];
static int n_calls;

static int get_device(void *ret)
{
	n_calls++;
	*(int *)ret = 0;
	return 0;
}

static int get_pool(void *ret, int device)
{
	n_calls++;
	*(struct fake **)ret = current;
	return 0;
}

static int get_default_pool(void *ret, int device)
{
	n_calls++;
	*(struct fake **)ret = &fakes[0];
	return 0;
}

static int set_pool(int device, void *pool)
{
	n_calls++;
	current = pool;
	return 0;
}

static int set_pool_by_place(void *location, int type, void *pool)
{
	return set_pool(0, pool);
}

static int get_attribute(void *pool, int attribute, void *ret)
{
	const struct fake *fake = pool;

	n_calls++;
	*(uint64_t *)ret = 0;
	if (attribute == CLV_CUDA_POOL_USED_BYTES && fake->is_silent)
		return CLV_CUDA_NOT_SUPPORTED;
	*(uint64_t *)ret =
		attribute == CLV_CUDA_POOL_USED_BYTES ? fake->used : fake->reserved;
	return 0;
}

static int set_attribute(void *pool, int attribute, void *value)
{
	n_calls++;
	return 0;
}

static int trim(void *pool, size_t keep)
{
	struct fake *fake = pool;

	n_calls++;
	fake->reserved = (fake->used + PIECE - 1) / PIECE * PIECE;
	return 0;
}

static int destroy(void *pool)
{
	n_calls++;
	return 0;
}

/* What is in use is charged before it is allocated. */
static int take(struct fake *fake, void *ret, uint64_t n_bytes)
{
	uint64_t i = 0;

	n_calls++;
	while (blocks[i].n_bytes)
		i++;
	assert_true(i < N_BLOCKS);
	blocks[i] = (struct block){fake, n_bytes};
	fake->used += n_bytes;
	if (fake->is_in_pieces)
		fake->reserved += PIECE;
	else
		assert_true(charged_bytes >= fake->used);
	if (fake->reserved < fake->used)
		fake->reserved = (fake->used + PIECE - 1) / PIECE * PIECE;
	*(uint64_t *)ret = i + 1;
	return 0;
}

static int alloc(void *ret, size_t n_bytes, void *stream)
{
	return take(current, ret, n_bytes);
}

static int alloc_from_pool(void *ret, size_t n_bytes, void *pool, void *stream)
{
	return take(pool, ret, n_bytes);
}

static int free_async(uint64_t address, void *stream)
{
	struct block *block = &blocks[address - 1];

	n_calls++;
	block->pool->used -= block->n_bytes;
	*block = (struct block){0};
	return 0;
}

/* The pool of graphs, which grows for another thread's launch after the first question.
 */
static struct fake of_graphs;
static int n_graph_questions;

static int get_graph_attribute(int device, int attribute, void *ret)
{
	*(uint64_t *)ret = attribute == CLV_CUDA_GRAPH_USED_BYTES ? of_graphs.used
								  : of_graphs.reserved;
	if (n_graph_questions++ == 0) {
		of_graphs.used += PIECE;
		of_graphs.reserved += PIECE;
	}
	return 0;
}

struct clv_cuda_functions clv_cuda = {.cuDeviceGetGraphMemAttribute = get_graph_attribute,
	.cuCtxGetDevice = get_device,
	.cuDeviceGetMemPool = get_pool,
	.cuDeviceGetDefaultMemPool = get_default_pool,
	.cuDeviceSetMemPool = set_pool,
	.cuMemPoolGetAttribute = get_attribute,
	.cuMemPoolSetAttribute = set_attribute,
	.cuMemPoolTrimTo = trim,
	.cuMemPoolDestroy = destroy,
	.cuMemAllocAsync = alloc,
	.cuMemAllocFromPoolAsync = alloc_from_pool,
	.cuMemFreeAsync = free_async};

/* --- The program --- */

static uint64_t allocate(uint64_t n_bytes)
{
	uint64_t address = 0;

	assert_int_equal(
		clv_own_cuMemAllocAsync(alloc, false, &address, n_bytes, NULL), 0);
	return address;
}

static void give_back(uint64_t address)
{
	assert_int_equal(clv_own_cuMemFreeAsync(free_async, false, address, NULL), 0);
}

/* Its calls of the driver. */
static int calls_to_allocate(uint64_t n_bytes, uint64_t *ret)
{
	int before = n_calls;

	*ret = allocate(n_bytes);
	return n_calls - before;
}

static int calls_to_free(uint64_t address)
{
	int before = n_calls;

	give_back(address);
	return n_calls - before;
}

static uint64_t reserved_bytes(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < N_POOLS; i++)
		sum += fakes[i].reserved;
	return sum;
}

/* The gate keeps its records of pools from one test to the next. */
static int begin(void **state)
{
	memset(blocks, 0, sizeof(blocks));
	memset(fakes, 0, sizeof(fakes));
	current = &fakes[0];
	clv_cuda_device_pools_forget();
	clv_cuda_pools_settle();
	assert_int_equal(charged_bytes, 0);
	return 0;
}

/* --- Tests --- */

/* The call itself, the device, and what is reserved afterwards. */
static void a_warm_allocation_asks_little(void **state)
{
	uint64_t address = allocate(MIB);

	give_back(address);
	for (int i = 0; i < 10; i++) {
		assert_true(calls_to_allocate(MIB, &address) <= 3);
		assert_int_equal(calls_to_free(address), 1);
	}
}

/* What is in use is asked again when the pool might be full: each time, where an
 * allocation takes most of the pool. */
static void what_is_in_use_is_asked_when_needed(void **state)
{
	uint64_t address = allocate(MIB);
	int before;

	give_back(address);
	before = n_calls;
	for (int i = 0; i < 320; i++)
		give_back(allocate(MIB));
	assert_true(n_calls - before <= 320 * 4 + 320 / 32 + 1);
	give_back(allocate(20 * MIB));
	for (int i = 0; i < 10; i++) {
		assert_true(calls_to_allocate(20 * MIB, &address) <= 4);
		give_back(address);
	}
	assert_int_equal(fakes[0].reserved, PIECE);
}

static uint64_t random_state = 88172645463325252;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 33) % limit;
}

/* The fake driver compares the charge with what is in use. */
static void charges_are_exact(void **state)
{
	uint64_t held[32] = {0};

	for (int i = 0; i < 20000; i++) {
		uint64_t *one = &held[random_below(32)];

		if (*one) {
			give_back(*one);
			*one = 0;
		} else {
			*one = allocate(1 + random_below(8 * MIB));
			assert_int_equal(charged_bytes, reserved_bytes());
		}
		/* A stream was waited for: the driver gets back what is free. */
		if (random_below(50) == 0)
			trim(&fakes[0], 0);
		assert_true(charged_bytes >= reserved_bytes());
	}
}

static void over_the_quota_is_refused(void **state)
{
	uint64_t first = allocate(1000 * MIB), second = 0;

	assert_int_equal(clv_own_cuMemAllocAsync(alloc, false, &second, 100 * MIB, NULL),
		CLV_CUDA_OUT_OF_MEMORY);
	assert_int_equal(fakes[0].used, 1000 * MIB);
	give_back(first);
	allocate(1000 * MIB);
	assert_int_equal(charged_bytes, reserved_bytes());
}

/* Such growth is charged afterwards, and the next one ahead again. */
static void a_pool_in_pieces(void **state)
{
	allocate(MIB);
	fakes[0].is_in_pieces = true;
	allocate(MIB);
	assert_int_equal(fakes[0].reserved, 2 * PIECE);
	assert_int_equal(charged_bytes, reserved_bytes());
	fakes[0].is_in_pieces = false;
	/* As another thread's allocation that was under way when the gate asked. */
	fakes[0].used += 40 * MIB;
	allocate(30 * MIB);
	assert_int_equal(charged_bytes, reserved_bytes());
}

static void a_driver_that_does_not_tell(void **state)
{
	uint64_t address;

	allocate(MIB);
	fakes[0].is_silent = true;
	assert_int_equal(clv_own_cuMemAllocAsync(alloc, false, &address, PIECE, NULL),
		CLV_CUDA_NOT_SUPPORTED);
	/* Nor is it taken for an empty pool then. */
	assert_int_equal(clv_own_cuMemAllocAsync(alloc, false, &address, MIB, NULL),
		CLV_CUDA_NOT_SUPPORTED);
	fakes[0].is_silent = false;
	allocate(PIECE);
	assert_int_equal(charged_bytes, reserved_bytes());
}

/* An allocation is charged to the pool that it is from. */
static void is_charged_to(int i)
{
	uint64_t before = fakes[i].reserved;

	allocate(2 * PIECE);
	assert_true(fakes[i].reserved > before);
	assert_int_equal(charged_bytes, reserved_bytes());
}

static void the_device_gets_another_pool(void **state)
{
	is_charged_to(0);
	assert_int_equal(clv_own_cuDeviceSetMemPool(set_pool, 0, &fakes[1]), 0);
	is_charged_to(1);
	assert_int_equal(
		clv_own_cuMemSetMemPool(set_pool_by_place, NULL, 1, &fakes[2]), 0);
	is_charged_to(2);
	/* Nothing is left in it. */
	for (uint64_t i = 0; i < N_BLOCKS; i++)
		if (blocks[i].pool == &fakes[2])
			give_back(i + 1);
	trim(&fakes[2], 0);
	assert_int_equal(clv_own_cuMemPoolDestroy(destroy, &fakes[2]), 0);
	is_charged_to(0);
	/* As by the end of a context. */
	current = &fakes[1];
	clv_cuda_device_pools_forget();
	is_charged_to(1);
}

/* A pool of which the gate knows nothing is destroyed in the driver alone. */
static int destroy_current(void *pool)
{
	current = &fakes[0];
	return 0;
}

static void a_pool_without_a_record_is_destroyed(void **state)
{
	is_charged_to(0);
	assert_int_equal(clv_own_cuDeviceSetMemPool(set_pool, 0, &fakes[2]), 0);
	assert_int_equal(clv_cuda_device_pool(0, &(void *){NULL}), 0);
	assert_int_equal(clv_own_cuMemPoolDestroy(destroy_current, &fakes[2]), 0);
	is_charged_to(0);
}

static void growth_for_another_thread_is_no_room(void **state)
{
	struct clv_cuda_growth growth;

	n_graph_questions = 0;
	assert_int_equal(clv_cuda_growth_begin(&growth, NULL, 0, PIECE), 0);
	assert_int_equal(growth.ahead_bytes, PIECE);
}

/* Launches in two threads: the driver knows of neither yet. */
static void room_is_for_one(void **state)
{
	struct clv_cuda_growth first, second;

	of_graphs = (struct fake){.reserved = PIECE};
	n_graph_questions = 1;
	assert_int_equal(clv_cuda_growth_begin(&first, NULL, 1, PIECE), 0);
	assert_int_equal(first.ahead_bytes, 0);
	assert_int_equal(clv_cuda_growth_begin(&second, NULL, 1, PIECE), 0);
	assert_int_equal(second.ahead_bytes, PIECE);
	of_graphs = (struct fake){.used = 2 * PIECE, .reserved = 2 * PIECE};
	clv_cuda_growth_end(&first, true);
	clv_cuda_growth_end(&second, true);
	assert_int_equal(charged_bytes, 2 * PIECE);
	/* Both are freed: there is room for one again. */
	of_graphs = (struct fake){.reserved = PIECE};
	assert_int_equal(clv_cuda_growth_begin(&first, NULL, 1, PIECE), 0);
	assert_int_equal(first.ahead_bytes, 0);
	clv_cuda_growth_end(&first, false);
	assert_int_equal(charged_bytes, PIECE);
	of_graphs = (struct fake){0};
	clv_cuda_pools_settle();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_warm_allocation_asks_little, begin),
		cmocka_unit_test_setup(what_is_in_use_is_asked_when_needed, begin),
		cmocka_unit_test_setup(charges_are_exact, begin),
		cmocka_unit_test_setup(over_the_quota_is_refused, begin),
		cmocka_unit_test_setup(a_pool_in_pieces, begin),
		cmocka_unit_test_setup(a_driver_that_does_not_tell, begin),
		cmocka_unit_test_setup(the_device_gets_another_pool, begin),
		cmocka_unit_test_setup(a_pool_without_a_record_is_destroyed, begin),
		cmocka_unit_test_setup(room_is_for_one, begin),
		cmocka_unit_test_setup(growth_for_another_thread_is_no_room, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
