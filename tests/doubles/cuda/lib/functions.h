/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "abi.h"

/* Every symbol of the library: its name, the name by which programs look it up, the
 * function (after dcu_) that implements it, the version of CUDA from which on the name
 * means it, whether it has a form for the per-thread default stream (DS: _ptds, SZ:
 * _ptsz), whether it may be called before cuInit, and the types of its parameters. */

#define P0 (void)
#define A0 ()
#define P1(t0) (t0 a)
#define A1 (a)
#define P2(t0, t1) (t0 a, t1 b)
#define A2 (a, b)
#define P3(t0, t1, t2) (t0 a, t1 b, t2 c)
#define A3 (a, b, c)
#define P4(t0, t1, t2, t3) (t0 a, t1 b, t2 c, t3 d)
#define A4 (a, b, c, d)
#define P5(t0, t1, t2, t3, t4) (t0 a, t1 b, t2 c, t3 d, t4 e)
#define A5 (a, b, c, d, e)
#define P6(t0, t1, t2, t3, t4, t5) (t0 a, t1 b, t2 c, t3 d, t4 e, t5 f)
#define A6 (a, b, c, d, e, f)
#define P7(t0, t1, t2, t3, t4, t5, t6) (t0 a, t1 b, t2 c, t3 d, t4 e, t5 f, t6 g)
#define A7 (a, b, c, d, e, f, g)
#define P8(t0, t1, t2, t3, t4, t5, t6, t7) \
	(t0 a, t1 b, t2 c, t3 d, t4 e, t5 f, t6 g, t7 h)
#define A8 (a, b, c, d, e, f, g, h)
#define P9(t0, t1, t2, t3, t4, t5, t6, t7, t8) \
	(t0 a, t1 b, t2 c, t3 d, t4 e, t5 f, t6 g, t7 h, t8 i)
#define A9 (a, b, c, d, e, f, g, h, i)
#define P10(t0, t1, t2, t3, t4, t5, t6, t7, t8, t9) \
	(t0 a, t1 b, t2 c, t3 d, t4 e, t5 f, t6 g, t7 h, t8 i, t9 j)
#define A10 (a, b, c, d, e, f, g, h, i, j)
#define P11(t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10) \
	(t0 a, t1 b, t2 c, t3 d, t4 e, t5 f, t6 g, t7 h, t8 i, t9 j, t10 k)
#define A11 (a, b, c, d, e, f, g, h, i, j, k)
#define P12(t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11) \
	(t0 a, t1 b, t2 c, t3 d, t4 e, t5 f, t6 g, t7 h, t8 i, t9 j, t10 k, t11 l)
#define A12 (a, b, c, d, e, f, g, h, i, j, k, l)
#define P13(t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12) \
	(t0 a, t1 b, t2 c, t3 d, t4 e, t5 f, t6 g, t7 h, t8 i, t9 j, t10 k, t11 l, t12 m)
#define A13 (a, b, c, d, e, f, g, h, i, j, k, l, m)

/* clang-format off */
#define DCU_ALLOC(X) \
	X(cuMemAllocHost_v2, cuMemAllocHost, cuMemAllocHost_v2, 3020, NO, LATER, P2(void **, size_t), A2) \
	X(cuMemAllocManaged, cuMemAllocManaged, cuMemAllocManaged, 6000, NO, LATER, P3(uint64_t *, size_t, unsigned), A3) \
	X(cuMemAllocPitch_v2, cuMemAllocPitch, cuMemAllocPitch_v2, 3020, NO, LATER, P5(uint64_t *, size_t *, size_t, size_t, unsigned), A5) \
	X(cuMemAlloc_v2, cuMemAlloc, cuMemAlloc_v2, 3020, NO, LATER, P2(uint64_t *, size_t), A2) \
	X(cuMemFreeHost, cuMemFreeHost, cuMemFreeHost, 2000, NO, LATER, P1(void *), A1) \
	X(cuMemFree_v2, cuMemFree, cuMemFree_v2, 3020, NO, LATER, P1(uint64_t), A1) \
	X(cuMemGetInfo_v2, cuMemGetInfo, cuMemGetInfo_v2, 3020, NO, LATER, P2(size_t *, size_t *), A2) \
	X(cuMemHostAlloc, cuMemHostAlloc, cuMemHostAlloc, 2020, NO, LATER, P3(void **, size_t, unsigned), A3) \
	X(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, 3020, NO, LATER, P3(uint64_t *, void *, unsigned), A3) \
	X(cuMemHostRegister_v2, cuMemHostRegister, cuMemHostRegister_v2, 6050, NO, LATER, P3(void *, size_t, unsigned), A3) \
	X(cuPointerGetAttribute, cuPointerGetAttribute, cuPointerGetAttribute, 4000, NO, LATER, P3(void *, int, uint64_t), A3)

#define DCU_ARRAY(X) \
	X(cuArray3DCreate_v2, cuArray3DCreate, cuArray3DCreate_v2, 3020, NO, LATER, P2(struct array **, const struct array3d_shape *), A2) \
	X(cuArrayCreate_v2, cuArrayCreate, cuArrayCreate_v2, 3020, NO, LATER, P2(struct array **, const struct array_shape *), A2) \
	X(cuArrayDestroy, cuArrayDestroy, cuArrayDestroy, 2000, NO, LATER, P1(struct array *), A1) \
	X(cuMemcpyAtoA_v2, cuMemcpyAtoA, cuMemcpyAtoA_v2, 3020, DS, LATER, P5(struct array *, size_t, struct array *, size_t, size_t), A5) \
	X(cuMemcpyAtoD_v2, cuMemcpyAtoD, cuMemcpyAtoD_v2, 3020, DS, LATER, P4(uint64_t, struct array *, size_t, size_t), A4) \
	X(cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync, cuMemcpyAtoHAsync_v2, 3020, SZ, LATER, P5(void *, struct array *, size_t, size_t, struct stream *), A5) \
	X(cuMemcpyAtoH_v2, cuMemcpyAtoH, cuMemcpyAtoH_v2, 3020, DS, LATER, P4(void *, struct array *, size_t, size_t), A4) \
	X(cuMemcpyDtoA_v2, cuMemcpyDtoA, cuMemcpyDtoA_v2, 3020, DS, LATER, P4(struct array *, size_t, uint64_t, size_t), A4) \
	X(cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync, cuMemcpyHtoAAsync_v2, 3020, SZ, LATER, P5(struct array *, size_t, const void *, size_t, struct stream *), A5) \
	X(cuMemcpyHtoA_v2, cuMemcpyHtoA, cuMemcpyHtoA_v2, 3020, DS, LATER, P4(struct array *, size_t, const void *, size_t), A4) \
	X(cuMipmappedArrayCreate, cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000, NO, LATER, P3(struct mipmap **, const struct array3d_shape *, unsigned), A3) \
	X(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, 5000, NO, LATER, P1(struct mipmap *), A1)

#define DCU_ARRAY_12(X) \
	X(cuArrayGetMemoryRequirements, cuArrayGetMemoryRequirements, cuArrayGetMemoryRequirements, 11060, NO, LATER, P3(struct requirements *, struct array *, int), A3)

#define DCU_BATCH(X) \
	X(cuMemAdvise, cuMemAdvise, cuMemAdvise, 8000, NO, LATER, P4(uint64_t, size_t, int, int), A4) \
	X(cuMemPrefetchAsync, cuMemPrefetchAsync, cuMemPrefetchAsync, 8000, SZ, LATER, P4(uint64_t, size_t, int, struct stream *), A4) \
	X(cuStreamBatchMemOp, cuStreamBatchMemOp, cuStreamBatchMemOp_v2, 8000, SZ, LATER, P4(struct stream *, unsigned, union batch_op *, unsigned), A4)

#define DCU_BATCH_12(X) \
	X(cuMemAdvise_v2, cuMemAdvise, cuMemAdvise_v2, 12020, NO, LATER, P4(uint64_t, size_t, int, struct location), A4) \
	X(cuMemPrefetchAsync_v2, cuMemPrefetchAsync, cuMemPrefetchAsync_v2, 12020, SZ, LATER, P5(uint64_t, size_t, struct location, unsigned, struct stream *), A5) \
	X(cuMemcpyBatchAsync, cuMemcpyBatchAsync, cuMemcpyBatchAsync, 12080, SZ, LATER, P9(uint64_t *, uint64_t *, size_t *, size_t, void *, size_t *, size_t, size_t *, struct stream *), A9) \
	X(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, 13000, SZ, LATER, P8(uint64_t *, uint64_t *, size_t *, size_t, void *, size_t *, size_t, struct stream *), A8) \
	X(cuStreamBatchMemOp_v2, cuStreamBatchMemOp, cuStreamBatchMemOp_v2, 11070, SZ, LATER, P4(struct stream *, unsigned, union batch_op *, unsigned), A4)

#define DCU_CAPTURE(X) \
	X(cuStreamBeginCapture, cuStreamBeginCapture, cuStreamBeginCapture, 10000, SZ, LATER, P1(struct stream *), A1) \
	X(cuStreamBeginCapture_v2, cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010, SZ, LATER, P2(struct stream *, int), A2) \
	X(cuStreamEndCapture, cuStreamEndCapture, cuStreamEndCapture, 10000, SZ, LATER, P2(struct stream *, struct graph **), A2) \
	X(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, 11030, SZ, LATER, P6(struct stream *, int *, uint64_t *, struct graph **, struct node *const**, size_t *), A6) \
	X(cuStreamIsCapturing, cuStreamIsCapturing, cuStreamIsCapturing, 10000, SZ, LATER, P2(struct stream *, int *), A2) \
	X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010, NO, LATER, P1(int *), A1)

#define DCU_CAPTURE_12(X) \
	X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030, SZ, LATER, P6(struct stream *, struct graph *, struct node *const*, const struct edge *, size_t, int), A6)

#define DCU_CONTEXT(X) \
	X(cuCtxCreate_v2, cuCtxCreate, cuCtxCreate_v2, 3020, NO, LATER, P3(struct ctx **, unsigned, int), A3) \
	X(cuCtxDestroy, cuCtxDestroy, cuCtxDestroy_v2, 2000, NO, LATER, P1(struct ctx *), A1) \
	X(cuCtxDestroy_v2, cuCtxDestroy, cuCtxDestroy_v2, 4000, NO, LATER, P1(struct ctx *), A1) \
	X(cuCtxGetCurrent, cuCtxGetCurrent, cuCtxGetCurrent, 4000, NO, LATER, P1(struct ctx **), A1) \
	X(cuCtxGetDevice, cuCtxGetDevice, cuCtxGetDevice, 2000, NO, LATER, P1(int *), A1) \
	X(cuCtxGetLimit, cuCtxGetLimit, cuCtxGetLimit, 3010, NO, LATER, P2(size_t *, int), A2) \
	X(cuCtxPopCurrent, cuCtxPopCurrent, cuCtxPopCurrent_v2, 2000, NO, LATER, P1(struct ctx **), A1) \
	X(cuCtxPopCurrent_v2, cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000, NO, LATER, P1(struct ctx **), A1) \
	X(cuCtxPushCurrent, cuCtxPushCurrent, cuCtxPushCurrent_v2, 2000, NO, LATER, P1(struct ctx *), A1) \
	X(cuCtxPushCurrent_v2, cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000, NO, LATER, P1(struct ctx *), A1) \
	X(cuCtxSetCurrent, cuCtxSetCurrent, cuCtxSetCurrent, 4000, NO, LATER, P1(struct ctx *), A1) \
	X(cuCtxSetLimit, cuCtxSetLimit, cuCtxSetLimit, 3010, NO, LATER, P2(int, size_t), A2) \
	X(cuCtxSynchronize, cuCtxSynchronize, cuCtxSynchronize, 2000, NO, LATER, P0, A0) \
	X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, NO, LATER, P3(int, unsigned *, int *), A3) \
	X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 7000, NO, LATER, P1(int), A1) \
	X(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, NO, LATER, P1(int), A1) \
	X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 7000, NO, LATER, P1(int), A1) \
	X(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000, NO, LATER, P1(int), A1) \
	X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, NO, LATER, P2(struct ctx **, int), A2)

#define DCU_CONTEXT_12(X) \
	X(cuCtxCreate_v3, cuCtxCreate, cuCtxCreate_v3, 11040, NO, LATER, P5(struct ctx **, struct affinity *, int, unsigned, int), A5) \
	X(cuCtxCreate_v4, cuCtxCreate, cuCtxCreate_v4, 12050, NO, LATER, P4(struct ctx **, struct create_params *, unsigned, int), A4) \
	X(cuCtxRecordEvent, cuCtxRecordEvent, cuCtxRecordEvent, 12050, NO, LATER, P2(struct ctx *, struct event *), A2)

#define DGP_COPY(X) \
	X(cuMemcpy, cuMemcpy, cuMemcpy, 4000, DS, LATER, P3(uint64_t, uint64_t, size_t), A3) \
	X(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, cuMemcpy2DAsync_v2, 3020, SZ, LATER, P2(const struct copy_2d *, struct stream *), A2) \
	X(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, 3020, DS, LATER, P1(const struct copy_2d *), A1) \
	X(cuMemcpy2D_v2, cuMemcpy2D, cuMemcpy2D_v2, 3020, DS, LATER, P1(const struct copy_2d *), A1) \
	X(cuMemcpy3DAsync_v2, cuMemcpy3DAsync, cuMemcpy3DAsync_v2, 3020, SZ, LATER, P2(const struct copy_3d *, struct stream *), A2) \
	X(cuMemcpy3DPeer, cuMemcpy3DPeer, cuMemcpy3DPeer, 4000, DS, LATER, P1(const struct copy_3d *), A1) \
	X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, 4000, SZ, LATER, P2(const struct copy_3d *, struct stream *), A2) \
	X(cuMemcpy3D_v2, cuMemcpy3D, cuMemcpy3D_v2, 3020, DS, LATER, P1(const struct copy_3d *), A1) \
	X(cuMemcpyAsync, cuMemcpyAsync, cuMemcpyAsync, 4000, SZ, LATER, P4(uint64_t, uint64_t, size_t, struct stream *), A4) \
	X(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020, SZ, LATER, P4(uint64_t, uint64_t, size_t, struct stream *), A4) \
	X(cuMemcpyDtoD_v2, cuMemcpyDtoD, cuMemcpyDtoD_v2, 3020, DS, LATER, P3(uint64_t, uint64_t, size_t), A3) \
	X(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, SZ, LATER, P4(void *, uint64_t, size_t, struct stream *), A4) \
	X(cuMemcpyDtoH_v2, cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020, DS, LATER, P3(void *, uint64_t, size_t), A3) \
	X(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020, SZ, LATER, P4(uint64_t, const void *, size_t, struct stream *), A4) \
	X(cuMemcpyHtoD_v2, cuMemcpyHtoD, cuMemcpyHtoD_v2, 3020, DS, LATER, P3(uint64_t, const void *, size_t), A3) \
	X(cuMemcpyPeer, cuMemcpyPeer, cuMemcpyPeer, 4000, DS, LATER, P5(uint64_t, struct ctx *, uint64_t, struct ctx *, size_t), A5) \
	X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000, SZ, LATER, P6(uint64_t, struct ctx *, uint64_t, struct ctx *, size_t, struct stream *), A6) \
	X(cuMemsetD16Async, cuMemsetD16Async, cuMemsetD16Async, 3020, SZ, LATER, P4(uint64_t, unsigned short, size_t, struct stream *), A4) \
	X(cuMemsetD16_v2, cuMemsetD16, cuMemsetD16_v2, 3020, DS, LATER, P3(uint64_t, unsigned short, size_t), A3) \
	X(cuMemsetD2D16Async, cuMemsetD2D16Async, cuMemsetD2D16Async, 3020, SZ, LATER, P6(uint64_t, size_t, unsigned short, size_t, size_t, struct stream *), A6) \
	X(cuMemsetD2D16_v2, cuMemsetD2D16, cuMemsetD2D16_v2, 3020, DS, LATER, P5(uint64_t, size_t, unsigned short, size_t, size_t), A5) \
	X(cuMemsetD2D32Async, cuMemsetD2D32Async, cuMemsetD2D32Async, 3020, SZ, LATER, P6(uint64_t, size_t, unsigned, size_t, size_t, struct stream *), A6) \
	X(cuMemsetD2D32_v2, cuMemsetD2D32, cuMemsetD2D32_v2, 3020, DS, LATER, P5(uint64_t, size_t, unsigned, size_t, size_t), A5) \
	X(cuMemsetD2D8Async, cuMemsetD2D8Async, cuMemsetD2D8Async, 3020, SZ, LATER, P6(uint64_t, size_t, unsigned char, size_t, size_t, struct stream *), A6) \
	X(cuMemsetD2D8_v2, cuMemsetD2D8, cuMemsetD2D8_v2, 3020, DS, LATER, P5(uint64_t, size_t, unsigned char, size_t, size_t), A5) \
	X(cuMemsetD32Async, cuMemsetD32Async, cuMemsetD32Async, 3020, SZ, LATER, P4(uint64_t, unsigned, size_t, struct stream *), A4) \
	X(cuMemsetD32_v2, cuMemsetD32, cuMemsetD32_v2, 3020, DS, LATER, P3(uint64_t, unsigned, size_t), A3) \
	X(cuMemsetD8Async, cuMemsetD8Async, cuMemsetD8Async, 3020, SZ, LATER, P4(uint64_t, unsigned char, size_t, struct stream *), A4) \
	X(cuMemsetD8_v2, cuMemsetD8, cuMemsetD8_v2, 3020, DS, LATER, P3(uint64_t, unsigned char, size_t), A3)

#define DCU_CUDA_13_12(X) \
	X(cuLaunchHostFunc_v2, cuLaunchHostFunc, cuLaunchHostFunc_v2, 13020, SZ, LATER, P4(struct stream *, host_fn, void *, unsigned), A4) \
	X(cuMemcpyWithAttributesAsync, cuMemcpyWithAttributesAsync, cuMemcpyWithAttributesAsync, 13020, SZ, LATER, P5(uint64_t, uint64_t, size_t, void *, struct stream *), A5) \
	X(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync, 13000, SZ, LATER, P8(uint64_t *, size_t *, size_t, struct location *, size_t *, size_t, unsigned long long, struct stream *), A8) \
	X(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync, cuMemDiscardBatchAsync, 13000, SZ, LATER, P5(uint64_t *, size_t *, size_t, unsigned long long, struct stream *), A5) \
	X(cuMemGetDefaultMemPool, cuMemGetDefaultMemPool, cuMemGetDefaultMemPool, 13000, NO, LATER, P3(struct pool **, struct location *, int), A3) \
	X(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync, 13000, SZ, LATER, P8(uint64_t *, size_t *, size_t, struct location *, size_t *, size_t, unsigned long long, struct stream *), A8) \
	X(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync, 12080, SZ, LATER, P5(size_t, struct batch_copy *, size_t *, unsigned long long, struct stream *), A5) \
	X(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_v2, 13000, SZ, LATER, P4(size_t, struct batch_copy *, unsigned long long, struct stream *), A4) \
	X(cuStreamGetCtx_v2, cuStreamGetCtx, cuStreamGetCtx_v2, 12050, SZ, LATER, P3(struct stream *, struct ctx **, struct green **), A3)

#define DCU_DEVICE(X) \
	X(cuDeviceGetAttribute, cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, NO, LATER, P3(int *, int, int), A3) \
	X(cuCtxGetExecAffinity, cuCtxGetExecAffinity, cuCtxGetExecAffinity, 11040, NO, LATER, P2(struct affinity *, int), A2) \
	X(cuDeviceGetCount, cuDeviceGetCount, cuDeviceGetCount, 2000, NO, LATER, P1(int *), A1) \
	X(cuDeviceGetName, cuDeviceGetName, cuDeviceGetName, 2000, NO, LATER, P3(char *, int, int), A3) \
	X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010, NO, LATER, P3(char *, int, int), A3) \
	X(cuDeviceTotalMem_v2, cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020, NO, LATER, P2(size_t *, int), A2) \
	X(cuDriverGetVersion, cuDriverGetVersion, cuDriverGetVersion, 2020, NO, ANYTIME, P1(int *), A1) \
	X(cuInit, cuInit, cuInit, 2000, NO, ANYTIME, P1(unsigned), A1)

#define DCU_DEVICE_12(X) \
	X(cuDeviceGetUuid_v2, cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040, NO, LATER, P2(struct uuid *, int), A2)

#define DCU_ERROR(X) \
	X(cuGetErrorName, cuGetErrorName, cuGetErrorName, 6000, NO, ANYTIME, P2(int, const char **), A2)

#define DCU_EVENT(X) \
	X(cuEventCreate, cuEventCreate, cuEventCreate, 2000, NO, LATER, P2(struct event **, unsigned), A2) \
	X(cuEventDestroy, cuEventDestroy, cuEventDestroy_v2, 2000, NO, LATER, P1(struct event *), A1) \
	X(cuEventDestroy_v2, cuEventDestroy, cuEventDestroy_v2, 4000, NO, LATER, P1(struct event *), A1) \
	X(cuEventElapsedTime, cuEventElapsedTime, cuEventElapsedTime_v2, 2000, NO, LATER, P3(float *, struct event *, struct event *), A3) \
	X(cuEventQuery, cuEventQuery, cuEventQuery, 2000, NO, LATER, P1(struct event *), A1) \
	X(cuEventRecord, cuEventRecord, cuEventRecord, 2000, SZ, LATER, P2(struct event *, struct stream *), A2) \
	X(cuEventRecordWithFlags, cuEventRecordWithFlags, cuEventRecordWithFlags, 11010, SZ, LATER, P3(struct event *, struct stream *, unsigned), A3) \
	X(cuEventSynchronize, cuEventSynchronize, cuEventSynchronize, 2000, NO, LATER, P1(struct event *), A1) \
	X(cuStreamWaitEvent, cuStreamWaitEvent, cuStreamWaitEvent, 3020, SZ, LATER, P3(struct stream *, struct event *, unsigned), A3)

#define DCU_OUTSIDE(X) \
	X(cuDestroyExternalSemaphore, cuDestroyExternalSemaphore, cuDestroyExternalSemaphore, 10000, NO, LATER, P1(struct semaphore *), A1) \
	X(cuGraphAddExternalSemaphoresWaitNode, cuGraphAddExternalSemaphoresWaitNode, cuGraphAddExternalSemaphoresWaitNode, 11020, NO, LATER, P5(struct node **, struct graph *, struct node *const*, size_t, const struct semaphores_params *), A5) \
	X(cuGraphExecExternalSemaphoresWaitNodeSetParams, cuGraphExecExternalSemaphoresWaitNodeSetParams, cuGraphExecExternalSemaphoresWaitNodeSetParams, 11020, NO, LATER, P3(struct exec *, struct node *, const struct semaphores_params *), A3) \
	X(cuGraphExternalSemaphoresWaitNodeGetParams, cuGraphExternalSemaphoresWaitNodeGetParams, cuGraphExternalSemaphoresWaitNodeGetParams, 11020, NO, LATER, P2(struct node *, struct semaphores_params *), A2) \
	X(cuImportExternalSemaphore, cuImportExternalSemaphore, cuImportExternalSemaphore, 10000, NO, LATER, P2(struct semaphore **, const struct semaphore_handle *), A2) \
	X(cuIpcGetEventHandle, cuIpcGetEventHandle, cuIpcGetEventHandle, 4010, NO, LATER, P2(struct shared_bytes *, struct event *), A2) \
	X(cuIpcOpenEventHandle, cuIpcOpenEventHandle, cuIpcOpenEventHandle, 4010, NO, LATER, P2(struct event **, struct shared_bytes), A2) \
	X(cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync, 10000, SZ, LATER, P4(struct semaphore *const *, const struct semaphore_value *, unsigned, struct stream *), A4)

#define DCU_EXEC(X) \
	X(cuGraphExecDestroy, cuGraphExecDestroy, cuGraphExecDestroy, 10000, NO, LATER, P1(struct exec *), A1) \
	X(cuGraphExecUpdate, cuGraphExecUpdate, cuGraphExecUpdate, 10020, NO, LATER, P4(struct exec *, struct graph *, struct node **, int *), A4) \
	X(cuGraphInstantiate, cuGraphInstantiate, cuGraphInstantiate_v2, 10000, NO, LATER, P5(struct exec **, struct graph *, struct node **, char *, size_t), A5) \
	X(cuGraphInstantiate_v2, cuGraphInstantiate, cuGraphInstantiate_v2, 11000, NO, LATER, P5(struct exec **, struct graph *, struct node **, char *, size_t), A5) \
	X(cuGraphLaunch, cuGraphLaunch, cuGraphLaunch, 10000, SZ, LATER, P2(struct exec *, struct stream *), A2) \
	X(cuGraphUpload, cuGraphUpload, cuGraphUpload, 11010, SZ, LATER, P2(struct exec *, struct stream *), A2)

#define DCU_EXEC_12(X) \
	X(cuGraphExecKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2, 12000, NO, LATER, P3(struct exec *, struct node *, const struct kernel_params *), A3) \
	X(cuGraphExecNodeSetParams, cuGraphExecNodeSetParams, cuGraphExecNodeSetParams, 12020, NO, LATER, P3(struct exec *, struct node *, struct node_params *), A3) \
	X(cuGraphExecUpdate_v2, cuGraphExecUpdate, cuGraphExecUpdate_v2, 12000, NO, LATER, P3(struct exec *, struct graph *, struct update_result *), A3) \
	X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, NO, LATER, P3(struct exec **, struct graph *, unsigned long long), A3) \
	X(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, SZ, LATER, P3(struct exec **, struct graph *, struct instantiate_params *), A3)

#define DCU_GRAPH_API(X) \
	X(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, 10000, NO, LATER, P5(struct node **, struct graph *, struct node *const*, size_t, struct graph *), A5) \
	X(cuGraphAddDependencies, cuGraphAddDependencies, cuGraphAddDependencies, 10000, NO, LATER, P4(struct graph *, struct node *const*, struct node *const*, size_t), A4) \
	X(cuGraphAddEventRecordNode, cuGraphAddEventRecordNode, cuGraphAddEventRecordNode, 11010, NO, LATER, P5(struct node **, struct graph *, struct node *const*, size_t, struct event *), A5) \
	X(cuGraphAddKernelNode, cuGraphAddKernelNode, cuGraphAddKernelNode, 10000, NO, LATER, P5(struct node **, struct graph *, struct node *const*, size_t, const struct kernel_params *), A5) \
	X(cuGraphAddMemsetNode, cuGraphAddMemsetNode, cuGraphAddMemsetNode, 10000, NO, LATER, P6(struct node **, struct graph *, struct node *const*, size_t, const struct set_params *, struct ctx *), A6) \
	X(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, 10000, NO, LATER, P2(struct node *, struct graph **), A2) \
	X(cuGraphCreate, cuGraphCreate, cuGraphCreate, 10000, NO, LATER, P2(struct graph **, unsigned), A2) \
	X(cuGraphDestroy, cuGraphDestroy, cuGraphDestroy, 10000, NO, LATER, P1(struct graph *), A1) \
	X(cuGraphGetEdges, cuGraphGetEdges, cuGraphGetEdges, 10000, NO, LATER, P4(struct graph *, struct node **, struct node **, size_t *), A4) \
	X(cuGraphGetNodes, cuGraphGetNodes, cuGraphGetNodes, 10000, NO, LATER, P3(struct graph *, struct node **, size_t *), A3) \
	X(cuGraphGetRootNodes, cuGraphGetRootNodes, cuGraphGetRootNodes, 10000, NO, LATER, P3(struct graph *, struct node **, size_t *), A3) \
	X(cuGraphNodeGetType, cuGraphNodeGetType, cuGraphNodeGetType, 10000, NO, LATER, P2(struct node *, int *), A2)

#define DCU_GRAPH_API_12(X) \
	X(cuGraphAddKernelNode_v2, cuGraphAddKernelNode, cuGraphAddKernelNode_v2, 12000, NO, LATER, P5(struct node **, struct graph *, struct node *const*, size_t, const struct kernel_params *), A5) \
	X(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, 11040, NO, LATER, P5(struct node **, struct graph *, struct node *const*, size_t, struct alloc_params *), A5) \
	X(cuGraphAddMemFreeNode, cuGraphAddMemFreeNode, cuGraphAddMemFreeNode, 11040, NO, LATER, P5(struct node **, struct graph *, struct node *const*, size_t, uint64_t), A5) \
	X(cuGraphAddNode, cuGraphAddNode, cuGraphAddNode, 12020, NO, LATER, P5(struct node **, struct graph *, struct node *const*, size_t, struct node_params *), A5) \
	X(cuGraphAddNode_v2, cuGraphAddNode, cuGraphAddNode_v2, 12030, NO, LATER, P6(struct node **, struct graph *, struct node *const*, const struct edge *, size_t, struct node_params *), A6) \
	X(cuGraphConditionalHandleCreate, cuGraphConditionalHandleCreate, cuGraphConditionalHandleCreate, 12030, NO, LATER, P5(uint64_t *, struct graph *, struct ctx *, unsigned, unsigned), A5) \
	X(cuGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams, 11040, NO, LATER, P2(struct node *, struct alloc_params *), A2)

#define DCU_GREEN_12(X) \
	X(cuCtxFromGreenCtx, cuCtxFromGreenCtx, cuCtxFromGreenCtx, 12040, NO, LATER, P2(struct ctx **, struct green *), A2) \
	X(cuCtxGetDevResource, cuCtxGetDevResource, cuCtxGetDevResource, 12040, NO, LATER, P3(struct ctx *, struct resource *, int), A3) \
	X(cuDevResourceGenerateDesc, cuDevResourceGenerateDesc, cuDevResourceGenerateDesc, 12040, NO, LATER, P3(struct desc **, struct resource *, unsigned), A3) \
	X(cuDevSmResourceSplitByCount, cuDevSmResourceSplitByCount, cuDevSmResourceSplitByCount, 12040, NO, LATER, P6(struct resource *, unsigned *, const struct resource *, struct resource *, unsigned, unsigned), A6) \
	X(cuDeviceGetDevResource, cuDeviceGetDevResource, cuDeviceGetDevResource, 12040, NO, LATER, P3(int, struct resource *, int), A3) \
	X(cuGreenCtxCreate, cuGreenCtxCreate, cuGreenCtxCreate, 12040, NO, LATER, P4(struct green **, struct desc *, int, unsigned), A4) \
	X(cuGreenCtxDestroy, cuGreenCtxDestroy, cuGreenCtxDestroy, 12040, NO, LATER, P1(struct green *), A1) \
	X(cuGreenCtxStreamCreate, cuGreenCtxStreamCreate, cuGreenCtxStreamCreate, 12050, NO, LATER, P4(struct stream **, struct green *, unsigned, int), A4) \
	X(cuStreamGetGreenCtx, cuStreamGetGreenCtx, cuStreamGetGreenCtx, 12040, NO, LATER, P2(struct stream *, struct green **), A2)

#define DCU_LAUNCH(X) \
	X(cuFuncSetBlockShape, cuFuncSetBlockShape, cuFuncSetBlockShape, 2000, NO, LATER, P4(struct func *, int, int, int), A4) \
	X(cuLaunch, cuLaunch, cuLaunch, 2000, NO, LATER, P1(struct func *), A1) \
	X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, SZ, LATER, P10(struct func *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, struct stream *, void **), A10) \
	X(cuLaunchCooperativeKernelMultiDevice, cuLaunchCooperativeKernelMultiDevice, cuLaunchCooperativeKernelMultiDevice, 9000, NO, LATER, P3(struct launch_params *, unsigned, unsigned), A3) \
	X(cuLaunchGrid, cuLaunchGrid, cuLaunchGrid, 2000, NO, LATER, P3(struct func *, int, int), A3) \
	X(cuLaunchGridAsync, cuLaunchGridAsync, cuLaunchGridAsync, 2000, NO, LATER, P4(struct func *, int, int, struct stream *), A4) \
	X(cuLaunchHostFunc, cuLaunchHostFunc, cuLaunchHostFunc, 10000, SZ, LATER, P3(struct stream *, host_fn, void *), A3) \
	X(cuLaunchKernel, cuLaunchKernel, cuLaunchKernel, 4000, SZ, LATER, P11(struct func *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, struct stream *, void **, void **), A11) \
	X(cuParamSetSize, cuParamSetSize, cuParamSetSize, 2000, NO, LATER, P2(struct func *, unsigned), A2) \
	X(cuParamSetv, cuParamSetv, cuParamSetv, 2000, NO, LATER, P4(struct func *, int, void *, unsigned), A4) \
	X(cuStreamAddCallback, cuStreamAddCallback, cuStreamAddCallback, 5000, SZ, LATER, P4(struct stream *, stream_fn, void *, unsigned), A4) \
	X(cuStreamWaitValue32, cuStreamWaitValue32, cuStreamWaitValue32_v2, 8000, SZ, LATER, P4(struct stream *, uint64_t, uint32_t, unsigned), A4) \
	X(cuStreamWaitValue64, cuStreamWaitValue64, cuStreamWaitValue64_v2, 9000, SZ, LATER, P4(struct stream *, uint64_t, uint64_t, unsigned), A4) \
	X(cuStreamWriteValue32, cuStreamWriteValue32, cuStreamWriteValue32_v2, 8000, SZ, LATER, P4(struct stream *, uint64_t, uint32_t, unsigned), A4) \
	X(cuStreamWriteValue64, cuStreamWriteValue64, cuStreamWriteValue64_v2, 9000, SZ, LATER, P4(struct stream *, uint64_t, uint64_t, unsigned), A4)

#define DCU_LAUNCH_12(X) \
	X(cuLaunchKernelEx, cuLaunchKernelEx, cuLaunchKernelEx, 11060, SZ, LATER, P4(const struct launch_config *, struct func *, void **, void **), A4) \
	X(cuStreamWaitValue32_v2, cuStreamWaitValue32, cuStreamWaitValue32_v2, 11070, SZ, LATER, P4(struct stream *, uint64_t, uint32_t, unsigned), A4) \
	X(cuStreamWaitValue64_v2, cuStreamWaitValue64, cuStreamWaitValue64_v2, 11070, SZ, LATER, P4(struct stream *, uint64_t, uint64_t, unsigned), A4) \
	X(cuStreamWriteValue32_v2, cuStreamWriteValue32, cuStreamWriteValue32_v2, 11070, SZ, LATER, P4(struct stream *, uint64_t, uint32_t, unsigned), A4) \
	X(cuStreamWriteValue64_v2, cuStreamWriteValue64, cuStreamWriteValue64_v2, 11070, SZ, LATER, P4(struct stream *, uint64_t, uint64_t, unsigned), A4)

#define DCU_MODULE(X) \
	X(cuModuleGetFunction, cuModuleGetFunction, cuModuleGetFunction, 2000, NO, LATER, P3(struct func **, struct module *, const char *), A3) \
	X(cuModuleLoadData, cuModuleLoadData, cuModuleLoadData, 2000, NO, LATER, P2(struct module **, const void *), A2) \
	X(cuModuleUnload, cuModuleUnload, cuModuleUnload, 2000, NO, LATER, P1(struct module *), A1)

#define DCU_MODULE_12(X) \
	X(cuFuncLoad, cuFuncLoad, cuFuncLoad, 12040, NO, LATER, P1(struct func *), A1) \
	X(cuLibraryGetKernel, cuLibraryGetKernel, cuLibraryGetKernel, 12000, NO, LATER, P3(struct func **, struct module *, const char *), A3) \
	X(cuLibraryLoadData, cuLibraryLoadData, cuLibraryLoadData, 12000, NO, LATER, P8(struct module **, const void *, int *, void **, unsigned, int *, void **, unsigned), A8)

#define DCU_PARAMS(X) \
	X(cuGraphAddHostNode, cuGraphAddHostNode, cuGraphAddHostNode, 10000, NO, LATER, P5(struct node **, struct graph *, struct node *const*, size_t, const struct host_params *), A5) \
	X(cuGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent, 11010, NO, LATER, P3(struct exec *, struct node *, struct event *), A3) \
	X(cuGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams, 10020, NO, LATER, P3(struct exec *, struct node *, const struct host_params *), A3) \
	X(cuGraphHostNodeGetParams, cuGraphHostNodeGetParams, cuGraphHostNodeGetParams, 10000, NO, LATER, P2(struct node *, struct host_params *), A2) \
	X(cuGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams, 10000, NO, LATER, P2(struct node *, struct set_params *), A2) \
	X(cuGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams, 10000, NO, LATER, P2(struct node *, const struct set_params *), A2) \
	X(cuGraphRetainUserObject, cuGraphRetainUserObject, cuGraphRetainUserObject, 11030, NO, LATER, P4(struct graph *, struct object *, unsigned, unsigned), A4) \
	X(cuUserObjectCreate, cuUserObjectCreate, cuUserObjectCreate, 11030, NO, LATER, P5(struct object **, void *, host_fn, unsigned, unsigned), A5) \
	X(cuUserObjectRelease, cuUserObjectRelease, cuUserObjectRelease, 11030, NO, LATER, P2(struct object *, unsigned), A2)

#define DCU_POOL_12(X) \
	X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020, NO, LATER, P2(struct pool **, int), A2) \
	X(cuDeviceGetGraphMemAttribute, cuDeviceGetGraphMemAttribute, cuDeviceGetGraphMemAttribute, 11040, NO, LATER, P3(int, int, void *), A3) \
	X(cuDeviceGetMemPool, cuDeviceGetMemPool, cuDeviceGetMemPool, 11020, NO, LATER, P2(struct pool **, int), A2) \
	X(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, 11040, NO, LATER, P1(int), A1) \
	X(cuDeviceSetMemPool, cuDeviceSetMemPool, cuDeviceSetMemPool, 11020, NO, LATER, P2(int, struct pool *), A2) \
	X(cuMemAllocAsync, cuMemAllocAsync, cuMemAllocAsync, 11020, SZ, LATER, P3(uint64_t *, size_t, struct stream *), A3) \
	X(cuMemAllocLaterAsync, cuMemAllocLaterAsync, cuMemAllocAsync, 12090, SZ, LATER, P3(uint64_t *, size_t, struct stream *), A3) \
	X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, SZ, LATER, P4(uint64_t *, size_t, struct pool *, struct stream *), A4) \
	X(cuMemFreeAsync, cuMemFreeAsync, cuMemFreeAsync, 11020, SZ, LATER, P2(uint64_t, struct stream *), A2) \
	X(cuMemPoolCreate, cuMemPoolCreate, cuMemPoolCreate, 11020, NO, LATER, P2(struct pool **, const struct pool_props *), A2) \
	X(cuMemPoolDestroy, cuMemPoolDestroy, cuMemPoolDestroy, 11020, NO, LATER, P1(struct pool *), A1) \
	X(cuMemPoolGetAttribute, cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020, NO, LATER, P3(struct pool *, int, void *), A3) \
	X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020, NO, LATER, P3(struct pool *, int, void *), A3) \
	X(cuMemPoolTrimTo, cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, NO, LATER, P2(struct pool *, size_t), A2)

#define DCU_PROC(X) \
	X(cuGetExportTable, cuGetExportTable, cuGetExportTable, 3000, NO, ANYTIME, P2(const void **, const struct uuid *), A2) \
	X(cuGetProcAddress, cuGetProcAddress, cuGetProcAddress, 11030, NO, ANYTIME, P4(const char *, void **, int, uint64_t), A4)

#define DCU_PROC_12(X) \
	X(cuGetProcAddress_v2, cuGetProcAddress, cuGetProcAddress_v2, 12000, NO, ANYTIME, P5(const char *, void **, int, uint64_t, int *), A5)

#define DCU_SHARE(X) \
	X(cuDestroyExternalMemory, cuDestroyExternalMemory, cuDestroyExternalMemory, 10000, NO, LATER, P1(struct external *), A1) \
	X(cuImportExternalMemory, cuImportExternalMemory, cuImportExternalMemory, 10000, NO, LATER, P2(struct external **, const struct external_handle *), A2) \
	X(cuIpcCloseMemHandle, cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, NO, LATER, P1(uint64_t), A1) \
	X(cuIpcGetMemHandle, cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, NO, LATER, P2(struct shared_bytes *, uint64_t), A2) \
	X(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2, 11000, NO, LATER, P3(uint64_t *, struct shared_bytes, unsigned), A3) \
	X(cuMemPoolExportPointer, cuMemPoolExportPointer, cuMemPoolExportPointer, 11020, NO, LATER, P2(struct shared_bytes *, uint64_t), A2) \
	X(cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle, 11020, NO, LATER, P4(void *, struct pool *, uint32_t, unsigned long long), A4) \
	X(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle, 11020, NO, LATER, P4(struct pool **, void *, uint32_t, unsigned long long), A4) \
	X(cuMemPoolImportPointer, cuMemPoolImportPointer, cuMemPoolImportPointer, 11020, NO, LATER, P3(uint64_t *, struct pool *, struct shared_bytes *), A3)

#define DCU_STREAM(X) \
	X(cuStreamCreate, cuStreamCreate, cuStreamCreate, 2000, NO, LATER, P2(struct stream **, unsigned), A2) \
	X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, NO, LATER, P3(struct stream **, unsigned, int), A3) \
	X(cuStreamDestroy, cuStreamDestroy, cuStreamDestroy_v2, 2000, NO, LATER, P1(struct stream *), A1) \
	X(cuStreamDestroy_v2, cuStreamDestroy, cuStreamDestroy_v2, 4000, NO, LATER, P1(struct stream *), A1) \
	X(cuStreamGetCtx, cuStreamGetCtx, cuStreamGetCtx, 9020, SZ, LATER, P2(struct stream *, struct ctx **), A2) \
	X(cuStreamGetFlags, cuStreamGetFlags, cuStreamGetFlags, 5050, SZ, LATER, P2(struct stream *, unsigned *), A2) \
	X(cuStreamQuery, cuStreamQuery, cuStreamQuery, 2000, SZ, LATER, P1(struct stream *), A1) \
	X(cuStreamSynchronize, cuStreamSynchronize, cuStreamSynchronize, 2000, SZ, LATER, P1(struct stream *), A1)

#define DCU_VMM_12(X) \
	X(cuMemAddressFree, cuMemAddressFree, cuMemAddressFree, 10020, NO, LATER, P2(uint64_t, size_t), A2) \
	X(cuMemAddressReserve, cuMemAddressReserve, cuMemAddressReserve, 10020, NO, LATER, P5(uint64_t *, size_t, size_t, uint64_t, unsigned long long), A5) \
	X(cuMemCreate, cuMemCreate, cuMemCreate, 10020, NO, LATER, P4(struct phys **, size_t, const struct allocation_prop *, unsigned long long), A4) \
	X(cuMemExportToShareableHandle, cuMemExportToShareableHandle, cuMemExportToShareableHandle, 10020, NO, LATER, P4(void *, struct phys *, uint32_t, unsigned long long), A4) \
	X(cuMemGetHandleForAddressRange, cuMemGetHandleForAddressRange, cuMemGetHandleForAddressRange, 11070, NO, LATER, P5(void *, uint64_t, size_t, int, unsigned long long), A5) \
	X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020, NO, LATER, P3(struct phys **, void *, uint32_t), A3) \
	X(cuMemMap, cuMemMap, cuMemMap, 10020, NO, LATER, P5(uint64_t, size_t, size_t, struct phys *, unsigned long long), A5) \
	X(cuMemRelease, cuMemRelease, cuMemRelease, 10020, NO, LATER, P1(struct phys *), A1) \
	X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000, NO, LATER, P2(struct phys **, void *), A2) \
	X(cuMemSetAccess, cuMemSetAccess, cuMemSetAccess, 10020, NO, LATER, P4(uint64_t, size_t, const struct access *, size_t), A4) \
	X(cuMemUnmap, cuMemUnmap, cuMemUnmap, 10020, NO, LATER, P2(uint64_t, size_t), A2) \
	X(cuMulticastCreate, cuMulticastCreate, cuMulticastCreate, 12010, NO, LATER, P2(struct phys **, const struct multicast_prop *), A2)

/* The calls of a driver of CUDA 11, which lacks pools and virtual memory, and the later
 * ones. */
#define DCU_SINCE_11(X) \
	DCU_ALLOC(X) \
	DCU_ARRAY(X) \
	DCU_BATCH(X) \
	DCU_CAPTURE(X) \
	DCU_CONTEXT(X) \
	DGP_COPY(X) \
	DCU_DEVICE(X) \
	DCU_ERROR(X) \
	DCU_EVENT(X) \
	DCU_EXEC(X) \
	DCU_GRAPH_API(X) \
	DCU_LAUNCH(X) \
	DCU_MODULE(X) \
	DCU_OUTSIDE(X) \
	DCU_PARAMS(X) \
	DCU_PROC(X) \
	DCU_SHARE(X) \
	DCU_STREAM(X)

#define DCU_SINCE_12(X) \
	DCU_ARRAY_12(X) \
	DCU_BATCH_12(X) \
	DCU_CAPTURE_12(X) \
	DCU_CONTEXT_12(X) \
	DCU_CUDA_13_12(X) \
	DCU_DEVICE_12(X) \
	DCU_EXEC_12(X) \
	DCU_GRAPH_API_12(X) \
	DCU_GREEN_12(X) \
	DCU_LAUNCH_12(X) \
	DCU_MODULE_12(X) \
	DCU_POOL_12(X) \
	DCU_PROC_12(X) \
	DCU_VMM_12(X)
/* clang-format on */

#define DCU_PROTOTYPE(                                                         \
	symbol, base, function, version, streams, when, parameters, arguments) \
	int dcu_##function parameters;
DCU_SINCE_11(DCU_PROTOTYPE)
DCU_SINCE_12(DCU_PROTOTYPE)
