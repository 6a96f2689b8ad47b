/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "hip.h"

/* The rest of HIP: capture, graphs, pools, virtual memory. */

/* --- Capture --- */
int hipStreamBeginCapture(struct stream *stream, int mode);
int hipStreamEndCapture(struct stream *stream, struct graph **ret);
int hipStreamIsCapturing(struct stream *stream, int *ret);
int hipThreadExchangeStreamCaptureMode(int *mode);

/* --- Graphs --- */
int hipGraphCreate(struct graph **ret, unsigned flags);
int hipGraphDestroy(struct graph *graph);
int hipGraphClone(struct graph **ret, struct graph *graph);
int hipGraphAddDependencies(
	struct graph *graph, struct node *const *from, struct node *const *to, size_t n);
int hipGraphGetEdges(
	struct graph *graph, struct node **from, struct node **to, size_t *n);
int hipGraphGetNodes(struct graph *graph, struct node **nodes, size_t *n);
int hipGraphNodeGetType(struct node *node, int *ret);
int hipGraphInstantiate(struct exec **ret, struct graph *graph, struct node **error_node,
	char *log, size_t log_bytes);
int hipGraphInstantiateWithFlags(
	struct exec **ret, struct graph *graph, unsigned long long flags);
int hipGraphLaunch(struct exec *exec, struct stream *stream);
int hipGraphExecDestroy(struct exec *exec);
int hipGraphExecUpdate(struct exec *exec, struct graph *graph, struct node **error_node,
	int *ret_result);

/* --- Semaphores of other interfaces --- */
int hipImportExternalSemaphore(
	struct semaphore **ret, const struct semaphore_handle *handle);
int hipDestroyExternalSemaphore(struct semaphore *semaphore);
int hipWaitExternalSemaphoresAsync(struct semaphore *const *all,
	const struct semaphore_value *values, unsigned n, struct stream *stream);
int hipGraphAddExternalSemaphoresWaitNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, const struct semaphores_params *params);
int hipGraphExternalSemaphoresWaitNodeGetParams(
	struct node *node, struct semaphores_params *ret);
int hipGraphExecExternalSemaphoresWaitNodeSetParams(
	struct exec *exec, struct node *node, const struct semaphores_params *params);

/* --- Their nodes --- */
int hipGraphAddKernelNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, const struct kernel_params *params);
int hipGraphExecKernelNodeSetParams(
	struct exec *exec, struct node *node, const struct kernel_params *params);
int hipGraphAddMemcpyNode1D(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, void *dst, const void *src, size_t bytes,
	int kind);
int hipGraphAddMemsetNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, const struct set_params *params);
int hipGraphAddHostNode(struct node **ret, struct graph *graph, struct node *const *deps,
	size_t n, const struct host_params *params);
int hipGraphHostNodeGetParams(struct node *node, struct host_params *ret);
int hipGraphAddChildGraphNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, struct graph *child);
int hipGraphAddMemAllocNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, struct alloc_node *params);

/* --- Pools --- */
int hipMallocAsync(void **ret, size_t bytes, struct stream *stream);
/* Of no version: what a program finds that is newer than the gate. */
int hipMemcpyLater(void *dst, void *src, size_t bytes);
int hipMallocFromPoolAsync(
	void **ret, size_t bytes, struct pool *pool, struct stream *stream);
int hipFreeAsync(void *p, struct stream *stream);
int hipDeviceGetDefaultMemPool(struct pool **ret, int device);
int hipDeviceGetMemPool(struct pool **ret, int device);
int hipDeviceSetMemPool(int device, struct pool *pool);
int hipMemPoolCreate(struct pool **ret, const struct pool_props *props);
int hipMemPoolDestroy(struct pool *pool);
int hipMemPoolTrimTo(struct pool *pool, size_t keep);
int hipMemPoolSetAttribute(struct pool *pool, int attribute, void *value);
int hipMemPoolGetAttribute(struct pool *pool, int attribute, void *ret);

/* --- Virtual memory --- */
int hipMemAddressReserve(void **ret, size_t bytes, size_t alignment, void *address,
	unsigned long long flags);
int hipMemAddressFree(void *p, size_t bytes);
int hipMemCreate(struct physical **ret, size_t bytes, const struct alloc_props *props,
	unsigned long long flags);
int hipMemRelease(struct physical *physical);
int hipMemMap(void *p, size_t bytes, size_t offset, struct physical *physical,
	unsigned long long flags);
int hipMemUnmap(void *p, size_t bytes);
int hipMemSetAccess(void *p, size_t bytes, const struct access *access, size_t n);
int hipMemGetAllocationGranularity(
	size_t *ret, const struct alloc_props *props, int option);
int hipMemRetainAllocationHandle(struct physical **ret, void *p);
int hipMemExportToShareableHandle(
	void *ret, struct physical *physical, int type, unsigned long long flags);
int hipMemImportFromShareableHandle(struct physical **ret, void *handle, int type);
