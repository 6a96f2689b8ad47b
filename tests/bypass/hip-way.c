/* SPDX-License-Identifier: Apache-2.0 */
/* Ways past the limits by HIP and HSA.
 *
 * usage: bypass-hip WAY
 *
 * A way of memory allocates as much as it can of 4 GiB, prints "took MIB", and waits for
 * the end of its input.  A way of work prints "ready" and runs until it is killed.  A way
 * that is refused prints "refused" and why. */
#include "../hip/memory.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE (64 * MIB)
#define N_PIECES 64
#define KERNEL_NS 100000

int hipStreamAddCallback(handle stream, void (*function)(handle, int, void *),
	void *userdata, unsigned flags);
int hsa_queue_create(uint64_t agent, uint32_t size, uint32_t type, void *error,
	void *userdata, uint32_t private_bytes, uint32_t group_bytes, void **ret);
int hsa_amd_memory_async_copy(void *to, uint64_t to_agent, const void *from,
	uint64_t from_agent, size_t bytes, uint32_t n_deps, const uint64_t *deps,
	uint64_t completion);
int hsa_signal_create(int64_t value, uint32_t n, const uint64_t *agents, uint64_t *ret);

static handle function, stream, other;
static uint64_t gpu, pool, region;

/* Memory.  Each allocates one piece; 0: success. */

static int allocate(void)
{
	void *p;

	return hipMalloc(&p, PIECE);
}

static int allocate_fine(void)
{
	void *p;

	return hipExtMallocWithFlags(&p, PIECE, 1);
}

/* Sizes just above a multiple of the page size. */
static int allocate_odd(void)
{
	void *p;
	int r = 0;

	for (size_t i = 0; !r && i < PIECE / 4097; i += 64)
		r = hipMalloc(&p, 64 * 4096 + 1);
	return r;
}

static int allocate_pitched(void)
{
	size_t pitch;
	void *p;

	return hipMallocPitch(&p, &pitch, 1, PIECE / 256);
}

static int allocate_array(void)
{
	static const struct channels floats = {{32, 0, 0, 0}, 2};
	handle array;

	return hipMallocArray(&array, &floats, 4096, PIECE / 4 / 4096, 0);
}

static int allocate_async(void)
{
	void *p;

	return hipMallocAsync(&p, PIECE, stream);
}

static int allocate_of_pool(void)
{
	struct pool_properties properties = {.type = 1, .location = {1, 0}};
	handle own;
	void *p;
	int r = hipMemPoolCreate(&own, &properties);

	return r ? r : hipMallocFromPoolAsync(&p, PIECE, own, stream);
}

static const struct piece_properties of_gpu = {.type = 1, .location = {1, 0}};

static int make_piece(void)
{
	handle piece;

	return hipMemCreate(&piece, PIECE, &of_gpu, 0);
}

static int map_piece(void)
{
	handle piece;
	void *p;
	int r = hipMemCreate(&piece, PIECE, &of_gpu, 0);

	if (r)
		return r;
	OK(hipMemAddressReserve(&p, PIECE, 0, NULL, 0));
	OK(hipMemMap(p, PIECE, 0, piece, 0));
	return hipMemRelease(piece);
}

static int allocate_in_graph(void)
{
	struct alloc_node parameters = {
		.properties = {.type = 1, .location = {1, 0}}, .bytes = PIECE};
	handle graph, node;

	OK(hipGraphCreate(&graph, 0));
	return hipGraphAddMemAllocNode(&node, graph, NULL, 0, &parameters);
}

static int see_pool(uint64_t found, void *userdata)
{
	*(uint64_t *)userdata = found;
	return 0;
}

static int see_agent(uint64_t agent, void *userdata)
{
	uint32_t device = 0;

	hsa_agent_get_info(agent, 17, &device);
	if (device != 1)
		return 0;
	gpu = agent;
	hsa_amd_agent_iterate_memory_pools(agent, see_pool, &pool);
	hsa_agent_iterate_regions(agent, see_pool, &region);
	return 0;
}

static int allocate_below(void)
{
	void *p;

	return hsa_amd_memory_pool_allocate(pool, PIECE, 0, &p);
}

static int allocate_region(void)
{
	void *p;

	return hsa_memory_allocate(region, PIECE, &p);
}

/* A function of a library that is opened by its path. */
static int allocate_opened(void)
{
	int (*opened)(void **, size_t) = NULL;
	void *p;

	*(void **)&opened = dlsym(dlopen(getenv("WAY_LIBRARY"), RTLD_LAZY), "hipMalloc");
	return opened ? opened(&p, PIECE) : -1;
}

/* The table of functions of HSA's that the tool WAY_TOOL got, if it was loaded. */
static int allocate_by_tool(void)
{
	struct {
		uint32_t version[4];
		struct {
			uint32_t version[4];
			void *others[13];
			int (*allocate)(uint64_t, size_t, uint32_t, void **);
		} * core, *amd;
	} **table = NULL;
	void *tool = dlopen(getenv("WAY_TOOL"), RTLD_LAZY | RTLD_NOLOAD), *p;

	if (tool)
		table = dlsym(tool, "tool_table");
	if (!table || !*table) {
		printf("\nrefused: HSA has loaded no tool\n");
		exit(0);
	}
	return (*table)->amd->allocate(pool, PIECE, 0, &p);
}

static void take(int (*one)(void))
{
	size_t n = 0;

	while (n < N_PIECES && one() == 0)
		n++;
	printf("took %zu\n", n * PIECE / MIB);
	fflush(stdout);
}

/* Work. */

static void launch(handle to, uint64_t ns)
{
	void *parameters[] = {&ns, NULL};

	OK(hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, to, parameters, NULL));
}

static void called(handle from, int status, void *userdata)
{
	for (int i = 0; i < 10; i++)
		launch(userdata, KERNEL_NS);
}

/* Nearly all of its work is launched in callbacks. */
static void in_callbacks(void)
{
	for (;;) {
		launch(stream, KERNEL_NS / 10);
		OK(hipStreamAddCallback(stream, called, other, 0));
		OK(hipStreamSynchronize(stream));
		OK(hipStreamSynchronize(other));
	}
}

static void one_after_another(void)
{
	for (;;) {
		launch(stream, KERNEL_NS);
		OK(hipStreamSynchronize(stream));
	}
}

static void destroyed_streams(void)
{
	for (;;) {
		handle each;

		OK(hipStreamCreateWithFlags(&each, 1));
		for (int i = 0; i < 20; i++)
			launch(each, KERNEL_NS);
		OK(hipStreamDestroy(each));
	}
}

/* Several processes, each with its own work. */
static void processes(void)
{
	for (int i = 0; i < 3 && fork() > 0; i++)
		;
	OK(hipInit(0));
	function = load_spin();
	OK(hipStreamCreateWithFlags(&stream, 1));
	for (;;) {
		for (int i = 0; i < 50; i++)
			launch(stream, KERNEL_NS);
		OK(hipStreamSynchronize(stream));
	}
}

static void queue_below(void)
{
	void *queue;
	int r = hsa_queue_create(gpu, 64, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue);

	printf(r ? "refused %x\n" : "took a queue %x\n", (unsigned)r);
	exit(0);
}

static void copies_below(void)
{
	void *a, *b;

	OK(hsa_amd_memory_pool_allocate(pool, KERNEL_NS, 0, &a));
	OK(hsa_amd_memory_pool_allocate(pool, KERNEL_NS, 0, &b));
	for (;;) {
		uint64_t signal;

		OK(hsa_signal_create(1, 0, NULL, &signal));
		OK(hsa_amd_memory_async_copy(a, gpu, b, gpu, KERNEL_NS, 0, NULL, signal));
	}
}

static const struct {
	const char *name;
	int (*take)(void);
	void (*work)(void);
} ways[] = {
	{"allocations", allocate, NULL},
	{"fine-grained", allocate_fine, NULL},
	{"odd-sizes", allocate_odd, NULL},
	{"pitched", allocate_pitched, NULL},
	{"arrays", allocate_array, NULL},
	{"pool-of-device", allocate_async, NULL},
	{"pools-many", allocate_of_pool, NULL},
	{"physical", make_piece, NULL},
	{"mapped", map_piece, NULL},
	{"graph-nodes", allocate_in_graph, NULL},
	{"below-hip", allocate_below, NULL},
	{"regions", allocate_region, NULL},
	{"opened", allocate_opened, NULL},
	{"tool-named", allocate_by_tool, NULL},
	{"tool-loaded", allocate_by_tool, NULL},
	{"callbacks", NULL, in_callbacks},
	{"waits", NULL, one_after_another},
	{"streams-destroyed", NULL, destroyed_streams},
	{"queue-below", NULL, queue_below},
	{"copies-below", NULL, copies_below},
};

static void begin(void)
{
	OK(hipInit(0));
	function = load_spin();
	OK(hipStreamCreateWithFlags(&stream, 1));
	OK(hipStreamCreateWithFlags(&other, 1));
	OK(hsa_iterate_agents(see_agent, NULL));
}

static int run(const char *name)
{
	char byte;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(name, ways[i].name) != 0)
			continue;
		begin();
		if (ways[i].work) {
			puts("ready");
			fflush(stdout);
			ways[i].work();
		}
		take(ways[i].take);
		return read(0, &byte, 1) < 0;
	}
	return 64;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 64;
	if (strcmp(argv[1], "tool-loaded") == 0)
		dlopen(getenv("WAY_TOOL"), RTLD_LAZY | RTLD_GLOBAL);
	if (strcmp(argv[1], "processes") == 0) {
		puts("ready");
		fflush(stdout);
		processes();
	}
	if (strcmp(argv[1], "many-processes") == 0) {
		for (int i = 0; i < 3 && fork() > 0; i++)
			;
		return run("allocations");
	}
	return run(argv[1]);
}
