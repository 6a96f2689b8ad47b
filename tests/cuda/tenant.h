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
