/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <string.h>

/* Tests of ROCr alone: agents, pools, signals, queues with their packets. */

static hsa_agent cpu, gpus[4];
static int n_gpus;
static hsa_pool vram;

static int see_agent(hsa_handle agent, void *user)
{
	uint32_t kind;

	OK(hsa_agent_get_info(agent, HSA_AGENT_DEVICE, &kind));
	if (kind == HSA_DEVICE_CPU)
		cpu = agent;
	else
		gpus[n_gpus++] = agent;
	return 0;
}

static int see_pool(hsa_handle pool, void *user)
{
	uint32_t flags;

	OK(hsa_amd_memory_pool_get_info(pool, HSA_POOL_FLAGS, &flags));
	if (flags & HSA_POOL_COARSE)
		vram = pool;
	return 0;
}

static void begin(void)
{
	n_gpus = 0;
	OK(hsa_init());
	OK(hsa_iterate_agents(see_agent, NULL));
	if (n_gpus)
		OK(hsa_amd_agent_iterate_memory_pools(gpus[0], see_pool, NULL));
}

static void agents(void)
{
	char text[64];
	uint32_t units, bdf;

	begin();
	CHECK(cpu && n_gpus == 2);
	OK(hsa_agent_get_info(gpus[1], HSA_AGENT_NAME, text));
	CHECK(strcmp(text, "gfx942") == 0);
	OK(hsa_agent_get_info(gpus[1], HSA_AMD_PRODUCT, text));
	CHECK(strcmp(text, "AMD Instinct MI300X") == 0);
	OK(hsa_agent_get_info(gpus[1], HSA_AMD_UNITS, &units));
	CHECK(units == 304);
	OK(hsa_agent_get_info(gpus[1], HSA_AMD_BDF, &bdf));
	CHECK(bdf == 0x3a00);
	/* The sysfs double's unique_id of that address. */
	OK(hsa_agent_get_info(gpus[1], HSA_AMD_UUID, text));
	CHECK(strcmp(text, "GPU-9a3b000000003a00") == 0);
	OK(hsa_shut_down());
	IS(HSA_NOT_INITIALIZED, hsa_iterate_agents(see_agent, NULL));
}

static void visible(void)
{
	uint32_t bdf;

	setenv("ROCR_VISIBLE_DEVICES", "GPU-9a3b000000003a00,0,0", 1);
	begin();
	CHECK(n_gpus == 2);
	OK(hsa_agent_get_info(gpus[0], HSA_AMD_BDF, &bdf));
	CHECK(bdf == 0x3a00);
}

static void pools(void)
{
	struct hsa_pointer_info info = {.size = sizeof(info)};
	size_t bytes;
	void *p, *q;

	begin();
	OK(hsa_amd_memory_pool_get_info(vram, HSA_POOL_SIZE, &bytes));
	CHECK(bytes == 64 * GIB - 16 * MIB);
	OK(hsa_amd_memory_pool_allocate(vram, 40 * GIB, 0, &p));
	CHECK(stat_of("gpu 0", "used") == (long long)(40 * GIB));
	IS(HSA_OUT_OF_RESOURCES, hsa_amd_memory_pool_allocate(vram, 40 * GIB, 0, &q));
	OK(hsa_amd_pointer_info((char *)p + 5, &info, NULL, NULL, NULL));
	CHECK(info.type == HSA_POINTER_HSA && info.agent_base == p &&
		info.bytes == 40 * GIB && info.owner == gpus[0]);
	OK(hsa_amd_memory_pool_free(p));
	IS(HSA_INVALID_ALLOCATION, hsa_amd_memory_pool_free(p));
	CHECK(stat_of("gpu 0", "used") == 0);
}

static void signals(void)
{
	hsa_signal s;
	volatile int64_t *at;
	uint64_t start = now_ns();

	begin();
	OK(hsa_signal_create(5, 0, NULL, &s));
	hsa_signal_subtract_relaxed(s, 2);
	CHECK(hsa_signal_load_relaxed(s) == 3);
	CHECK(hsa_signal_cas_acq_rel(s, 3, 9) == 3);
	CHECK(hsa_signal_exchange_relaxed(s, 1) == 9);
	OK(hsa_amd_signal_value_pointer(s, &at));
	CHECK(*at == 1);
	CHECK(hsa_signal_wait_scacquire(s, HSA_LT, 1, 20000000, 0) == 1);
	BETWEEN(20e6, (double)(now_ns() - start), 400e6);
	OK(hsa_signal_destroy(s));
	IS(HSA_INVALID_SIGNAL, hsa_signal_destroy(s));
}

/* --- Queues --- */

static uint64_t object_of(const char *name)
{
	static hsa_handle executable;
	hsa_handle reader, symbol;
	uint64_t object;

	if (!executable) {
		OK(hsa_code_object_reader_create_from_memory(
			test_image, strlen(test_image) + 1, &reader));
		OK(hsa_executable_create_alt(1, 0, NULL, &executable));
		OK(hsa_executable_load_agent_code_object(
			executable, gpus[0], reader, NULL, NULL));
		OK(hsa_executable_freeze(executable, NULL));
	}
	OK(hsa_executable_get_symbol_by_name(executable, name, &gpus[0], &symbol));
	OK(hsa_executable_symbol_get_info(symbol, HSA_SYMBOL_KERNEL_OBJECT, &object));
	return object;
}

static struct hsa_queue *new_queue(void)
{
	struct hsa_queue *queue;

	OK(hsa_queue_create(gpus[0], 256, HSA_QUEUE_MULTI, NULL, NULL, UINT32_MAX,
		UINT32_MAX, &queue));
	return queue;
}

static hsa_signal new_signal(int64_t value)
{
	hsa_signal s;

	OK(hsa_signal_create(value, 0, NULL, &s));
	return s;
}

/* Does not ring the doorbell. */
static uint64_t put(struct hsa_queue *queue, uint64_t object, hsa_signal done)
{
	uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
	union hsa_packet *p =
		(union hsa_packet *)queue->base_address + index % queue->size;

	p->dispatch = (struct hsa_dispatch){.header = HSA_PACKET_INVALID,
		.setup = 1,
		.workgroup = {1, 1, 1},
		.grid = {1, 1, 1},
		.kernel_object = object,
		.completion = done};
	p->header = HSA_PACKET_DISPATCH | HSA_PACKET_BARRIER_BIT;
	return index;
}

static void put_barrier(struct hsa_queue *queue, hsa_signal dep, hsa_signal done)
{
	uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
	union hsa_packet *p =
		(union hsa_packet *)queue->base_address + index % queue->size;

	p->barrier = (struct hsa_barrier){.deps = {dep}, .completion = done};
	p->header = HSA_PACKET_BARRIER_AND | HSA_PACKET_BARRIER_BIT;
	hsa_signal_store_screlease(queue->doorbell, (int64_t)index);
}

static void ring(struct hsa_queue *queue, uint64_t index)
{
	hsa_signal_store_screlease(queue->doorbell, (int64_t)index);
}

static void await(hsa_signal s)
{
	CHECK(hsa_signal_wait_scacquire(s, HSA_LT, 1, UINT64_MAX, 0) == 0);
}

static struct hsa_time time_of(hsa_signal s)
{
	struct hsa_time time;

	OK(hsa_amd_profiling_get_dispatch_time(gpus[0], s, &time));
	return time;
}

static void dispatch(void)
{
	struct hsa_queue *queue;
	hsa_signal first, second;
	struct hsa_time a, b;
	uint64_t object;

	begin();
	queue = new_queue();
	first = new_signal(1);
	second = new_signal(1);
	object = object_of("us20.kd");
	put(queue, object_of("ms100.kd"), first);
	ring(queue, put(queue, object, second));
	await(second);
	a = time_of(first);
	b = time_of(second);
	CHECK(a.end - a.start == 100000000 && b.start == a.end &&
		b.end - b.start == 20000);
	CHECK(hsa_queue_load_read_index_relaxed(queue) == 2);
	OK(hsa_queue_destroy(queue));
}

/* The queue does not read a packet before its doorbell, and stops at a missing one. */
static void doorbell(void)
{
	struct hsa_queue *queue;
	hsa_signal done;
	uint64_t object, index;
	union hsa_packet *ring_of;

	begin();
	queue = new_queue();
	ring_of = queue->base_address;
	object = object_of("us20.kd");
	done = new_signal(2);
	put(queue, object, done);
	index = put(queue, object, done);
	sleep_ms(5);
	CHECK(hsa_signal_load_relaxed(done) == 2);
	ring_of[0].header = HSA_PACKET_INVALID;
	ring(queue, index);
	sleep_ms(5);
	CHECK(hsa_signal_load_relaxed(done) == 2);
	ring_of[0].header = HSA_PACKET_DISPATCH;
	ring(queue, 0);
	await(done);
	/* The queue reads no further than the doorbell's value. */
	done = new_signal(2);
	index = put(queue, object, done);
	put(queue, object, done);
	ring(queue, index);
	sleep_ms(5);
	CHECK(hsa_signal_load_relaxed(done) == 1);
}

/* One queue waits for another's signal, to the nanosecond, and for the program's. */
static void barriers(void)
{
	struct hsa_queue *queue, *other;
	hsa_signal first, second, go, done;

	begin();
	queue = new_queue();
	other = new_queue();
	first = new_signal(1);
	second = new_signal(1);
	go = new_signal(1);
	done = new_signal(1);
	put_barrier(other, first, 0);
	ring(other, put(other, object_of("us20.kd"), second));
	ring(queue, put(queue, object_of("ms1.kd"), first));
	await(second);
	CHECK(time_of(second).start == time_of(first).end);
	put_barrier(queue, go, done);
	sleep_ms(5);
	CHECK(hsa_signal_load_relaxed(done) == 1);
	hsa_signal_store_relaxed(go, 0);
	await(done);
}

static _Atomic int handled;

static bool handle(int64_t value, void *user)
{
	handled = value == 0 ? (int)(intptr_t)user : -1;
	return false;
}

static void handlers(void)
{
	struct hsa_queue *queue;
	hsa_signal done;

	begin();
	queue = new_queue();
	done = new_signal(1);
	OK(hsa_amd_signal_async_handler(done, HSA_LT, 1, handle, (void *)7));
	ring(queue, put(queue, object_of("ms1.kd"), done));
	for (int i = 0; i < 1000 && !handled; i++)
		sleep_ms(1);
	CHECK(handled == 7);
	done = new_signal(1);
	OK(hsa_amd_signal_async_handler(done, HSA_LT, 1, handle, (void *)8));
	hsa_signal_store_relaxed(done, 0);
	for (int i = 0; i < 1000 && handled != 8; i++)
		sleep_ms(1);
	CHECK(handled == 8);
}

static uint64_t length_with(uint32_t bits, const uint32_t *mask, int expected)
{
	struct hsa_queue *queue = new_queue();
	hsa_signal done = new_signal(1);

	if (mask)
		IS(expected, hsa_amd_queue_cu_set_mask(queue, bits, mask));
	ring(queue, put(queue, object_of("ms1.kd"), done));
	await(done);
	OK(hsa_queue_destroy(queue));
	return time_of(done).end - time_of(done).start;
}

/* 104 compute units: a kernel takes longer in proportion to the missing ones. */
static void masks(void)
{
	uint32_t half[4] = {UINT32_MAX, 0xfffff}, got[4];
	struct hsa_queue *queue;

	begin();
	CHECK(length_with(0, NULL, 0) == 1000000);
	CHECK(length_with(128, half, 0) == 2000000);
	queue = new_queue();
	IS(HSA_INVALID_ARGUMENT, hsa_amd_queue_cu_set_mask(queue, 33, half));
	OK(hsa_amd_queue_cu_set_mask(queue, 128, half));
	OK(hsa_amd_queue_cu_get_mask(queue, 128, got));
	CHECK(memcmp(got, half, sizeof(got)) == 0);
}

static void mask_by_environment(void)
{
	uint32_t half[4] = {UINT32_MAX, 0xfffff};

	setenv("HSA_CU_MASK", "1:0-3;0:0-25", 1);
	begin();
	CHECK(length_with(0, NULL, 0) == 4000000);
	CHECK(length_with(128, half, HSA_CU_MASK_REDUCED) == 4000000);
}

static void copies(void)
{
	char from[4096], to[4096] = "", *p;
	hsa_signal first = 0, second = 0;
	void *vp;

	begin();
	memset(from, 'x', sizeof(from));
	OK(hsa_amd_memory_pool_allocate(vram, sizeof(from), 0, &vp));
	p = vp;
	first = new_signal(1);
	second = new_signal(1);
	OK(hsa_amd_memory_async_copy(to, cpu, p, gpus[0], sizeof(to), 1, &first, second));
	sleep_ms(5);
	CHECK(hsa_signal_load_relaxed(second) == 1);
	OK(hsa_amd_memory_async_copy(
		p, gpus[0], from, cpu, sizeof(from), 0, NULL, first));
	await(second);
	CHECK(memcmp(from, to, sizeof(to)) == 0);
	OK(hsa_amd_memory_fill(p, 0x01020304, 8));
	OK(hsa_memory_copy(to, p, 64));
	CHECK(((uint32_t *)(void *)to)[7] == 0x01020304 && to[32] == 'x');
}

static _Atomic int status_seen;

static void see_error(int status, struct hsa_queue *queue, void *user)
{
	status_seen = status;
}

static void bad_packet(void)
{
	struct hsa_queue *queue;

	begin();
	OK(hsa_queue_create(gpus[0], 64, HSA_QUEUE_MULTI, see_error, NULL, UINT32_MAX,
		UINT32_MAX, &queue));
	ring(queue, put(queue, 0x1234, 0));
	for (int i = 0; i < 1000 && !status_seen; i++)
		sleep_ms(1);
	CHECK(status_seen == HSA_INVALID_CODE);
}

/* More packets than the machine's slot holds; the indices stay correct. */
static void many(void)
{
	struct hsa_queue *queue;
	hsa_signal done;
	uint64_t object, index = 0;

	begin();
	queue = new_queue();
	done = new_signal(1);
	object = object_of("us20.kd");
	for (int i = 0; i < 3000; i++) {
		while (hsa_queue_load_write_index_relaxed(queue) -
				hsa_queue_load_read_index_relaxed(queue) >=
			queue->size)
			sleep_ms(1);
		index = put(queue, object, i == 2999 ? done : 0);
		ring(queue, index);
	}
	await(done);
	CHECK(hsa_queue_load_read_index_relaxed(queue) == 3000);
	CHECK(stat_of("process", "launches") == 3000);
	CHECK(stat_of("process", "run_ns") == 3000 * 20000);
}

const struct case_of_test hsa_cases[] = {
	{"agents", agents, NULL, "gpu MI210\ngpu MI300X bdf=0000:3a:00.0\n"},
	{"visible", visible, NULL, "gpu MI210\ngpu MI300X bdf=0000:3a:00.0\n"},
	{"pools", pools, NULL, NULL},
	{"signals", signals, NULL, NULL},
	{"dispatch", dispatch, NULL, NULL},
	{"doorbell", doorbell, NULL, NULL},
	{"barriers", barriers, NULL, NULL},
	{"handlers", handlers, NULL, NULL},
	{"masks", masks, NULL, NULL},
	{"mask-by-environment", mask_by_environment, NULL, NULL},
	{"copies", copies, NULL, NULL},
	{"bad-packet", bad_packet, NULL, NULL},
	{"many", many, NULL, NULL},
	{0},
};
