/* SPDX-License-Identifier: Apache-2.0 */
/* What a program with a quota of 1 GiB can allocate, and what it sees.
 *
 * usage: hip-memory [CASE]     without one: the names of all */
#include "memory.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HSA_OUT_OF_RESOURCES 0x1008
#define PAGE 4096

struct extent {
	size_t width, height, depth;
};

struct pitched {
	void *p;
	size_t pitch, width, height;
};

int hipMallocManaged(void **p, size_t bytes, unsigned flags);
int hipMalloc3D(struct pitched *p, struct extent extent);
int hipMalloc3DArray(handle *array, const struct channels *channels, struct extent extent,
	unsigned flags);
int hipFreeArray(handle array);
int hipMallocMipmappedArray(handle *array, const struct channels *channels,
	struct extent extent, unsigned levels, unsigned flags);
int hipFreeMipmappedArray(handle array);
int hipHostMalloc(void **p, size_t bytes, unsigned flags);
int hipHostFree(void *p);
int hipFreeAsync(void *p, handle stream);
int hipMemPoolDestroy(handle pool);
int hipMemPoolTrimTo(handle pool, size_t bytes);
int hipMemPoolSetAttribute(handle pool, int attribute, void *value);
int hipDeviceReset(void);
int hipGetDeviceProperties(void *properties, int device);
int hipGetLastError(void);
int hipGraphDestroy(handle graph);
int hipIpcGetMemHandle(void *handle, void *p);

int hsa_amd_memory_pool_get_info(uint64_t pool, int what, void *ret);
int hsa_region_get_info(uint64_t region, int what, void *ret);
int hsa_amd_memory_pool_free(void *p);
int hsa_memory_free(void *p);

static const struct channels floats = {{32, 0, 0, 0}, 2};

static size_t free_bytes(void)
{
	size_t left, total;

	OK(hipMemGetInfo(&left, &total));
	CHECK(total == QUOTA);
	return left;
}

static void plain(void)
{
	void *a, *b;

	OK(hipMalloc(&a, 600 * MIB));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(hipMalloc(&b, 500 * MIB) == OUT_OF_MEMORY);
	CHECK(hipGetLastError() == OUT_OF_MEMORY);
	OK(hipMalloc(&b, 424 * MIB));
	CHECK(free_bytes() == 0);
	CHECK(hipMalloc(&b, 1) == OUT_OF_MEMORY);
	OK(hipFree(a));
	CHECK(free_bytes() == 600 * MIB);
	CHECK(hipFree(a) != 0);
	CHECK(free_bytes() == 600 * MIB);
}

/* As much as the GPU takes for it, be it more than was asked for. */
static void odd_sizes(void)
{
	static const size_t sizes[] = {1, PAGE, PAGE + 1, MIB - 1, MIB + 1};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t before = free_bytes();
		void *a;

		OK(hipMalloc(&a, sizes[i]));
		CHECK(before - free_bytes() == (sizes[i] + PAGE - 1) / PAGE * PAGE);
		OK(hipFree(a));
		CHECK(free_bytes() == before);
	}
}

static void kinds(void)
{
	struct extent box = {1024 * sizeof(float), 1024, 256};
	struct pitched pitched;
	size_t pitch;
	void *a, *b;

	OK(hipExtMallocWithFlags(&a, 600 * MIB, 1));
	CHECK(hipExtMallocWithFlags(&b, 600 * MIB, 1) == OUT_OF_MEMORY);
	CHECK(hipMallocPitch(&b, &pitch, 600 * 1024, 1024) == OUT_OF_MEMORY);
	CHECK(hipMalloc3D(&pitched, box) == OUT_OF_MEMORY);
	OK(hipFree(a));
	OK(hipMalloc3D(&pitched, box));
	CHECK(free_bytes() == 0);
	OK(hipFree(pitched.p));
	CHECK(free_bytes() == QUOTA);
}

static void arrays(void)
{
	struct extent box = {1024, 1024, 150};
	handle a, b;

	OK(hipMallocArray(&a, &floats, 15 * 1024, 10 * 1024, 0));
	CHECK(free_bytes() <= QUOTA - 600 * MIB);
	CHECK(hipMallocArray(&b, &floats, 15 * 1024, 10 * 1024, 0) == OUT_OF_MEMORY);
	CHECK(hipMalloc3DArray(&b, &floats, box, 0) == OUT_OF_MEMORY);
	CHECK(hipMallocMipmappedArray(&b, &floats, box, 2, 0) == OUT_OF_MEMORY);
	OK(hipFreeArray(a));
	CHECK(free_bytes() == QUOTA);
	OK(hipMallocMipmappedArray(&b, &floats, box, 2, 0));
	CHECK(free_bytes() < QUOTA - 600 * MIB);
	OK(hipFreeMipmappedArray(b));
	CHECK(free_bytes() == QUOTA);
}

/* It is not the GPU's. */
static void of_host(void)
{
	void *a, *b;

	OK(hipHostMalloc(&a, 2 * QUOTA, 0));
	CHECK(free_bytes() == QUOTA);
	OK(hipMallocManaged(&b, 2 * QUOTA, 1));
	CHECK(free_bytes() == QUOTA);
	OK(hipFree(b));
	OK(hipHostFree(a));
}

/* What a pool keeps is still the GPU's, until there is no other. */
static void async(void)
{
	handle stream;
	void *a, *b;

	OK(hipStreamCreateWithFlags(&stream, 1));
	OK(hipMallocAsync(&a, 600 * MIB, stream));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(hipMallocAsync(&b, 600 * MIB, stream) == OUT_OF_MEMORY);
	OK(hipFreeAsync(a, stream));
	OK(hipStreamSynchronize(stream));
	CHECK(free_bytes() == QUOTA);
	OK(hipMallocAsync(&b, 700 * MIB, stream));
	OK(hipFreeAsync(b, stream));
	OK(hipStreamSynchronize(stream));
}

static void pools(void)
{
	struct pool_properties properties = {.type = 1, .location = {1, 0}};
	uint64_t keep = UINT64_MAX;
	handle pool, stream;
	void *a;

	OK(hipStreamCreateWithFlags(&stream, 1));
	OK(hipMemPoolCreate(&pool, &properties));
	OK(hipMemPoolSetAttribute(pool, 4, &keep));
	OK(hipMallocFromPoolAsync(&a, 600 * MIB, pool, stream));
	CHECK(hipMalloc(&a, 600 * MIB) == OUT_OF_MEMORY);
	OK(hipMallocFromPoolAsync(&a, 400 * MIB, pool, stream));
	OK(hipFreeAsync(a, stream));
	OK(hipStreamSynchronize(stream));
	CHECK(free_bytes() == 24 * MIB);
	OK(hipMemPoolTrimTo(pool, 0));
	CHECK(free_bytes() == 424 * MIB);
}

/* --- Queries to HSA directly --- */

struct seen {
	uint64_t gpu, pool, region;
};

static int see_pool(uint64_t pool, void *userdata)
{
	((struct seen *)userdata)->pool = pool;
	return 0;
}

static int see_region(uint64_t region, void *userdata)
{
	((struct seen *)userdata)->region = region;
	return 0;
}

static int see_agent(uint64_t agent, void *userdata)
{
	struct seen *seen = userdata;
	uint32_t device = 0;

	OK(hsa_agent_get_info(agent, 17, &device));
	if (device != 1)
		return 0;
	CHECK(seen->gpu == 0);
	seen->gpu = agent;
	OK(hsa_amd_agent_iterate_memory_pools(agent, see_pool, seen));
	OK(hsa_agent_iterate_regions(agent, see_region, seen));
	return 0;
}

static struct seen look(void)
{
	struct seen seen = {0};

	OK(hsa_iterate_agents(see_agent, &seen));
	CHECK(seen.gpu && seen.pool && seen.region);
	return seen;
}

static void below_hip(void)
{
	struct seen seen = look();
	void *a, *b;

	OK(hsa_amd_memory_pool_allocate(seen.pool, 600 * MIB, 0, &a));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(hsa_amd_memory_pool_allocate(seen.pool, 600 * MIB, 0, &b) ==
		HSA_OUT_OF_RESOURCES);
	CHECK(hsa_memory_allocate(seen.region, 600 * MIB, &b) == HSA_OUT_OF_RESOURCES);
	OK(hsa_amd_memory_pool_free(a));
	OK(hsa_memory_allocate(seen.region, 600 * MIB, &b));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(hsa_memory_free(b));
	CHECK(free_bytes() == QUOTA);
}

static void shown(void)
{
	struct seen seen = look();
	char properties[4096];
	size_t bytes;
	void *a;

	OK(hipMalloc(&a, 600 * MIB));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(hipDeviceTotalMem(&bytes, 0));
	CHECK(bytes == QUOTA);
	OK(hipGetDeviceProperties(properties, 0));
	memcpy(&bytes, properties + 256, sizeof(bytes));
	CHECK(bytes == QUOTA);
#if ROCM >= 6
	int hipGetDevicePropertiesR0600(void *properties, int device);

	OK(hipGetDevicePropertiesR0600(properties, 0));
	memcpy(&bytes, properties + 288, sizeof(bytes));
	CHECK(bytes == QUOTA);
#endif
	OK(hsa_amd_memory_pool_get_info(seen.pool, 2, &bytes));
	CHECK(bytes == QUOTA);
	OK(hsa_amd_memory_pool_get_info(seen.pool, 16, &bytes));
	CHECK(bytes == QUOTA);
	OK(hsa_region_get_info(seen.region, 2, &bytes));
	CHECK(bytes == QUOTA);
	OK(hsa_region_get_info(seen.region, 4, &bytes));
	CHECK(bytes == QUOTA);
	OK(hsa_agent_get_info(seen.gpu, 0xa015, &bytes));
	CHECK(bytes == QUOTA - 600 * MIB);
}

/* Everything that a process has on a device. */
static void reset(void)
{
	void *a;

	OK(hipMalloc(&a, 600 * MIB));
	OK(hipFree(a));
	OK(hipDeviceReset());
	OK(hipMalloc(&a, QUOTA));
	CHECK(free_bytes() == 0);
}

/* A kernel that cannot be launched is no leak of the window. */
static void refused(void)
{
	handle function = load_spin();
	uint64_t ns = 1000;
	void *parameters[] = {&ns, NULL};

	for (int i = 0; i < 10000; i++)
		CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 100000, 1, 1, 0, NULL,
			      parameters, NULL) != 0);
	OK(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	OK(hipDeviceSynchronize());
}

#if ROCM >= 6
int hipMemUnmap(void *p, size_t bytes);
int hipMemExportToShareableHandle(
	void *ret, handle piece, int type, unsigned long long flags);
int hipMemImportFromShareableHandle(handle *piece, void *from, int type);

static const struct piece_properties piece_of_gpu = {
	.type = 1, .handle_type = 1, .location = {1, 0}};

/* It lives as long as a mapping of it. */
static void mapped(void)
{
	handle a, b;
	void *p;

	OK(hipMemCreate(&a, 600 * MIB, &piece_of_gpu, 0));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(hipMemCreate(&b, 600 * MIB, &piece_of_gpu, 0) == OUT_OF_MEMORY);
	OK(hipMemAddressReserve(&p, 600 * MIB, 0, NULL, 0));
	OK(hipMemMap(p, 600 * MIB, 0, a, 0));
	OK(hipMemRelease(a));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(hipMemUnmap(p, 600 * MIB));
	CHECK(free_bytes() == QUOTA);
}

/* A file of its own keeps it too. */
static void exported(void)
{
	handle a, b;
	int fd = -1;

	OK(hipMemCreate(&a, 600 * MIB, &piece_of_gpu, 0));
	OK(hipMemExportToShareableHandle(&fd, a, 1, 0));
	OK(hipMemImportFromShareableHandle(&b, (void *)(intptr_t)fd, 1));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(hipMemRelease(b));
	close(fd);
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(hipMemRelease(a));
	CHECK(free_bytes() == QUOTA);
}

int hsa_amd_portable_export_dmabuf(
	const void *p, size_t n_bytes, int *ret_fd, uint64_t *ret_offset);

/* A dma-buf keeps an allocation that is freed. */
static void dma_buf(void)
{
	void *p, *q;
	uint64_t offset;
	int fd = -1;

	OK(hipMalloc(&p, 600 * MIB));
	OK(hsa_amd_portable_export_dmabuf((char *)p + MIB, MIB, &fd, &offset));
	OK(hipFree(p));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(hipMalloc(&q, 600 * MIB) == OUT_OF_MEMORY);
	close(fd);
	OK(hipMalloc(&q, 600 * MIB));
	OK(hipFree(q));
	CHECK(free_bytes() == QUOTA);
}

struct host_node {
	void (*function)(void *userdata);
	void *userdata;
};

int hipGraphAddHostNode(handle *node, handle graph, const handle *dependencies, size_t n,
	const struct host_node *params);
int hipGraphHostNodeGetParams(handle node, struct host_node *ret);

static int n_called;

static void called(void *userdata)
{
	CHECK(userdata == &n_called);
	n_called++;
}

/* The program gets its own function back. */
static void host_nodes(void)
{
	struct host_node node = {called, &n_called}, found = {0};
	handle graph, exec, added;

	OK(hipGraphCreate(&graph, 0));
	OK(hipGraphAddHostNode(&added, graph, NULL, 0, &node));
	OK(hipGraphHostNodeGetParams(added, &found));
	CHECK(found.function == called && found.userdata == &n_called);
	OK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
	OK(hipGraphLaunch(exec, NULL));
	OK(hipGraphLaunch(exec, NULL));
	OK(hipDeviceSynchronize());
	CHECK(n_called == 2);
}

static void graphs(void)
{
	struct alloc_node parameters = {
		.properties = {.type = 1, .location = {1, 0}}, .bytes = 600 * MIB};
	handle graph, node;

	OK(hipGraphCreate(&graph, 0));
	OK(hipGraphAddMemAllocNode(&node, graph, NULL, 0, &parameters));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(hipGraphAddMemAllocNode(&node, graph, NULL, 0, &parameters) ==
		OUT_OF_MEMORY);
	OK(hipGraphDestroy(graph));
	CHECK(free_bytes() == QUOTA);
}
#endif

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"plain", plain},
	{"odd-sizes", odd_sizes},
	{"kinds", kinds},
	{"arrays", arrays},
	{"of-host", of_host},
	{"async", async},
	{"pools", pools},
	{"below-hip", below_hip},
	{"shown", shown},
	{"reset", reset},
	{"refused", refused},
#if ROCM >= 6
	{"mapped", mapped},
	{"exported", exported},
	{"dma-buf", dma_buf},
	{"host-nodes", host_nodes},
	{"graphs", graphs},
#endif
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc < 2) {
			puts(cases[i].name);
		} else if (strcmp(argv[1], cases[i].name) == 0) {
			OK(hipInit(0));
			CHECK(free_bytes() == QUOTA);
			cases[i].run();
			return 0;
		}
	}
	return argc < 2 ? 0 : 64;
}
