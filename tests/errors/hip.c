/* SPDX-License-Identifier: Apache-2.0 */
/* A HIP program that makes every kind of call, goes on after any error, and frees all
 * that it has got: errors.h.  It is given a lease of QUOTA.  DHI_ROCM is 5 or 6. */
#include "../doubles/hip/hsa/functions.h"
#include "../doubles/hip/lib/functions.h"
#include "errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUOTA (512 * ERRORS_MIB)
#define TOO_MUCH (QUOTA + 64 * ERRORS_MIB)
#define PIECE (2 * ERRORS_MIB)
#define NS 20000 /* of a kernel */
#define NON_BLOCKING 1
#define GLOBAL 0 /* modes of capturing */
#define RELAXED 2
#define FILE_HANDLE 1
#define ANY_QUEUE_BYTES UINT32_MAX

int hipLaunchKernel_spt(const void *host, struct dim3 grid, struct dim3 block,
	void **args, size_t shared, struct stream *stream);
int hipMemcpy_spt(void *dst, const void *src, size_t bytes, int kind);
int hipStreamSynchronize_spt(struct stream *stream);

static char pageable[PIECE];
static const char image[] = "cleave-double-module\nkernel spin param\n";
static const struct channels floats = {{32, 0, 0, 0}, 2};
static const struct pool_props pool_on_device = {.type = 1, .location = {1, 0}};

/* What the program has.  What it did not get is 0, and is used all the same. */
static struct {
	struct module *module;
	struct func *spin;
	const void *stub;
	struct stream *blocking, *apart, *urgent;
	struct event *event;
	void *pinned, *host; /* that, or what is not */
	void *flat, *pitched, *managed, *async, *pooled;
	size_t pitch;
	struct array *array;
	struct mipmap *mipmap;
	struct pool *pool;
	struct graph *captured, *made;
	struct exec *exec, *made_exec;
	hsa_agent gpu;
	hsa_pool gpus_pool;
	void *below;
	uint64_t ns;
	void *parameters[1];
#if DHI_ROCM >= 6
	struct physical *piece, *again, *imported;
	char *mapped;
	int fd;
	void *in_graph;
#endif
} have;

static void find_device(void)
{
	char properties[4096];
	size_t bytes;
	int n;

	TRY(hipInit, 0);
	TRY(hipGetDeviceCount, &n);
	TRY(hipSetDevice, 0);
	TRY(hipGetDevice, &n);
	TRY(hipDeviceGetAttribute, &n, 84, 0);
	TRY(hipDeviceTotalMem, &bytes, 0);
	TRY(hipGetDeviceProperties, (struct props_5 *)(void *)properties, 0);
}

/* As a compiler would have it. */
static const void *stub_of_spin(void)
{
	static const struct fat_binary binary = {HIP_FAT_MAGIC, 1, image, NULL};
	static const char stub;
	char name[] = "spin";

	__hipRegisterFunction(__hipRegisterFatBinary(&binary), &stub, name, name, 0, NULL,
		NULL, NULL, NULL, NULL);
	return &stub;
}

static void make_streams(void)
{
	have.stub = stub_of_spin();
	TRY(hipModuleLoadData, &have.module, image);
	TRY(hipModuleGetFunction, &have.spin, have.module, "spin");
	TRY(hipStreamCreate, &have.blocking);
	TRY(hipStreamCreateWithFlags, &have.apart, NON_BLOCKING);
	TRY(hipStreamCreateWithPriority, &have.urgent, NON_BLOCKING, -1);
	TRY(hipEventCreateWithFlags, &have.event, 0);
}

static void take_memory(void)
{
	const struct extent box = {256, 256, 4};
	size_t left, total;

	TRY(hipMemGetInfo, &left, &total);
	have.host = pageable;
	if (TRY(hipHostMalloc, &have.pinned, PIECE, 0) == 0)
		have.host = have.pinned;
	TRY(hipMalloc, &have.flat, 4 * PIECE);
	TRY(hipMallocPitch, &have.pitched, &have.pitch, 1000, 1000);
	TRY(hipMallocManaged, &have.managed, PIECE, 1);
	TRY(hipMallocArray, &have.array, &floats, 256, 256, 0);
	TRY(hipMallocMipmappedArray, &have.mipmap, &floats, box, 2, 0);
	TRY(hipMemPoolCreate, &have.pool, &pool_on_device);
	TRY(hipMallocAsync, &have.async, PIECE, have.apart);
	TRY(hipMallocFromPoolAsync, &have.pooled, PIECE, have.pool, have.apart);
}

#if DHI_ROCM >= 6
static const struct alloc_props piece_on_device = {
	.type = 1, .handle_type = FILE_HANDLE, .location = {1, 0}};

static void map_memory(void)
{
	have.fd = -1;
	TRY(hipMemCreate, &have.piece, PIECE, &piece_on_device, 0);
	TRY(hipMemAddressReserve, (void **)(void *)&have.mapped, 2 * PIECE, 0, NULL, 0);
	if (!have.mapped)
		return;
	TRY(hipMemMap, have.mapped, PIECE, 0, have.piece, 0);
	TRY(hipMemRetainAllocationHandle, &have.again, have.mapped);
	if (TRY(hipMemExportToShareableHandle, &have.fd, have.piece, FILE_HANDLE, 0) == 0)
		TRY(hipMemImportFromShareableHandle, &have.imported,
			(void *)(intptr_t)have.fd, FILE_HANDLE);
	TRY(hipMemMap, have.mapped + PIECE, PIECE, 0, have.imported, 0);
}

static void unmap_memory(void)
{
	struct physical *pieces[] = {have.piece, have.again, have.imported};

	if (have.mapped) {
		END(hipMemUnmap, have.mapped, PIECE);
		END(hipMemUnmap, have.mapped + PIECE, PIECE);
		END(hipMemAddressFree, have.mapped, 2 * PIECE);
	}
	for (int i = 0; i < 3; i++) {
		if (pieces[i])
			END(hipMemRelease, pieces[i]);
	}
	if (have.fd >= 0)
		close(have.fd);
}

static void allocate_in(struct graph *graph)
{
	struct alloc_node parameters = {.props = pool_on_device, .bytes = PIECE};
	struct node *node;

	if (TRY(hipGraphAddMemAllocNode, &node, graph, NULL, 0, &parameters) == 0)
		have.in_graph = parameters.p;
}
static void called(void *userdata)
{
}

static void launch_as_since_6(void)
{
	WORK(hipModuleLaunchCooperativeKernel, have.spin, 1, 1, 1, 32, 1, 1, 0,
		have.apart, have.parameters);
	TRY(hipLaunchHostFunc, have.apart, called, NULL);
}
#else
static void map_memory(void)
{
}

static void launch_as_since_6(void)
{
}

static void unmap_memory(void)
{
}

static void allocate_in(struct graph *graph)
{
}
#endif

/* Below HIP, where memory is the same and a GPU's queues are HIP's alone.  The last agent
 * is a GPU also where HSA does not say which is. */

static int see_pool(uint64_t pool, void *userdata)
{
	have.gpus_pool = pool;
	return 0;
}

static int see_agent(uint64_t agent, void *userdata)
{
	uint32_t device = HSA_DEVICE_GPU;

	TRY(hsa_agent_get_info, agent, HSA_AGENT_DEVICE, &device);
	if (device == HSA_DEVICE_GPU)
		have.gpu = agent;
	return 0;
}

static void ask_hsa(void)
{
	struct hsa_queue *queue = NULL;
	size_t bytes;

	TRY(hsa_iterate_agents, see_agent, NULL);
	TRY(hsa_amd_agent_iterate_memory_pools, have.gpu, see_pool, NULL);
	TRY(hsa_amd_memory_pool_get_info, have.gpus_pool, 2, &bytes);
	TRY(hsa_amd_memory_pool_allocate, have.gpus_pool, PIECE, 0, &have.below);
	TRY(hsa_memory_copy, have.host, have.below, 4096);
	if (TRY(hsa_queue_create, have.gpu, 64, 0, NULL, NULL, ANY_QUEUE_BYTES,
		    ANY_QUEUE_BYTES, &queue) == 0)
		errors_strange("queue-of-a-gpu");
}

/* What the device is given to do. */

static int launch(struct stream *stream)
{
	return WORK(hipModuleLaunchKernel, have.spin, 1, 1, 1, 32, 1, 1, 0, stream,
		have.parameters, NULL);
}

static void launch_all(void)
{
	const struct dim3 one = {1, 1, 1}, block = {32, 1, 1};

	for (int i = 0; i < 3; i++) {
		launch(NULL);
		launch(have.blocking);
		launch(have.apart);
		WORK(hipLaunchKernel, have.stub, one, block, have.parameters, 0,
			have.urgent);
		WORK(hipLaunchKernel_spt, have.stub, one, block, have.parameters, 0,
			NULL);
	}
	WORK(hipExtLaunchKernel, have.stub, one, block, have.parameters, 0, have.apart,
		NULL, NULL, 0);
	launch_as_since_6();
	TRY(hipConfigureCall, one, block, 0, have.apart);
	TRY(hipSetupArgument, &have.ns, sizeof(have.ns), 0);
	WORK(hipLaunchByPtr, have.stub);
}

static void copy_all(void)
{
	char *flat = have.flat;

	WORK(hipMemcpy, flat, have.host, 4096, HIP_TO_DEVICE);
	WORK(hipMemcpy_spt, flat, have.host, 4096, HIP_TO_DEVICE);
	WORK(hipMemcpyAsync, flat, have.host, 4096, HIP_TO_DEVICE, have.apart);
	WORK(hipMemcpyWithStream, flat, have.host, 4096, HIP_TO_DEVICE, have.apart);
	WORK(hipMemcpyHtoD, flat, have.host, 4096);
	WORK(hipMemcpyHtoDAsync, flat, have.host, 4096, have.urgent);
	WORK(hipMemcpyDtoHAsync, have.host, flat, 4096, have.urgent);
	WORK(hipMemcpyDtoD, flat, flat + PIECE, 4096);
	WORK(hipMemcpyDtoDAsync, flat, flat + PIECE, 4096, have.apart);
	WORK(hipMemcpy2DAsync, have.pitched, have.pitch, have.host, 512, 256, 16,
		HIP_TO_DEVICE, have.apart);
	WORK(hipMemcpy2DToArray, have.array, 0, 0, have.host, 512, 256, 16,
		HIP_TO_DEVICE);
	WORK(hipMemcpyDtoH, have.host, flat, 4096);
	WORK(hipMemset, flat, 1, 4096);
	WORK(hipMemsetAsync, flat, 1, 4096, have.apart);
	WORK(hipMemsetD32Async, flat, 1, 1024, have.urgent);
	WORK(hipMemset2D, have.pitched, have.pitch, 1, 256, 16);
	WORK(hipMemPrefetchAsync, have.managed, PIECE, 0, have.apart);
}

static void called_back(struct stream *stream, int status, void *userdata)
{
}

/* None of these waits for anything that an error may keep away. */
static void wait_in_streams(void)
{
	/* Where no copy goes. */
	uint32_t *word = (uint32_t *)(void *)((char *)have.host + ERRORS_MIB);

	*(volatile uint32_t *)word = 1;
	TRY(hipEventRecord, have.event, have.apart);
	TRY(hipStreamWaitEvent, have.urgent, have.event, 0);
	if (have.pinned)
		TRY(hipStreamWaitValue32, have.blocking, word, 1, 0, UINT32_MAX);
	launch(have.blocking);
	TRY(hipStreamAddCallback, have.blocking, called_back, NULL, 0);
	launch(have.apart);
	TRY(hipEventQuery, have.event);
}

static void *launch_elsewhere(void *unused)
{
	const struct dim3 one = {1, 1, 1}, block = {32, 1, 1};

	TRY(hipSetDevice, 0);
	launch(NULL);
	WORK(hipLaunchKernel_spt, have.stub, one, block, have.parameters, 0, NULL);
	TRY(hipStreamSynchronize_spt, NULL);
	return NULL;
}

static void wait_for_all(void)
{
	TRY(hipEventSynchronize, have.event);
	TRY(hipStreamSynchronize, have.apart);
	TRY(hipStreamSynchronize, have.blocking);
	TRY(hipStreamSynchronize, have.urgent);
	TRY(hipStreamSynchronize, NULL);
	TRY(hipDeviceSynchronize);
}

static void make_graphs(void)
{
	struct kernel_params kernel = {.block = {32, 1, 1},
		.function = (void *)(uintptr_t)have.stub,
		.grid = {1, 1, 1},
		.params = have.parameters};
	struct node *node;
	int mode = GLOBAL;

	TRY(hipStreamBeginCapture, have.apart, RELAXED);
	TRY(hipModuleLaunchKernel, have.spin, 1, 1, 1, 32, 1, 1, 0, have.apart,
		have.parameters, NULL);
	TRY(hipStreamEndCapture, have.apart, &have.captured);
	/* It would go on for ever. */
	if (!have.captured)
		END(hipStreamEndCapture, have.apart, &have.captured);
	TRY(hipGraphCreate, &have.made, 0);
	TRY(hipGraphAddKernelNode, &node, have.made, NULL, 0, &kernel);
	allocate_in(have.made);
	TRY(hipGraphInstantiate, &have.exec, have.captured, NULL, NULL, 0);
	TRY(hipGraphInstantiateWithFlags, &have.made_exec, have.made, 0);
	for (int i = 0; i < 2; i++) {
		WORK(hipGraphLaunch, have.exec, have.apart);
		WORK(hipGraphLaunch, have.made_exec, have.apart);
	}
	TRY(hipStreamSynchronize, have.apart);
	if (TRY(hipThreadExchangeStreamCaptureMode, &mode) == 0 && mode != GLOBAL)
		errors_strange("mode-of-capturing");
}

/* More than the lease has, in each way. */
static void ask_for_too_much(void)
{
	const struct extent box = {1024, 1024, TOO_MUCH / ERRORS_MIB / 4};
	struct array *array = NULL;
	void *p = NULL;
	size_t pitch;

	BEYOND(hipMalloc, &p, TOO_MUCH);
	BEYOND(hipExtMallocWithFlags, &p, TOO_MUCH, 1);
	BEYOND(hipMallocPitch, &p, &pitch, ERRORS_MIB, TOO_MUCH / ERRORS_MIB);
	BEYOND(hipMallocArray, &array, &floats, 15 * 1024, 10 * 1024, 0);
	BEYOND(hipMalloc3DArray, &array, &floats, box, 0);
	BEYOND(hipMallocAsync, &p, TOO_MUCH, have.apart);
	if (have.pool)
		BEYOND(hipMallocFromPoolAsync, &p, TOO_MUCH, have.pool, have.apart);
	if (have.gpus_pool)
		BEYOND(hsa_amd_memory_pool_allocate, have.gpus_pool, TOO_MUCH, 0, &p);
}

/* The end of it. */

static void end_graphs(void)
{
	if (have.exec)
		END(hipGraphExecDestroy, have.exec);
	if (have.made_exec)
		END(hipGraphExecDestroy, have.made_exec);
	if (have.captured)
		END(hipGraphDestroy, have.captured);
	if (have.made)
		END(hipGraphDestroy, have.made);
}

static void free_memory(void)
{
	if (have.async)
		END(hipFreeAsync, have.async, have.apart);
	if (have.pooled)
		END(hipFreeAsync, have.pooled, have.apart);
	END(hipStreamSynchronize, have.apart);
	if (have.flat)
		END(hipFree, have.flat);
	if (have.pitched)
		END(hipFree, have.pitched);
	if (have.managed)
		END(hipFree, have.managed);
	if (have.array)
		END(hipFreeArray, have.array);
	if (have.mipmap)
		END(hipFreeMipmappedArray, have.mipmap);
	if (have.pool) {
		TRY(hipMemPoolTrimTo, have.pool, 0);
		END(hipMemPoolDestroy, have.pool);
		have.pool = NULL;
	}
	if (have.below)
		END(hsa_amd_memory_pool_free, have.below);
	if (have.pinned)
		END(hipHostFree, have.pinned);
}

static void end_streams(void)
{
	struct stream *streams[] = {have.blocking, have.apart, have.urgent};

	for (int i = 0; i < 3; i++) {
		if (streams[i])
			END(hipStreamDestroy, streams[i]);
	}
	if (have.event)
		END(hipEventDestroy, have.event);
	if (have.module)
		END(hipModuleUnload, have.module);
}

static void run(void)
{
	have.ns = NS;
	have.parameters[0] = &have.ns;
	find_device();
	make_streams();
	take_memory();
	map_memory();
	ask_hsa();
	launch_all();
	copy_all();
	wait_in_streams();
	errors_in_thread(launch_elsewhere);
	wait_for_all();
	make_graphs();
	launch_all();
	errors_at("full");
	ask_for_too_much();
	end_graphs();
	unmap_memory();
	free_memory();
	end_streams();
	ask_for_too_much();
	errors_at("free");
	END(hipDeviceReset);
	errors_at("end");
}

static void begin(void)
{
	have.ns = NS;
	have.parameters[0] = &have.ns;
	errors_must(hipInit(0));
	errors_must(hipModuleLoadData(&have.module, image));
	errors_must(hipModuleGetFunction(&have.spin, have.module, "spin"));
}

static void step(void)
{
	errors_must(launch(NULL));
	errors_must(hipDeviceSynchronize());
}

const struct errors_program errors_program = {run, begin, step};
