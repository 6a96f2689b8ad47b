/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "../gate/checks.h"

/* HIP as programs declare it, for tests that link libamdhip64. ROCM is 5 or 6. */

typedef void *handle;

struct dim3 {
	uint32_t x, y, z;
};

int hipInit(unsigned flags);
int hipGetDeviceCount(int *n);
int hipSetDevice(int device);
int hipDeviceSynchronize(void);
int hipDeviceTotalMem(size_t *bytes, int device);
int hipModuleLoadData(handle *module, const void *image);
int hipModuleGetFunction(handle *function, handle module, const char *name);
int hipModuleLaunchKernel(handle function, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, handle stream,
	void **parameters, void **extra);
int hipLaunchKernel(const void *host, struct dim3 grid, struct dim3 block,
	void **parameters, size_t shared, handle stream);
int hipLaunchKernel_spt(const void *host, struct dim3 grid, struct dim3 block,
	void **parameters, size_t shared, handle stream);
int hipStreamCreateWithFlags(handle *stream, unsigned flags);
int hipStreamDestroy(handle stream);
int hipStreamSynchronize(handle stream);
int hipStreamSynchronize_spt(handle stream);
int hipMalloc(void **p, size_t bytes);
int hipFree(void *p);
int hipMemGetInfo(size_t *free_bytes, size_t *total_bytes);
int hipStreamBeginCapture(handle stream, int mode);
int hipStreamEndCapture(handle stream, handle *graph);
int hipGraphInstantiate(
	handle *exec, handle graph, handle *node, char *log, size_t bytes);
int hipGraphLaunch(handle exec, handle stream);
void **__hipRegisterFatBinary(const void *binary);
void __hipRegisterFunction(void **modules, const void *host, const char *device_name,
	const char *name, unsigned limit, void *tid, void *bid, void *block, void *grid,
	int *warp);

/* A kernel of the double that runs for as many nanoseconds as its u64 parameter says:
 * from a module, or by the stub that a compiler would generate. */
#define SPIN_MODULE "cleave-double-module\nkernel spin param\n"

static inline handle load_spin(void)
{
	handle module, function;

	OK(hipModuleLoadData(&module, SPIN_MODULE));
	OK(hipModuleGetFunction(&function, module, "spin"));
	return function;
}

static inline const void *register_spin(void)
{
	static const struct {
		unsigned magic, version;
		const void *binary;
		void *unused;
	} binary = {0x48495046u, 1, SPIN_MODULE, NULL};
	static const char stub;

	__hipRegisterFunction(__hipRegisterFatBinary(&binary), &stub, "spin", "spin", 0,
		NULL, NULL, NULL, NULL, NULL);
	return &stub;
}
