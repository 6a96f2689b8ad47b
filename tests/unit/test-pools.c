/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations from pools of CUDA at the same moment: none is refused within the quota,
 * and none takes what is not charged, also where a call of the driver blocks. */
#include "gate/cuda/memory/pool.h"

#include "base/clock.h"
#include "gate/cuda/context/abi.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/charge.h"
#include "gate/cuda/memory/freed.h"
#include "gate/memory/ledger.h"
#include "gate/memory/pieces.h"
#include "gate/process/state.h"
#include "gate/process/view.h"
#include "gate/streams/capture.h"
#include "gate/streams/graph.h"
#include "gate/streams/legacy.h"
#include "gate/streams/submit.h"
#include "gate/window/costs.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define PIECE (32 * MIB)
#define QUOTA (1024 * MIB)
#define N_ROUNDS 300

/* --- The lease --- */

static _Atomic uint64_t charged_bytes;

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

struct clv_charge clv_charge_try(uint64_t n_bytes)
{
	uint64_t before = charged_bytes;
	bool fits;

	do {
		fits = n_bytes <= QUOTA && before <= QUOTA - n_bytes;
	} while (fits && !atomic_compare_exchange_weak(
				 &charged_bytes, &before, before + n_bytes));
	return (struct clv_charge){.n_bytes = n_bytes, .charged = fits, .refused = !fits};
}

struct clv_charge clv_charge_take(uint64_t n_bytes)
{
	return clv_charge_try(n_bytes);
}

/* --- What has no part in this --- */

static struct clv_view view;
static struct clv_wiped_on_fork wiped = {.view = &view};
struct clv_wiped_on_fork *clv_wiped_on_fork = &wiped;
struct clv_gate_state clv_gate;
_Thread_local struct clv_gate_thread clv_gate_thread;
struct clv_cost clv_costs[1 << CLV_COST_BITS];
_Atomic uint32_t clv_n_captures;

bool clv_cuda_freed_settle(void)
{
	return false;
}

bool clv_pieces_settle(void)
{
	return false;
}

void clv_legacy_before_wait(const void *stream, bool is_per_thread)
{
}

bool clv_cuda_is_readable(const void *description, size_t n_bytes)
{
	return true;
}

void clv_graph_made(void *made, void *graph)
{
}

void clv_graph_gone(const void *graph)
{
}

void clv_graph_wait_first(const void *graph, void *stream, bool is_per_thread)
{
}

/* --- The clock --- */

static _Atomic bool is_patient;
static _Atomic int n_waits; /* looks at the clock: only who waits for a call has any */

/* No time passes for a thread that is patient, and 10 s with each look otherwise. */
static int read_clock(clockid_t clock, struct timespec *ret)
{
	static _Atomic int now_s;

	assert_int_equal(clock, CLOCK_MONOTONIC);
	n_waits++;
	*ret = (struct timespec){0};
	if (is_patient)
		sched_yield();
	else
		ret->tv_sec = atomic_fetch_add(&now_s, 10);
	return 0;
}

/* --- The driver --- */

struct fake {
	uint64_t used, reserved;
};

static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake of_device, of_graphs;
static int n_asked;     /* calls that only ask */
static int n_uncharged; /* allocations for which a pool grew without a charge */

/* A thread that stays in a call, before or after the memory is taken. */
static _Thread_local bool blocks_before, blocks_after;
static sem_t is_in_call, may_return;

static void stay(bool *blocks)
{
	if (*blocks) {
		*blocks = false;
		sem_post(&is_in_call);
		sem_wait(&may_return);
	}
}

static void take(struct fake *fake, uint64_t n_bytes)
{
	stay(&blocks_before);
	pthread_mutex_lock(&driver_lock);
	fake->used += n_bytes;
	while (fake->reserved < fake->used)
		fake->reserved += PIECE;
	n_uncharged += of_device.reserved + of_graphs.reserved > charged_bytes;
	pthread_mutex_unlock(&driver_lock);
	sched_yield();
	stay(&blocks_after);
}

/* What is free goes back to the device, as when a stream was waited for. */
static void give_back(struct fake *fake, uint64_t n_bytes)
{
	pthread_mutex_lock(&driver_lock);
	fake->used -= n_bytes;
	fake->reserved = (fake->used + PIECE - 1) / PIECE * PIECE;
	pthread_mutex_unlock(&driver_lock);
}

static int get_device(void *ret)
{
	n_asked++;
	*(int *)ret = 0;
	return 0;
}

static int get_pool(void *ret, int device)
{
	n_asked++;
	*(struct fake **)ret = &of_device;
	return 0;
}

static int get(const struct fake *fake, bool is_used, void *ret)
{
	pthread_mutex_lock(&driver_lock);
	n_asked++;
	*(uint64_t *)ret = is_used ? fake->used : fake->reserved;
	pthread_mutex_unlock(&driver_lock);
	return 0;
}

static int get_attribute(void *pool, int attribute, void *ret)
{
	return get(pool, attribute == CLV_CUDA_POOL_USED_BYTES, ret);
}

static int get_of_graphs(int device, int attribute, void *ret)
{
	return get(&of_graphs, attribute == CLV_CUDA_GRAPH_USED_BYTES, ret);
}

static int allocate(void *ret, size_t n_bytes, void *stream)
{
	take(&of_device, n_bytes);
	*(uint64_t *)ret = 1;
	return 0;
}

/* Only for what is refused after all. */
static int free_async(uint64_t address, void *stream)
{
	return 0;
}

static int trim(void *pool, size_t keep)
{
	return 0;
}

/* A graph has one node, which allocates the bytes that its handle says. */
static int get_nodes(void *graph, void *nodes, void *n)
{
	*(size_t *)n = 1;
	if (nodes)
		*(void **)nodes = graph;
	return 0;
}

static int get_type(void *node, void *ret)
{
	*(int *)ret = CLV_CUDA_NODE_ALLOCATE;
	return 0;
}

static int get_allocation(void *node, void *ret)
{
	((struct clv_cuda_node_allocation *)ret)->n_bytes = (size_t)node;
	return 0;
}

static int instantiate(void *ret, void *graph, uint64_t flags)
{
	*(void **)ret = graph;
	return 0;
}

static int destroy_graph(void *graph)
{
	return 0;
}

static int launch(void *graph, void *stream)
{
	take(&of_graphs, (uint64_t)graph);
	return 0;
}

struct clv_cuda_functions clv_cuda = {.cuCtxGetDevice = get_device,
	.cuDeviceGetMemPool = get_pool,
	.cuMemPoolGetAttribute = get_attribute,
	.cuMemPoolTrimTo = trim,
	.cuDeviceGetGraphMemAttribute = get_of_graphs,
	.cuMemAllocAsync = allocate,
	.cuMemFreeAsync = free_async,
	.cuGraphGetNodes = get_nodes,
	.cuGraphNodeGetType = get_type,
	.cuGraphMemAllocNodeGetParams = get_allocation};

/* --- The program --- */

static int allocate_async(uint64_t n_bytes)
{
	return clv_own_cuMemAllocAsync(allocate, false, &(uint64_t){0}, n_bytes, NULL);
}

static void (*while_waiting_for_turn)(void);

int clv_stream_launch_begin(struct clv_stream_submission *submission, void *stream,
	bool is_per_thread, uint64_t kind, bool is_blocking)
{
	if (while_waiting_for_turn)
		while_waiting_for_turn();
	return 0;
}

int clv_stream_submission_end(struct clv_stream_submission *submission, int result)
{
	return result;
}

static int launch_graph(uint64_t n_bytes)
{
	void *graph = NULL;
	int r = clv_own_cuGraphInstantiateWithFlags(
		instantiate, &graph, (void *)n_bytes, 0);

	assert_int_equal(r, 0);
	r = clv_own_cuGraphLaunch(launch, false, graph, NULL);
	clv_own_cuGraphExecDestroy(destroy_graph, graph);
	return r;
}

/* A thread that makes one call. */
struct other {
	pthread_t thread;
	int (*call)(uint64_t n_bytes);
	uint64_t n_bytes;
	bool blocks_before, blocks_after;
	int result;
	_Atomic bool has_ended;
};

static void *run_other(void *other_thread)
{
	struct other *other = other_thread;

	blocks_before = other->blocks_before;
	blocks_after = other->blocks_after;
	other->result = other->call(other->n_bytes);
	other->has_ended = true;
	return NULL;
}

static void start(struct other *other)
{
	assert_int_equal(pthread_create(&other->thread, NULL, run_other, other), 0);
	if (other->blocks_before || other->blocks_after)
		sem_wait(&is_in_call);
}

static int await_end(struct other *other)
{
	pthread_join(other->thread, NULL);
	return other->result;
}

static int let_return(struct other *other)
{
	sem_post(&may_return);
	return await_end(other);
}

/* Until it has ended, or waits for another thread's call. */
static void await_progress(const struct other *other)
{
	while (!other->has_ended && n_waits == 0)
		sched_yield();
}

/* The gate keeps its records of pools from one test to the next. */
static int begin(void **state)
{
	is_patient = true;
	atomic_store(&clv_clock_read, read_clock);
	of_device = of_graphs = (struct fake){0};
	while_waiting_for_turn = NULL;
	clv_cuda_pools_settle();
	assert_int_equal(charged_bytes, 0);
	n_uncharged = 0;
	n_waits = 0;
	sem_init(&is_in_call, 0, 0);
	sem_init(&may_return, 0, 0);
	return 0;
}

static void is_settled(void)
{
	assert_int_equal(charged_bytes, of_device.reserved + of_graphs.reserved);
	assert_int_equal(n_uncharged, 0);
}

/* Free room of n_bytes in the pool of graphs. */
static void make_room(uint64_t n_bytes)
{
	assert_int_equal(launch_graph(n_bytes), 0);
	of_graphs.used = 0;
	is_settled();
}

/* --- Tests --- */

static int again_and_again(uint64_t n_bytes)
{
	int n_refused = 0;

	for (int i = 0; i < N_ROUNDS; i++)
		if (allocate_async(n_bytes) == 0)
			give_back(&of_device, n_bytes);
		else
			n_refused++;
	return n_refused;
}

static void fit_together(int n, uint64_t n_bytes)
{
	struct other others[4];
	int n_refused = 0;

	for (int i = 0; i < n; i++) {
		others[i] = (struct other){.call = again_and_again, .n_bytes = n_bytes};
		start(&others[i]);
	}
	for (int i = 0; i < n; i++)
		n_refused += await_end(&others[i]);
	assert_int_equal(n_refused, 0);
	clv_cuda_pools_settle();
	is_settled();
}

static void threads_within_the_quota(void **state)
{
	fit_together(2, 448 * MIB);
	fit_together(4, 224 * MIB);
}

/* Two launches at once, and room for one. */
static void room_is_for_one_launch(void **state)
{
	struct other first = {.call = launch_graph, .n_bytes = PIECE},
		     second = {.call = launch_graph, .n_bytes = PIECE};

	first.blocks_before = true;
	make_room(PIECE);
	start(&first);
	start(&second);
	await_progress(&second);
	assert_int_equal(let_return(&first) + await_end(&second), 0);
	is_settled();
}

static int settle(uint64_t n_bytes)
{
	clv_cuda_pools_settle();
	return 0;
}

/* As by cuMemGetInfo, when the driver has the memory and the call has not returned. */
static void growth_is_counted_once(void **state)
{
	struct other first = {.call = allocate_async, .n_bytes = PIECE},
		     second = {.call = settle};
	uint64_t meanwhile_bytes;

	first.blocks_after = true;
	start(&first);
	start(&second);
	await_progress(&second);
	meanwhile_bytes = charged_bytes;
	assert_int_equal(let_return(&first) + await_end(&second), 0);
	assert_int_equal(meanwhile_bytes, PIECE);
	is_settled();
}

static void allocate_in_another_thread(void)
{
	struct other other = {.call = allocate_async, .n_bytes = PIECE};

	start(&other);
	assert_int_equal(await_end(&other), 0);
}

static void no_thread_waits_for_a_turn_of_another(void **state)
{
	is_patient = false;
	while_waiting_for_turn = allocate_in_another_thread;
	assert_int_equal(launch_graph(PIECE), 0);
	assert_int_equal(n_waits, 0);
	is_settled();
}

/* Others wait for it once, and do not take the room that it may take. */
static void a_call_that_blocks(void **state)
{
	struct other blocked = {.call = launch_graph, .n_bytes = PIECE};
	int n_first;

	blocked.blocks_before = true;
	is_patient = false;
	make_room(PIECE);
	start(&blocked);
	assert_int_equal(allocate_async(PIECE), 0);
	n_first = n_waits;
	assert_true(n_first > 0);
	assert_int_equal(launch_graph(PIECE), 0);
	assert_int_equal(n_waits, n_first);
	assert_int_equal(let_return(&blocked), 0);
	is_settled();
	assert_int_equal(allocate_async(PIECE), 0);
	assert_int_equal(n_waits, n_first);
}

/* It grows again by the room in which it began. */
static void a_pool_shrinks_under_a_call_that_blocks(void **state)
{
	struct other blocked = {.call = launch_graph, .n_bytes = 4 * PIECE};

	blocked.blocks_before = true;
	is_patient = false;
	make_room(10 * PIECE);
	of_graphs.used = 5 * PIECE;
	start(&blocked);
	give_back(&of_graphs, 0);
	clv_cuda_pools_settle();
	assert_int_equal(charged_bytes, (5 + 4) * PIECE);
	assert_int_equal(launch_graph(2 * PIECE), 0);
	assert_int_equal(charged_bytes, (5 + 2 + 4) * PIECE);
	assert_int_equal(let_return(&blocked), 0);
	is_settled();
}

static void over_the_quota_is_refused(void **state)
{
	is_patient = false;
	assert_int_equal(allocate_async(QUOTA), 0);
	assert_int_equal(launch_graph(PIECE), CLV_CUDA_OUT_OF_MEMORY);
	assert_int_equal(of_graphs.reserved, 0);
	/* No thread waits for the refused launch. */
	give_back(&of_device, QUOTA);
	allocate_in_another_thread();
	assert_int_equal(n_waits, 0);
	is_settled();
}

/* The current device, and what the pool has reserved after the call; what it uses only
 * when the room that is known has been used. */
static void the_driver_is_asked_little(void **state)
{
	assert_int_equal(allocate_async(PIECE), 0);
	of_device.used = 0;
	n_asked = 0;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(allocate_async(PIECE / 32), 0);
		of_device.used -= PIECE / 32;
	}
	assert_in_range(n_asked, 200, 205);
	assert_int_equal(of_device.reserved, PIECE);
	is_settled();
}

/* More is in use than when it was asked: other room is charged. */
static void known_room_is_used_once(void **state)
{
	assert_int_equal(allocate_async(2 * PIECE), 0);
	of_device.used = PIECE;
	assert_int_equal(allocate_async(PIECE), 0);
	assert_int_equal(allocate_async(PIECE), 0);
	assert_int_equal(charged_bytes, 3 * PIECE);
	is_settled();
}

static int set_pool(int device, void *pool)
{
	return 0;
}

static struct fake another;

static int get_another_pool(void *ret, int device)
{
	*(struct fake **)ret = &another;
	return 0;
}

static int get_of_any(void *pool, int attribute, void *ret)
{
	return get(pool, attribute == CLV_CUDA_POOL_USED_BYTES, ret);
}

static int allocate_of_another(void *ret, size_t n_bytes, void *stream)
{
	take(&another, n_bytes);
	*(uint64_t *)ret = 1;
	return 0;
}

/* The pool of a device is another one once the program says so. */
static void the_pool_of_a_device_changes(void **state)
{
	assert_int_equal(allocate_async(PIECE), 0);
	clv_cuda.cuDeviceGetMemPool = get_another_pool;
	clv_cuda.cuMemAllocAsync = allocate_of_another;
	clv_cuda.cuMemPoolGetAttribute = get_of_any;
	assert_int_equal(clv_own_cuDeviceSetMemPool(set_pool, 0, &another), 0);
	assert_int_equal(allocate_async(3 * PIECE), 0);
	assert_int_equal(charged_bytes, 4 * PIECE);
	another = (struct fake){0};
	clv_cuda.cuDeviceGetMemPool = get_pool;
	clv_cuda.cuMemAllocAsync = allocate;
	assert_int_equal(clv_own_cuDeviceSetMemPool(set_pool, 0, &of_device), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(threads_within_the_quota, begin),
		cmocka_unit_test_setup(room_is_for_one_launch, begin),
		cmocka_unit_test_setup(growth_is_counted_once, begin),
		cmocka_unit_test_setup(no_thread_waits_for_a_turn_of_another, begin),
		cmocka_unit_test_setup(a_call_that_blocks, begin),
		cmocka_unit_test_setup(a_pool_shrinks_under_a_call_that_blocks, begin),
		cmocka_unit_test_setup(over_the_quota_is_refused, begin),
		cmocka_unit_test_setup(the_driver_is_asked_little, begin),
		cmocka_unit_test_setup(known_room_is_used_once, begin),
		cmocka_unit_test_setup(the_pool_of_a_device_changes, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
