/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "hip.h"

/* The functions of HIP that exist. generate.py reads this: a parameter has a name, and
 * the file of faults can make a function that returns int fail. */

#pragma GCC visibility push(default)

/* --- Devices and errors --- */
int hipInit(unsigned flags);
int hipDriverGetVersion(int *ret);
int hipRuntimeGetVersion(int *ret);
int hipGetDeviceCount(int *ret);
int hipGetDevice(int *ret);
int hipSetDevice(int device);
int hipDeviceGetName(char *ret, int bytes, int device);
int hipDeviceGetUuid(struct uuid *ret, int device);
int hipDeviceTotalMem(size_t *ret, int device);
int hipDeviceGetAttribute(int *ret, int attribute, int device);
int hipDeviceGetPCIBusId(char *ret, int bytes, int device);
int hipDeviceGetByPCIBusId(int *ret, const char *bdf);
int hipGetDeviceProperties(struct props_5 *ret, int device);
int hipGetDevicePropertiesR0000(struct props_5 *ret, int device);
int hipGetDevicePropertiesR0600(struct props_6 *ret, int device);
int hipDeviceSynchronize(void);
int hipDeviceReset(void);
int hipDeviceGetStreamPriorityRange(int *least, int *greatest);
hip_plain hipGetLastError(void);
hip_plain hipPeekAtLastError(void);
const char *hipGetErrorName(int error);
const char *hipGetErrorString(int error);
int hipDrvGetErrorName(int error, const char **ret);
int hipDrvGetErrorString(int error, const char **ret);
const char *hipKernelNameRefByPtr(const void *host, struct stream *stream);
int hipGetProcAddress(
	const char *name, void **ret, int version, uint64_t flags, int *ret_status);

/* --- Contexts: one for each device --- */
int hipCtxCreate(struct ctx **ret, unsigned flags, int device);
int hipCtxDestroy(struct ctx *ctx);
int hipCtxSetCurrent(struct ctx *ctx);
int hipCtxPushCurrent(struct ctx *ctx);
int hipCtxPopCurrent(struct ctx **ret);
int hipCtxSynchronize(void);

/* --- Memory --- */
int hipMalloc(void **ret, size_t bytes);
int hipExtMallocWithFlags(void **ret, size_t bytes, unsigned flags);
int hipMallocManaged(void **ret, size_t bytes, unsigned flags);
int hipMallocPitch(void **ret, size_t *pitch, size_t width, size_t height);
int hipMalloc3D(struct pitched *ret, struct extent extent);
int hipFree(void *p);
int hipHostMalloc(void **ret, size_t bytes, unsigned flags);
int hipHostFree(void *p);
int hipHostRegister(void *p, size_t bytes, unsigned flags);
int hipHostUnregister(void *p);
int hipHostGetDevicePointer(void **ret, void *host, unsigned flags);
int hipMemGetInfo(size_t *ret_free, size_t *ret_total);
int hipMemGetAddressRange(void **base, size_t *bytes, void *p);
int hipPointerGetAttributes(struct pointer_attributes *ret, const void *p);
int hipMemPrefetchAsync(const void *p, size_t bytes, int device, struct stream *stream);
int hipIpcGetEventHandle(struct hip_ipc *ret, struct event *event);
int hipIpcOpenEventHandle(struct event **ret, struct hip_ipc handle);
int hipIpcGetMemHandle(struct hip_ipc *ret, void *p);
int hipIpcOpenMemHandle(void **ret, struct hip_ipc handle, unsigned flags);
int hipIpcCloseMemHandle(void *p);

/* --- Copies and fills --- */
int hipMemcpy(void *dst, const void *src, size_t bytes, int kind);
int hipMemcpyAsync(
	void *dst, const void *src, size_t bytes, int kind, struct stream *stream);
int hipMemcpyWithStream(
	void *dst, const void *src, size_t bytes, int kind, struct stream *stream);
int hipMemcpyHtoD(void *dst, void *src, size_t bytes);
int hipMemcpyDtoH(void *dst, void *src, size_t bytes);
int hipMemcpyDtoD(void *dst, void *src, size_t bytes);
int hipMemcpyHtoDAsync(void *dst, void *src, size_t bytes, struct stream *stream);
int hipMemcpyDtoHAsync(void *dst, void *src, size_t bytes, struct stream *stream);
int hipMemcpyDtoDAsync(void *dst, void *src, size_t bytes, struct stream *stream);
int hipMemcpyPeer(
	void *dst, int dst_device, const void *src, int src_device, size_t bytes);
int hipMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
	size_t bytes, struct stream *stream);
int hipMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
	size_t width, size_t height, int kind);
int hipMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
	size_t width, size_t height, int kind, struct stream *stream);
int hipMemcpyParam2D(const struct copy_2d *copy);
int hipMemcpyParam2DAsync(const struct copy_2d *copy, struct stream *stream);
int hipMemcpy3D(const struct copy_3d *copy);
int hipMemcpy3DAsync(const struct copy_3d *copy, struct stream *stream);
int hipMemcpy2DToArray(struct array *dst, size_t x, size_t y, const void *src,
	size_t pitch, size_t width, size_t height, int kind);
int hipMemcpy2DToArrayAsync(struct array *dst, size_t x, size_t y, const void *src,
	size_t pitch, size_t width, size_t height, int kind, struct stream *stream);
int hipMemcpy2DFromArray(void *dst, size_t pitch, const struct array *src, size_t x,
	size_t y, size_t width, size_t height, int kind);
int hipMemcpy2DFromArrayAsync(void *dst, size_t pitch, const struct array *src, size_t x,
	size_t y, size_t width, size_t height, int kind, struct stream *stream);
int hipMemset(void *dst, int value, size_t bytes);
int hipMemsetAsync(void *dst, int value, size_t bytes, struct stream *stream);
int hipMemsetD8(void *dst, unsigned char value, size_t count);
int hipMemsetD16(void *dst, unsigned short value, size_t count);
int hipMemsetD32(void *dst, int value, size_t count);
int hipMemsetD8Async(void *dst, unsigned char value, size_t count, struct stream *stream);
int hipMemsetD16Async(
	void *dst, unsigned short value, size_t count, struct stream *stream);
int hipMemsetD32Async(void *dst, int value, size_t count, struct stream *stream);
int hipMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height);
int hipMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height,
	struct stream *stream);
int hipMemset3D(struct pitched dst, int value, struct extent extent);
int hipMemset3DAsync(
	struct pitched dst, int value, struct extent extent, struct stream *stream);

/* --- Arrays --- */
int hipMallocArray(struct array **ret, const struct channels *channels, size_t width,
	size_t height, unsigned flags);
int hipMalloc3DArray(struct array **ret, const struct channels *channels,
	struct extent extent, unsigned flags);
int hipArray3DCreate(struct array **ret, const struct array_3d_desc *desc);
int hipFreeArray(struct array *array);
int hipArrayDestroy(struct array *array);
int hipMallocMipmappedArray(struct mipmap **ret, const struct channels *channels,
	struct extent extent, unsigned levels, unsigned flags);
int hipFreeMipmappedArray(struct mipmap *mipmap);
int hipGetMipmappedArrayLevel(
	struct array **ret, const struct mipmap *mipmap, unsigned level);

/* --- Streams and events --- */
int hipStreamCreate(struct stream **ret);
int hipStreamCreateWithFlags(struct stream **ret, unsigned flags);
int hipStreamCreateWithPriority(struct stream **ret, unsigned flags, int priority);
int hipExtStreamCreateWithCUMask(
	struct stream **ret, uint32_t words, const uint32_t *mask);
int hipExtStreamGetCUMask(struct stream *stream, uint32_t words, uint32_t *ret);
int hipStreamDestroy(struct stream *stream);
int hipStreamQuery(struct stream *stream);
int hipStreamSynchronize(struct stream *stream);
int hipStreamWaitEvent(struct stream *stream, struct event *event, unsigned flags);
int hipStreamGetFlags(struct stream *stream, unsigned *ret);
hip_plain hipGetStreamDeviceId(struct stream *stream);
int hipStreamAddCallback(struct stream *stream, stream_fn fn, void *user, unsigned flags);
int hipLaunchHostFunc(struct stream *stream, host_fn fn, void *user);
int hipStreamWaitValue32(
	struct stream *stream, void *p, uint32_t value, unsigned flags, uint32_t mask);
int hipStreamWaitValue64(
	struct stream *stream, void *p, uint64_t value, unsigned flags, uint64_t mask);
int hipStreamWriteValue32(struct stream *stream, void *p, uint32_t value, unsigned flags);
int hipStreamWriteValue64(struct stream *stream, void *p, uint64_t value, unsigned flags);
int hipEventCreate(struct event **ret);
int hipEventCreateWithFlags(struct event **ret, unsigned flags);
int hipEventDestroy(struct event *event);
int hipEventRecord(struct event *event, struct stream *stream);
int hipEventQuery(struct event *event);
int hipEventSynchronize(struct event *event);
int hipEventElapsedTime(float *ret, struct event *from, struct event *to);

/* --- Modules and launches --- */
int hipModuleLoadData(struct module **ret, const void *image);
int hipModuleUnload(struct module *module);
int hipModuleGetFunction(struct func **ret, struct module *module, const char *name);
int hipModuleLaunchKernel(struct func *f, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, struct stream *stream,
	void **params, void **extra);
int hipModuleLaunchCooperativeKernel(struct func *f, unsigned gx, unsigned gy,
	unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
	struct stream *stream, void **params);
int hipExtModuleLaunchKernel(struct func *f, uint32_t wx, uint32_t wy, uint32_t wz,
	uint32_t bx, uint32_t by, uint32_t bz, size_t shared, struct stream *stream,
	void **params, void **extra, struct event *start, struct event *stop,
	uint32_t flags);
int hipHccModuleLaunchKernel(struct func *f, uint32_t wx, uint32_t wy, uint32_t wz,
	uint32_t bx, uint32_t by, uint32_t bz, size_t shared, struct stream *stream,
	void **params, void **extra, struct event *start, struct event *stop);
int hipLaunchKernel(const void *host, struct dim3 grid, struct dim3 block, void **args,
	size_t shared, struct stream *stream);
int hipExtLaunchKernel(const void *host, struct dim3 grid, struct dim3 block, void **args,
	size_t shared, struct stream *stream, struct event *start, struct event *stop,
	int flags);
int hipLaunchCooperativeKernel(const void *host, struct dim3 grid, struct dim3 block,
	void **args, unsigned shared, struct stream *stream);
int hipLaunchCooperativeKernelMultiDevice(struct launch *launches, int n, unsigned flags);
int hipExtLaunchMultiKernelMultiDevice(struct launch *launches, int n, unsigned flags);
int hipLaunchKernelExC(const struct launch_config *config, const void *host, void **args);
int hipDrvLaunchKernelEx(const struct drv_launch_config *config, struct func *f,
	void **params, void **extra);
int hipConfigureCall(
	struct dim3 grid, struct dim3 block, size_t shared, struct stream *stream);
int hipSetupArgument(const void *arg, size_t bytes, size_t offset);
int hipLaunchByPtr(const void *host);
hip_plain __hipPushCallConfiguration(
	struct dim3 grid, struct dim3 block, size_t shared, struct stream *stream);
hip_plain __hipPopCallConfiguration(
	struct dim3 *grid, struct dim3 *block, size_t *shared, struct stream **stream);
void **__hipRegisterFatBinary(const void *binary);
void __hipRegisterFunction(void **modules, const void *host, char *device_name,
	const char *name, unsigned limit, void *tid, void *bid, void *block, void *grid,
	int *warp);
void __hipUnregisterFatBinary(void **modules);

#include "functions-more.h"

#pragma GCC visibility pop
