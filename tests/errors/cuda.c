/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA program that makes every kind of call, goes on after any error, and frees all
 * that it has got: errors.h.  It is given a lease of QUOTA. */
#include "../doubles/cuda/lib/functions.h"
#include "errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define QUOTA (512 * ERRORS_MIB)
#define TOO_MUCH (QUOTA + 64 * ERRORS_MIB)
#define PIECE (2 * ERRORS_MIB)
#define NS 20000 /* of a kernel */
#define NON_BLOCKING 1
#define GLOBAL 0 /* modes of capturing */
#define RELAXED 2
#define HEAP 2 /* CU_LIMIT_MALLOC_HEAP_SIZE */
#define LEGACY ((struct stream *)1)

#define DECLARE(symbol, base, function, version, streams, when, parameters, arguments) \
	DECLARE_##streams(symbol, parameters)
#define DECLARE_NO(symbol, parameters) int symbol parameters;
#define DECLARE_DS(symbol, parameters) int symbol parameters, symbol##_ptds parameters;
#define DECLARE_SZ(symbol, parameters) int symbol parameters, symbol##_ptsz parameters;
DCU_SINCE_11(DECLARE)
DCU_SINCE_12(DECLARE)

static char pageable[PIECE];
static const char image[] = "cleave-double-module\nkernel spin param\n";
static const struct allocation_prop on_device = {
	.type = 1, .handle_types = DCU_HANDLE_FD, .location = {DCU_AT_DEVICE, 0}};
static const struct pool_props pool_on_device = {
	.type = 1, .location = {DCU_AT_DEVICE, 0}};
static const struct array3d_shape shape = {
	.width = 256, .height = 256, .format = 0x20, .channels = 4};

/* What the program has.  What it did not get is 0, and is used all the same. */
static struct {
	struct ctx *primary, *own;
	struct module *module;
	struct func *spin;
	struct stream *blocking, *apart, *urgent, *copying;
	struct event *event, *shared, *opened;
	void *pinned, *host; /* that, or what is not */
	uint64_t flat, pitched, managed, async, pooled, mapped, stepped;
	size_t pitch, heap;
	struct array *array, *deep;
	struct mipmap *mipmap;
	struct phys *piece, *again, *imported;
	struct pool *pool;
	struct phys *multicast;
	struct external *external;
	int fd;
	struct graph *captured, *made, *allocating;
	struct exec *exec, *made_exec, *allocating_exec;
	uint64_t ns;
	void *parameters[1];
} have;

static void find_device(void)
{
	size_t bytes;
	int n, status;
	void *function;
	struct resource resource;

	TRY(cuInit, 0);
	TRY(cuDeviceGetCount, &n);
	TRY(cuDeviceGetAttribute, &n, 16, 0);
	TRY(cuDeviceTotalMem_v2, &bytes, 0);
	TRY(cuDeviceGetDevResource, 0, &resource, 1);
	TRY(cuGetProcAddress, "cuMemAlloc", &function, 12000, 0);
	TRY(cuGetProcAddress_v2, "cuLaunchKernel", &function, 12000, 0, &status);
}

static void make_contexts(void)
{
	struct resource resource;
	struct ctx *context;

	TRY(cuDevicePrimaryCtxRetain, &have.primary, 0);
	TRY(cuCtxSetCurrent, have.primary);
	TRY(cuCtxCreate_v2, &have.own, 0, 0);
	TRY(cuMemAlloc_v2, &have.stepped, PIECE);
	TRY(cuCtxPopCurrent_v2, &context);
	TRY(cuCtxPushCurrent_v2, have.own);
	TRY(cuCtxPopCurrent_v2, &context);
	TRY(cuCtxSetCurrent, have.primary);
	TRY(cuCtxGetCurrent, &context);
	TRY(cuCtxGetDevResource, have.primary, &resource, 1);
}

static void make_streams(void)
{
	struct shared_bytes handle = {0};
	struct ctx *context;

	TRY(cuModuleLoadData, &have.module, image);
	TRY(cuModuleGetFunction, &have.spin, have.module, "spin");
	TRY(cuStreamCreate, &have.blocking, 0);
	TRY(cuStreamCreate, &have.apart, NON_BLOCKING);
	TRY(cuStreamCreate, &have.copying, NON_BLOCKING);
	TRY(cuStreamCreateWithPriority, &have.urgent, NON_BLOCKING, -1);
	TRY(cuStreamGetCtx, have.apart, &context);
	TRY(cuEventCreate, &have.event, 0);
	TRY(cuEventCreate, &have.shared,
		DCU_EVENT_DISABLE_TIMING | DCU_EVENT_INTERPROCESS);
	TRY(cuIpcGetEventHandle, &handle, have.shared);
	TRY(cuIpcOpenEventHandle, &have.opened, handle);
}

static void take_memory(void)
{
	const struct array_shape flat = {256, 256, 0x20, 4};
	size_t left, total;

	TRY(cuMemGetInfo_v2, &left, &total);
	have.host = pageable;
	if (TRY(cuMemHostAlloc, &have.pinned, PIECE, 0) == 0)
		have.host = have.pinned;
	TRY(cuMemAlloc_v2, &have.flat, 4 * PIECE);
	TRY(cuMemAllocPitch_v2, &have.pitched, &have.pitch, 1000, 1000, 4);
	TRY(cuMemAllocManaged, &have.managed, PIECE, 1);
	TRY(cuMemAdvise, have.managed, PIECE, 3, 0);
	TRY(cuArrayCreate_v2, &have.array, &flat);
	TRY(cuArray3DCreate_v2, &have.deep, &shape);
	TRY(cuMipmappedArrayCreate, &have.mipmap, &shape, 3);
	TRY(cuMemPoolCreate, &have.pool, &pool_on_device);
	TRY(cuMemAllocAsync, &have.async, PIECE, have.apart);
	TRY(cuMemAllocFromPoolAsync, &have.pooled, PIECE, have.pool, have.apart);
	TRY(cuCtxGetLimit, &have.heap, HEAP);
	TRY(cuCtxSetLimit, HEAP, 16 * ERRORS_MIB);
}

/* From another interface, and to other processes. */
static void share_memory(void)
{
	struct external_handle description = {.type = 1, .bytes = PIECE};
	struct multicast_prop several = {1, PIECE, DCU_HANDLE_FD, 0};
	struct shared_bytes handle;

	TRY(cuIpcGetMemHandle, &handle, have.flat);
	TRY(cuMulticastCreate, &have.multicast, &several);
	description.handle.fd = memfd_create("external", MFD_CLOEXEC);
	if (TRY(cuImportExternalMemory, &have.external, &description) != 0)
		close(description.handle.fd);
}

static void map_memory(void)
{
	struct access access = {{DCU_AT_DEVICE, 0}, 3};

	have.fd = -1;
	TRY(cuMemCreate, &have.piece, PIECE, &on_device, 0);
	TRY(cuMemAddressReserve, &have.mapped, 2 * PIECE, 0, 0, 0);
	TRY(cuMemMap, have.mapped, PIECE, 0, have.piece, 0);
	TRY(cuMemSetAccess, have.mapped, PIECE, &access, 1);
	TRY(cuMemRetainAllocationHandle, &have.again, (void *)(uintptr_t)have.mapped);
	if (TRY(cuMemExportToShareableHandle, &have.fd, have.piece, DCU_HANDLE_FD, 0) ==
		0)
		TRY(cuMemImportFromShareableHandle, &have.imported,
			(void *)(intptr_t)have.fd, DCU_HANDLE_FD);
	TRY(cuMemMap, have.mapped + PIECE, PIECE, 0, have.imported, 0);
}

/* What the device is given to do. */

static int launch(struct stream *stream)
{
	return WORK(cuLaunchKernel, have.spin, 1, 1, 1, 32, 1, 1, 0, stream,
		have.parameters, NULL);
}

static void launch_all(void)
{
	struct launch_config config = {{1, 1, 1}, {32, 1, 1}, 0, have.urgent, NULL, 0};
	struct launch_params several = {
		have.spin, {1, 1, 1}, {32, 1, 1}, 0, have.apart, have.parameters};

	for (int i = 0; i < 3; i++) {
		launch(NULL);
		launch(have.blocking);
		launch(have.apart);
		WORK(cuLaunchKernel_ptsz, have.spin, 1, 1, 1, 32, 1, 1, 0, NULL,
			have.parameters, NULL);
	}
	WORK(cuLaunchKernelEx, &config, have.spin, have.parameters, NULL);
	WORK(cuLaunchCooperativeKernel, have.spin, 1, 1, 1, 32, 1, 1, 0, have.apart,
		have.parameters);
	WORK(cuLaunchCooperativeKernelMultiDevice, &several, 1, 0);
	TRY(cuFuncSetBlockShape, have.spin, 32, 1, 1);
	TRY(cuParamSetSize, have.spin, 8);
	TRY(cuParamSetv, have.spin, 0, &have.ns, 8);
	WORK(cuLaunchGridAsync, have.spin, 1, 1, have.apart);
}

static void copy_all(void)
{
	struct copy_2d rows = {
		.src = {.type = DCU_MEMORY_DEVICE, .device = have.flat, .pitch = 512},
		.dst = {.type = DCU_MEMORY_DEVICE,
			.device = have.pitched,
			.pitch = have.pitch},
		.width = 256,
		.height = 16};
	struct copy_3d box = {.src = {.type = DCU_MEMORY_DEVICE,
				      .device = have.flat,
				      .pitch = 512,
				      .height = 16},
		.dst = {.type = DCU_MEMORY_HOST,
			.host = have.host,
			.pitch = 512,
			.height = 16},
		.width = 256,
		.height = 16,
		.depth = 2};

	WORK(cuMemcpyHtoD_v2, have.flat, have.host, 4096);
	WORK(cuMemcpyHtoDAsync_v2, have.flat, have.host, 4096, have.copying);
	WORK(cuMemcpyDtoHAsync_v2, have.host, have.flat, 4096, have.copying);
	WORK(cuMemcpyAsync, have.flat, (uintptr_t)have.host, 4096, have.apart);
	WORK(cuMemcpyDtoDAsync_v2, have.flat + 8192, have.flat, 4096, have.apart);
	WORK(cuMemcpy2DAsync_v2, &rows, have.apart);
	WORK(cuMemcpy2D_v2, &rows);
	WORK(cuMemcpy3D_v2, &box);
	WORK(cuMemcpy3DAsync_v2, &box, have.urgent);
	WORK(cuMemcpy, have.flat, (uintptr_t)have.host, 4096);
	WORK(cuMemcpyDtoD_v2, have.flat + 8192, have.flat, 4096);
	WORK(cuMemcpyHtoA_v2, have.array, 0, have.host, 1024);
	WORK(cuMemcpyAtoH_v2, have.host, have.array, 0, 1024);
	WORK(cuMemcpyAtoHAsync_v2, have.host, have.array, 0, 1024, have.apart);
	WORK(cuMemcpyDtoA_v2, have.array, 0, have.flat, 1024);
	WORK(cuMemcpyPeerAsync, have.flat, have.primary, have.flat + 8192, have.primary,
		4096, have.apart);
	WORK(cuMemcpyDtoH_v2, have.host, have.flat, 4096);
}

static void fill_all(void)
{
	WORK(cuMemsetD8Async, have.flat, 1, 4096, have.apart);
	WORK(cuMemsetD16_v2, have.flat, 1, 2048);
	WORK(cuMemsetD32_v2, have.mapped, 1, 1024);
	WORK(cuMemsetD2D8Async, have.pitched, have.pitch, 1, 256, 16, have.urgent);
	WORK(cuMemsetD2D32_v2, have.pitched, have.pitch, 1, 64, 16);
	WORK(cuMemPrefetchAsync, have.managed, PIECE, 0, have.apart);
	WORK(cuMemPrefetchAsync_v2, have.managed, PIECE, (struct location){1, 0}, 0,
		have.apart);
}

static void called(void *userdata)
{
}

static void called_back(struct stream *stream, int status, void *userdata)
{
}

/* None of these waits for anything that an error may keep away. */
static void wait_in_streams(void)
{
	/* Where no copy goes. */
	uint64_t word = (uintptr_t)have.host + ERRORS_MIB;
	union batch_op wait = {.value = {DCU_OP_WAIT_32, word, 1, 0, 0}};

	*(volatile uint32_t *)(uintptr_t)word = 1;
	TRY(cuEventRecord, have.event, have.apart);
	TRY(cuStreamWaitEvent, have.urgent, have.event, 0);
	TRY(cuEventRecord, have.shared, have.apart);
	TRY(cuStreamWaitEvent, have.urgent, have.shared, 0);
	TRY(cuStreamWaitValue32_v2, have.blocking, word, 1, 0);
	TRY(cuStreamWaitValue64_v2, have.blocking, word, 1, 0);
	launch(have.blocking);
	TRY(cuStreamBatchMemOp_v2, have.urgent, 1, &wait, 0);
	launch(have.urgent);
	TRY(cuLaunchHostFunc, have.apart, called, NULL);
	TRY(cuStreamAddCallback, have.blocking, called_back, NULL, 0);
	launch(have.apart);
	TRY(cuEventQuery, have.event);
}

static void *launch_elsewhere(void *unused)
{
	TRY(cuCtxSetCurrent, have.primary);
	launch(NULL);
	WORK(cuLaunchKernel_ptsz, have.spin, 1, 1, 1, 32, 1, 1, 0, NULL, have.parameters,
		NULL);
	TRY(cuStreamSynchronize_ptsz, NULL);
	return NULL;
}

static void wait_for_all(void)
{
	TRY(cuEventSynchronize, have.event);
	TRY(cuStreamSynchronize, have.apart);
	TRY(cuStreamSynchronize, have.blocking);
	TRY(cuStreamSynchronize, have.urgent);
	TRY(cuStreamSynchronize, NULL);
	TRY(cuCtxSynchronize);
}

/* Graphs. */

static void capture(struct graph **graph, bool with_memory)
{
	uint64_t address = 0;

	TRY(cuStreamBeginCapture_v2, have.apart, RELAXED);
	if (with_memory && TRY(cuMemAllocAsync, &address, PIECE, have.apart) == 0)
		TRY(cuMemFreeAsync, address, have.apart);
	else
		TRY(cuLaunchKernel, have.spin, 1, 1, 1, 32, 1, 1, 0, have.apart,
			have.parameters, NULL);
	TRY(cuStreamEndCapture, have.apart, graph);
	/* It would go on for ever. */
	if (!*graph)
		END(cuStreamEndCapture, have.apart, graph);
}

static void capture_into(struct graph *graph)
{
	struct graph *same = NULL;

	if (TRY(cuStreamBeginCaptureToGraph, have.urgent, graph, NULL, NULL, 0,
		    RELAXED) != 0)
		return;
	TRY(cuLaunchKernel, have.spin, 1, 1, 1, 32, 1, 1, 0, have.urgent, have.parameters,
		NULL);
	END(cuStreamEndCapture, have.urgent, &same);
}

/* A thread's mode of capturing is its own, whatever the gate asks the driver meanwhile.
 */
static void free_beside_capture(void)
{
	struct graph *graph = NULL;
	uint64_t address = 0;
	int mode = GLOBAL;

	TRY(cuMemAlloc_v2, &address, PIECE);
	if (TRY(cuStreamBeginCapture_v2, have.urgent, RELAXED) == 0) {
		TRY(cuMemFreeAsync, address, have.apart);
		END(cuStreamEndCapture, have.urgent, &graph);
		END(cuGraphDestroy, graph);
	} else if (address) {
		END(cuMemFree_v2, address);
	}
	if (TRY(cuThreadExchangeStreamCaptureMode, &mode) == 0 && mode != GLOBAL)
		errors_strange("mode-of-capturing");
}

static void make_graphs(void)
{
	struct instantiate_params parameters = {0};
	struct kernel_params kernel = {
		have.spin, {1, 1, 1}, {32, 1, 1}, 0, have.parameters};
	struct node_params any = {.type = DCU_NODE_KERNEL, .kernel = kernel};
	struct node *node;

	capture(&have.captured, false);
	capture(&have.allocating, true);
	TRY(cuGraphCreate, &have.made, 0);
	TRY(cuGraphAddKernelNode_v2, &node, have.made, NULL, 0, &kernel);
	TRY(cuGraphAddNode, &node, have.made, NULL, 0, &any);
	TRY(cuGraphAddNode_v2, &node, have.made, NULL, NULL, 0, &any);
	capture_into(have.made);
	if (have.captured)
		TRY(cuGraphAddChildGraphNode, &node, have.made, NULL, 0, have.captured);
	TRY(cuGraphInstantiateWithFlags, &have.exec, have.captured, 0);
	TRY(cuGraphInstantiateWithParams, &have.made_exec, have.made, &parameters);
	TRY(cuGraphInstantiateWithFlags, &have.allocating_exec, have.allocating, 0);
	for (int i = 0; i < 2; i++) {
		WORK(cuGraphLaunch, have.exec, have.apart);
		WORK(cuGraphLaunch, have.made_exec, have.apart);
		WORK(cuGraphLaunch, have.allocating_exec, have.apart);
	}
	TRY(cuStreamSynchronize, have.apart);
}

/* With no context current. */
static void act_without_context(void)
{
	uint64_t address = 0;

	TRY(cuCtxSetCurrent, NULL);
	launch(have.apart);
	WORK(cuGraphLaunch, have.allocating_exec, have.apart);
	BEYOND(cuMemAllocAsync, &address, TOO_MUCH, have.apart);
	TRY(cuCtxSetCurrent, have.primary);
}

/* More than the lease has, in each way. */
static void ask_for_too_much(void)
{
	const struct array_shape flat = {32768, TOO_MUCH / 32768 / 16, 0x20, 4};
	struct phys *piece = NULL;
	struct array *array = NULL;
	uint64_t address = 0;
	size_t pitch;

	BEYOND(cuMemAlloc_v2, &address, TOO_MUCH);
	BEYOND(cuMemAllocManaged, &address, TOO_MUCH, 1);
	BEYOND(cuMemAllocPitch_v2, &address, &pitch, ERRORS_MIB, TOO_MUCH / ERRORS_MIB,
		4);
	BEYOND(cuArrayCreate_v2, &array, &flat);
	BEYOND(cuMemCreate, &piece, TOO_MUCH, &on_device, 0);
	BEYOND(cuMemAllocAsync, &address, TOO_MUCH, have.apart);
	if (have.pool)
		BEYOND(cuMemAllocFromPoolAsync, &address, TOO_MUCH, have.pool,
			have.apart);
	BEYOND(cuCtxSetLimit, HEAP, TOO_MUCH);
}

/* The end of it. */

/* What could not be destroyed is still there. */
static void launch_again(void)
{
	TRY(cuStreamSynchronize, have.apart);
	TRY(cuDeviceGraphMemTrim, 0);
	WORK(cuGraphLaunch, have.allocating_exec, have.apart);
	errors_at("again");
}

static void end_graphs(void)
{
	struct exec *execs[] = {have.exec, have.made_exec, have.allocating_exec};
	struct graph *graphs[] = {have.made, have.captured, have.allocating};

	if (have.allocating_exec) {
		if (TRY(cuGraphExecDestroy, have.allocating_exec) == 0)
			execs[2] = NULL;
		else
			launch_again();
	}
	for (int i = 0; i < 3; i++) {
		if (execs[i])
			END(cuGraphExecDestroy, execs[i]);
	}
	for (int i = 0; i < 3; i++) {
		if (graphs[i])
			END(cuGraphDestroy, graphs[i]);
	}
	END(cuStreamSynchronize, have.apart);
	END(cuDeviceGraphMemTrim, 0);
}

static void unmap_memory(void)
{
	struct phys *pieces[] = {have.piece, have.again, have.imported, have.multicast};

	if (have.mapped) {
		END(cuMemUnmap, have.mapped, PIECE);
		END(cuMemUnmap, have.mapped + PIECE, PIECE);
		END(cuMemAddressFree, have.mapped, 2 * PIECE);
	}
	for (int i = 0; i < 4; i++) {
		if (pieces[i])
			END(cuMemRelease, pieces[i]);
	}
	if (have.external)
		END(cuDestroyExternalMemory, have.external);
	if (have.fd >= 0)
		close(have.fd);
}

static void free_memory(void)
{
	uint64_t plain[] = {have.pitched, have.managed, have.stepped};
	uint64_t in_order[] = {have.flat, have.async, have.pooled};

	for (int i = 0; i < 3; i++) {
		if (in_order[i])
			END(cuMemFreeAsync, in_order[i], have.apart);
		if (plain[i])
			END(cuMemFree_v2, plain[i]);
	}
	if (have.array)
		END(cuArrayDestroy, have.array);
	if (have.deep)
		END(cuArrayDestroy, have.deep);
	if (have.mipmap)
		END(cuMipmappedArrayDestroy, have.mipmap);
	END(cuStreamSynchronize, have.apart);
	if (have.pool) {
		TRY(cuMemPoolTrimTo, have.pool, 0);
		END(cuMemPoolDestroy, have.pool);
		have.pool = NULL;
	}
	END(cuCtxSetLimit, HEAP, 0);
	if (have.pinned)
		END(cuMemFreeHost, have.pinned);
}

static void end_streams(void)
{
	struct stream *streams[] = {have.blocking, have.apart, have.urgent, have.copying};
	struct event *events[] = {have.event, have.shared, have.opened};

	for (int i = 0; i < 4; i++) {
		if (streams[i])
			END(cuStreamDestroy_v2, streams[i]);
	}
	for (int i = 0; i < 3; i++) {
		if (events[i])
			END(cuEventDestroy_v2, events[i]);
	}
	if (have.module)
		END(cuModuleUnload, have.module);
}

static void end_contexts(void)
{
	if (have.own)
		END(cuCtxDestroy_v2, have.own);
	TRY(cuCtxSetCurrent, NULL);
	if (have.primary)
		END(cuDevicePrimaryCtxRelease_v2, 0);
}

static void run(void)
{
	have.ns = NS;
	have.parameters[0] = &have.ns;
	find_device();
	make_contexts();
	make_streams();
	take_memory();
	share_memory();
	map_memory();
	launch_all();
	copy_all();
	fill_all();
	wait_in_streams();
	errors_in_thread(launch_elsewhere);
	wait_for_all();
	make_graphs();
	free_beside_capture();
	launch_all();
	errors_at("full");
	act_without_context();
	ask_for_too_much();
	end_graphs();
	unmap_memory();
	free_memory();
	end_streams();
	/* What has come back unasked is looked for when there is no room. */
	ask_for_too_much();
	errors_at("free");
	end_contexts();
	errors_at("end");
}

static void begin(void)
{
	have.ns = NS;
	have.parameters[0] = &have.ns;
	errors_must(cuInit(0));
	errors_must(cuDevicePrimaryCtxRetain(&have.primary, 0));
	errors_must(cuCtxSetCurrent(have.primary));
	errors_must(cuModuleLoadData(&have.module, image));
	errors_must(cuModuleGetFunction(&have.spin, have.module, "spin"));
}

static void step(void)
{
	errors_must(launch(NULL));
	errors_must(cuCtxSynchronize());
}

const struct errors_program errors_program = {run, begin, step};
