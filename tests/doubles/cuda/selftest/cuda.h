/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The self-test's own declarations of the interface. */

typedef uint64_t dptr;
typedef void *handle; /* of any type */

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *n);
int cuDeviceGetName(char *name, int bytes, int device);
int cuDeviceGetUuid_v2(void *uuid, int device);
int cuDeviceGetPCIBusId(char *text, int bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuGetErrorName(int code, const char **name);
int cuGetProcAddress(const char *name, void **f, int version, uint64_t flags);
int cuGetProcAddress_v2(
	const char *name, void **f, int version, uint64_t flags, int *status);
int cuGetExportTable(const void **table, const void *uuid);

int cuDevicePrimaryCtxRetain(handle *ctx, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuCtxCreate_v2(handle *ctx, unsigned flags, int device);
int cuCtxDestroy_v2(handle ctx);
int cuCtxSetCurrent(handle ctx);
int cuCtxGetCurrent(handle *ctx);
int cuCtxPushCurrent_v2(handle ctx);
int cuCtxPopCurrent_v2(handle *ctx);
int cuCtxSynchronize(void);
int cuCtxSetLimit(int limit, size_t value);

int cuModuleLoadData(handle *module, const void *image);
int cuModuleUnload(handle module);
int cuModuleGetFunction(handle *function, handle module, const char *name);
int cuFuncLoad(handle function);
int cuLibraryLoadData(handle *library, const void *image, void *a, void *b, unsigned c,
	void *d, void *e, unsigned f);
int cuLibraryGetKernel(handle *kernel, handle library, const char *name);

int cuLaunchKernel(handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, handle stream, void **params,
	void **extra);
int cuLaunchKernel_ptsz(handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, handle stream, void **params,
	void **extra);
int cuLaunchKernelEx(const void *config, handle f, void **params, void **extra);
int cuLaunchHostFunc(handle stream, void (*f)(void *), void *user);
int cuFuncSetBlockShape(handle f, int x, int y, int z);
int cuParamSetSize(handle f, unsigned bytes);
int cuParamSetv(handle f, int offset, void *value, unsigned bytes);
int cuLaunch(handle f);

int cuStreamCreate(handle *stream, unsigned flags);
int cuStreamCreateWithPriority(handle *stream, unsigned flags, int priority);
int cuStreamDestroy_v2(handle stream);
int cuStreamSynchronize(handle stream);
int cuStreamQuery(handle stream);
int cuStreamWaitEvent(handle stream, handle event, unsigned flags);
int cuStreamWaitValue32_v2(handle stream, dptr at, uint32_t value, unsigned flags);
int cuStreamWriteValue32_v2(handle stream, dptr at, uint32_t value, unsigned flags);
int cuEventCreate(handle *event, unsigned flags);
int cuEventDestroy_v2(handle event);
int cuEventRecord(handle event, handle stream);
int cuEventQuery(handle event);
int cuEventSynchronize(handle event);
int cuEventElapsedTime(float *ms, handle start, handle end);

int cuMemAlloc_v2(dptr *p, size_t bytes);
int cuMemAllocPitch_v2(dptr *p, size_t *pitch, size_t width, size_t height, unsigned e);
int cuMemAllocManaged(dptr *p, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **p, size_t bytes, unsigned flags);
int cuMemFree_v2(dptr p);
int cuMemFreeHost(void *p);
int cuMemGetInfo_v2(size_t *free, size_t *total);
int cuMemcpyHtoD_v2(dptr dst, const void *src, size_t bytes);
int cuMemcpyDtoH_v2(void *dst, dptr src, size_t bytes);
int cuMemcpyDtoD_v2(dptr dst, dptr src, size_t bytes);
int cuMemcpyHtoDAsync_v2(dptr dst, const void *src, size_t bytes, handle stream);
int cuMemcpyDtoHAsync_v2(void *dst, dptr src, size_t bytes, handle stream);
int cuMemcpy2D_v2(const void *copy);
int cuMemsetD8_v2(dptr p, unsigned char value, size_t n);
int cuMemsetD32_v2(dptr p, unsigned value, size_t n);
int cuMemsetD32Async(dptr p, unsigned value, size_t n, handle stream);
int cuMemsetD2D16_v2(dptr p, size_t pitch, unsigned short v, size_t w, size_t h);
int cuPointerGetAttribute(void *value, int attribute, dptr p);

int cuDeviceGetDefaultMemPool(handle *pool, int device);
int cuMemAllocAsync(dptr *p, size_t bytes, handle stream);
int cuMemFreeAsync(dptr p, handle stream);
int cuMemPoolCreate(handle *pool, const void *props);
int cuMemPoolDestroy(handle pool);
int cuMemPoolTrimTo(handle pool, size_t keep);
int cuMemPoolGetAttribute(handle pool, int attribute, void *value);
int cuMemPoolSetAttribute(handle pool, int attribute, void *value);
int cuMemAllocFromPoolAsync(dptr *p, size_t bytes, handle pool, handle stream);
int cuMemPoolExportToShareableHandle(void *fd, handle pool, int type, uint64_t flags);
int cuMemPoolImportFromShareableHandle(handle *pool, handle fd, int type, uint64_t flags);
int cuMemPoolExportPointer(void *data, dptr p);
int cuMemPoolImportPointer(dptr *p, handle pool, void *data);

int cuMemAddressReserve(dptr *p, size_t bytes, size_t align, dptr wish, uint64_t flags);
int cuMemAddressFree(dptr p, size_t bytes);
int cuMemCreate(handle *memory, size_t bytes, const void *prop, uint64_t flags);
int cuMemRelease(handle memory);
int cuMemMap(dptr p, size_t bytes, size_t offset, handle memory, uint64_t flags);
int cuMemUnmap(dptr p, size_t bytes);
int cuMemSetAccess(dptr p, size_t bytes, const void *access, size_t n);
int cuMemExportToShareableHandle(void *fd, handle memory, int type, uint64_t flags);
int cuMemImportFromShareableHandle(handle *memory, handle fd, int type);

struct location {
	int type, id;
};

/* Of memory without an address, and of a pool. */
struct properties {
	int type, handle_types;
	struct location location;
	void *reserved;
	unsigned char flags[8];
};

struct pool_properties {
	int type, handle_types;
	struct location location;
	void *reserved;
	size_t most;
	unsigned char rest[56];
};

struct ipc {
	char bytes[64];
};
int cuIpcGetMemHandle(struct ipc *ipc, dptr p);
int cuIpcOpenMemHandle_v2(dptr *p, struct ipc ipc, unsigned flags);
int cuIpcCloseMemHandle(dptr p);

int cuArray3DCreate_v2(handle *array, const void *shape);
int cuArrayDestroy(handle array);
int cuArrayGetMemoryRequirements(void *requirements, handle array, int device);
int cuMipmappedArrayCreate(handle *mipmap, const void *shape, unsigned levels);
int cuMipmappedArrayDestroy(handle mipmap);
int cuMemcpyHtoA_v2(handle array, size_t offset, const void *src, size_t bytes);
int cuMemcpyAtoH_v2(void *dst, handle array, size_t offset, size_t bytes);

int cuStreamBeginCapture_v2(handle stream, int mode);
int cuStreamEndCapture(handle stream, handle *graph);
int cuStreamIsCapturing(handle stream, int *status);
int cuStreamGetCaptureInfo_v2(handle stream, int *status, uint64_t *id, handle *graph,
	const handle **tips, size_t *n);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuGraphCreate(handle *graph, unsigned flags);
int cuGraphDestroy(handle graph);
int cuGraphAddKernelNode_v2(
	handle *node, handle graph, const handle *after, size_t n, const void *params);
int cuGraphAddNode(
	handle *node, handle graph, const handle *after, size_t n, void *params);
int cuGraphAddChildGraphNode(
	handle *node, handle graph, const handle *after, size_t n, handle child);
int cuGraphAddMemFreeNode(
	handle *node, handle graph, const handle *after, size_t n, dptr p);
int cuGraphAddDependencies(handle graph, const handle *from, const handle *to, size_t n);
int cuGraphGetNodes(handle graph, handle *nodes, size_t *n);
int cuGraphGetRootNodes(handle graph, handle *nodes, size_t *n);
int cuGraphConditionalHandleCreate(
	uint64_t *c, handle graph, handle ctx, unsigned value, unsigned flags);
int cuGraphInstantiateWithFlags(handle *exec, handle graph, unsigned long long flags);
int cuGraphExecKernelNodeSetParams_v2(handle exec, handle node, const void *params);
int cuGraphExecUpdate_v2(handle exec, handle graph, void *result);
int cuGraphLaunch(handle exec, handle stream);
int cuGraphExecDestroy(handle exec);
int cuDeviceGraphMemTrim(int device);

int cuDeviceGetDevResource(int device, void *resource, int type);
int cuDevSmResourceSplitByCount(void *parts, unsigned *n, const void *from, void *rest,
	unsigned flags, unsigned least);
int cuDevResourceGenerateDesc(handle *desc, void *resources, unsigned n);
int cuGreenCtxCreate(handle *green, handle desc, int device, unsigned flags);
int cuGreenCtxDestroy(handle green);
int cuGreenCtxStreamCreate(handle *stream, handle green, unsigned flags, int priority);
int cuCtxRecordEvent(handle ctx, handle event);
int cuCtxFromGreenCtx(handle *ctx, handle green);

int cuGraphAddHostNode(
	handle *node, handle graph, const handle *after, size_t n, const void *params);
int cuGraphAddMemsetNode(handle *node, handle graph, const handle *after, size_t n,
	const void *params, handle ctx);
int cuGraphMemsetNodeGetParams(handle node, void *params);
int cuGraphMemsetNodeSetParams(handle node, const void *params);
int cuImportExternalSemaphore(handle *semaphore, const void *desc);
int cuWaitExternalSemaphoresAsync(
	const handle *semaphores, const void *values, unsigned n, handle stream);
int cuGraphAddExternalSemaphoresWaitNode(
	handle *node, handle graph, const handle *after, size_t n, const void *waits);
int cuGraphExternalSemaphoresWaitNodeGetParams(handle node, void *ret);
int cuGraphExecExternalSemaphoresWaitNodeSetParams(
	handle exec, handle node, const void *waits);
int cuGraphAddEventRecordNode(
	handle *node, handle graph, const handle *after, size_t n, handle event);
int cuGraphExecEventRecordNodeSetEvent(handle exec, handle node, handle event);
int cuUserObjectCreate(
	handle *object, void *user, void (*destroy)(void *), unsigned n, unsigned flags);
int cuUserObjectRelease(handle object, unsigned n);
int cuGraphRetainUserObject(handle graph, handle object, unsigned n, unsigned flags);
int cuMemGetDefaultMemPool(handle *pool, void *location, int type);
int cuMemcpyBatchAsync_v2(dptr *dsts, dptr *srcs, size_t *sizes, size_t n,
	void *attributes, size_t *indexes, size_t n_attributes, handle stream);
int cuMemcpy3DBatchAsync_v2(
	size_t n, void *copies, unsigned long long flags, handle stream);
int cuMemPrefetchAsync_v2(
	dptr p, size_t bytes, struct location location, unsigned flags, handle stream);
int cuStreamBatchMemOp_v2(handle stream, unsigned n, void *ops, unsigned flags);
