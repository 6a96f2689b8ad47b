/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "tenant.h"

/* The calls of tests/cuda/patterns.c under HIP's names. */

#undef OK /* the program has one of its own */

typedef uint64_t dptr;
struct ipc {
	char bytes[64];
};

int hipStreamCreateWithPriority(handle *stream, unsigned flags, int priority);
int hipStreamWaitEvent(handle stream, handle event, unsigned flags);
int hipStreamWaitValue32(
	handle stream, void *at, uint32_t value, unsigned flags, uint32_t mask);
int hipStreamWriteValue32(handle stream, void *at, uint32_t value, unsigned flags);
int hipEventCreateWithFlags(handle *event, unsigned flags);
int hipEventRecord(handle event, handle stream);
int hipHostMalloc(void **p, size_t bytes, unsigned flags);
int hipMallocAsync(void **p, size_t bytes, handle stream);
int hipFreeAsync(void *p, handle stream);
int hipMemcpyHtoDAsync(void *to, void *from, size_t bytes, handle stream);
int hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, handle stream);
int hipMemsetD32(void *p, int value, size_t n);
int hipIpcGetEventHandle(struct ipc *ret, handle event);
int hipIpcOpenEventHandle(handle *event, struct ipc bytes);
int hipIpcGetMemHandle(struct ipc *ipc, void *p);
int hipIpcOpenMemHandle(void **p, struct ipc ipc, unsigned flags);
#if ROCM >= 6
int hipLaunchHostFunc(handle stream, void (*function)(void *), void *userdata);
#else
int hipStreamAddCallback(handle stream, void (*function)(handle, int, void *),
	void *userdata, unsigned flags);

/* HIP's host functions have another type than CUDA's; this one serves each program. */
static void (*hip_host_function)(void *);

static inline void hip_call(handle stream, int status, void *userdata)
{
	hip_host_function(userdata);
}

static inline int hipLaunchHostFunc(
	handle stream, void (*function)(void *), void *userdata)
{
	hip_host_function = function;
	return hipStreamAddCallback(stream, hip_call, userdata, 0);
}
#endif

/* As in ROCm 5. */
struct semaphore_value {
	unsigned long long value;
	uint32_t more[32];
};

struct semaphore_handle;
int hipImportExternalSemaphore(handle *semaphore, const struct semaphore_handle *desc);
int hipWaitExternalSemaphoresAsync(const handle *semaphores,
	const struct semaphore_value *values, unsigned n, handle stream);

#if ROCM >= 6
#define HAS_SEMAPHORES_IN_GRAPHS
struct semaphores {
	handle *all;
	struct semaphore_value *values;
	unsigned n;
};
int hipGraphCreate(handle *graph, unsigned flags);
int hipGraphAddChildGraphNode(
	handle *node, handle graph, const handle *after, size_t n, handle child);
int hipGraphAddExternalSemaphoresWaitNode(handle *node, handle graph, const handle *after,
	size_t n, const struct semaphores *waits);
int hipGraphExecExternalSemaphoresWaitNodeSetParams(
	handle exec, handle node, const struct semaphores *waits);
#endif

int hipGraphDestroy(handle graph);
int hipGraphExecDestroy(handle exec);
int hipGraphExecUpdate(handle exec, handle graph, handle *node, int *result);

#define AT(p) ((void *)(uintptr_t)(p))

#define cuInit(flags) hipInit(flags)
#define cuDevicePrimaryCtxRetain(context, device) \
	(*(context) = NULL, hipSetDevice(device))
#define cuCtxSetCurrent(context) ((void)(context), hipSetDevice(0))
#define cuCtxSynchronize() hipDeviceSynchronize()
#define cuModuleLoadData(module, image) hipModuleLoadData(module, image)
#define cuFuncLoad(f) 0 /* loaded with its module */
#define cuModuleGetFunction(f, module, name) hipModuleGetFunction(f, module, name)
#define cuLaunchKernel(...) hipModuleLaunchKernel(__VA_ARGS__)
#define cuLaunchHostFunc(stream, f, userdata) hipLaunchHostFunc(stream, f, userdata)
#define cuStreamCreate(stream, flags) hipStreamCreateWithFlags(stream, flags)
#define cuStreamCreateWithPriority(stream, flags, priority) \
	hipStreamCreateWithPriority(stream, flags, priority)
#define cuStreamDestroy_v2(stream) hipStreamDestroy(stream)
#define cuStreamSynchronize(stream) hipStreamSynchronize(stream)
#define cuStreamWaitEvent(stream, event, flags) hipStreamWaitEvent(stream, event, flags)
#define cuStreamWaitValue32_v2(stream, at, value, flags) \
	hipStreamWaitValue32(stream, AT(at), value, flags, UINT32_MAX)
#define cuStreamWriteValue32_v2(stream, at, value, flags) \
	hipStreamWriteValue32(stream, AT(at), value, flags)
#define cuStreamBeginCapture_v2(stream, mode) hipStreamBeginCapture(stream, mode)
#define cuStreamEndCapture(stream, graph) hipStreamEndCapture(stream, graph)
#define cuGraphInstantiateWithFlags(exec, graph, flags) \
	hipGraphInstantiate(exec, graph, NULL, NULL, flags)
#define cuGraphDestroy(graph) hipGraphDestroy(graph)
#define cuGraphExecDestroy(exec) hipGraphExecDestroy(exec)
#define cuGraphExecUpdate_v2(exec, graph, update) \
	hipGraphExecUpdate(exec, graph, &(update)->node, &(update)->result)
#define cuGraphLaunch(exec, stream) hipGraphLaunch(exec, stream)
#define cuGraphCreate(graph, flags) hipGraphCreate(graph, flags)
#define cuGraphAddChildGraphNode(...) hipGraphAddChildGraphNode(__VA_ARGS__)
#define cuGraphAddExternalSemaphoresWaitNode(...) \
	hipGraphAddExternalSemaphoresWaitNode(__VA_ARGS__)
#define cuGraphExecExternalSemaphoresWaitNodeSetParams(...) \
	hipGraphExecExternalSemaphoresWaitNodeSetParams(__VA_ARGS__)
#define cuImportExternalSemaphore(semaphore, desc) \
	hipImportExternalSemaphore(semaphore, desc)
#define cuWaitExternalSemaphoresAsync(semaphores, values, n, stream) \
	hipWaitExternalSemaphoresAsync(semaphores, values, n, stream)
#define cuEventCreate(event, flags) hipEventCreateWithFlags(event, flags)
#define cuEventRecord(event, stream) hipEventRecord(event, stream)
#define cuMemHostAlloc(p, bytes, flags) hipHostMalloc(p, bytes, flags)
#define cuMemAlloc_v2(p, bytes) hipMalloc((void **)(p), bytes)
#define cuMemAllocAsync(p, bytes, stream) hipMallocAsync((void **)(p), bytes, stream)
#define cuMemFreeAsync(p, stream) hipFreeAsync(AT(p), stream)
#define cuMemcpyHtoDAsync_v2(to, from, bytes, stream) \
	hipMemcpyHtoDAsync(AT(to), from, bytes, stream)
#define cuMemcpyDtoHAsync_v2(to, from, bytes, stream) \
	hipMemcpyDtoHAsync(to, AT(from), bytes, stream)
#define cuMemsetD32_v2(p, value, n) hipMemsetD32(AT(p), value, n)
#define cuIpcGetEventHandle(ret, event) hipIpcGetEventHandle(ret, event)
#define cuIpcOpenEventHandle(event, bytes) hipIpcOpenEventHandle(event, bytes)
#define cuIpcGetMemHandle(ipc, p) hipIpcGetMemHandle(ipc, AT(p))
#define cuIpcOpenMemHandle_v2(p, ipc, flags) hipIpcOpenMemHandle((void **)(p), ipc, flags)
