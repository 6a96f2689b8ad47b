/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The driver API as programs declare it, for tests that link libcuda.so.1. */

typedef uint64_t dptr;
typedef void *handle;

int cuInit(unsigned flags);
int cuDeviceGetCount(int *n);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDevicePrimaryCtxRetain(handle *context, int device);
int cuCtxSetCurrent(handle context);
int cuCtxGetCurrent(handle *context);
int cuCtxSynchronize(void);
int cuModuleLoadData(handle *module, const void *image);
int cuModuleGetFunction(handle *function, handle module, const char *name);
int cuLaunchKernel(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, handle stream, void **parameters,
	void **extra);
int cuLaunchKernel_ptsz(handle function, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, handle stream,
	void **parameters, void **extra);
int cuStreamCreate(handle *stream, unsigned flags);
int cuStreamSynchronize(handle stream);
int cuStreamSynchronize_ptsz(handle stream);
int cuMemAlloc_v2(dptr *address, size_t bytes);
int cuMemFree_v2(dptr address);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);

#define OK(call)                                                                      \
	do {                                                                          \
		int result_ = (call);                                                 \
		if (result_ != 0) {                                                   \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, \
				result_);                                             \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

/* A kernel that runs for as many nanoseconds as its u64 parameter says, for the driver's
 * double and for GPUs. */
static inline handle load_spin(void)
{
	static const char of_double[] = "cleave-double-module\nkernel spin param\n";
	static const char of_gpu[] =
		".version 7.0\n.target sm_70\n.address_size 64\n"
		".visible .entry spin(.param .u64 ns)\n{\n"
		".reg .u64 %n, %t0, %t1;\n.reg .pred %p;\n"
		"ld.param.u64 %n, [ns];\nmov.u64 %t0, %globaltimer;\n"
		"again:\nmov.u64 %t1, %globaltimer;\nsub.u64 %t1, %t1, %t0;\n"
		"setp.lt.u64 %p, %t1, %n;\n@%p bra again;\nret;\n}\n";
	handle module, function;

	if (cuModuleLoadData(&module, of_double) != 0)
		OK(cuModuleLoadData(&module, of_gpu));
	OK(cuModuleGetFunction(&function, module, "spin"));
	return function;
}
