/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The driver API as programs declare it; the numbers are those of the vendor's header. */

typedef void *cuda_handle;

int cuInit(unsigned flags);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDevicePrimaryCtxRetain(cuda_handle *context, int device);
int cuCtxSetCurrent(cuda_handle context);
int cuModuleLoadData(cuda_handle *module, const void *image);
int cuModuleGetFunction(cuda_handle *function, cuda_handle module, const char *name);
int cuLaunchKernel(cuda_handle function, unsigned gx, unsigned gy, unsigned gz,
	unsigned bx, unsigned by, unsigned bz, unsigned shared, cuda_handle stream,
	void **parameters, void **extra);
int cuStreamCreate(cuda_handle *stream, unsigned flags);
int cuStreamSynchronize(cuda_handle stream);
int cuStreamWaitEvent(cuda_handle stream, cuda_handle event, unsigned flags);
int cuEventCreate(cuda_handle *event, unsigned flags);
int cuEventRecord(cuda_handle event, cuda_handle stream);
int cuEventSynchronize(cuda_handle event);
int cuMemAlloc_v2(uint64_t *at, size_t bytes);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, cuda_handle stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, cuda_handle stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, cuda_handle stream);
int cuMemHostAlloc(void **address, uint64_t bytes, unsigned flags);
int cuMemHostGetDevicePointer_v2(uint64_t *at, void *address, unsigned flags);

#define OK(call)                                                                      \
	do {                                                                          \
		int result_ = (call);                                                 \
		if (result_ != 0) {                                                   \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, \
				result_);                                             \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

enum { WORK_STAMPS = 4096 };

/* What the kernels write, in memory that the program reads while they run. */
struct work_page {
	volatile uint64_t progress; /* loops completed by all kernels */
	volatile uint64_t result;
	volatile uint64_t stamps[WORK_STAMPS]; /* %globaltimer at a kernel's first
						  instruction */
};

/* A kernel's length is a number of loops, not a time: a kernel that waits for a time
 * would end at that time even if it was preempted. */
struct work {
	cuda_handle function, stream;
	struct work_page *page;
	uint64_t page_at; /* its address on the GPU */
	double loops_per_us;
	uint64_t launched; /* loops */
	unsigned blocks;
	int is_double;
};

/* Opens the device and loads the kernel. blocks: 0 for as many as fill the GPU. */
void work_open(struct work *work, unsigned blocks);

/* Returns the loops per microsecond on a GPU without other users. */
double work_calibrate(struct work *work);

/* The same in another stream. */
void work_launch_in(struct work *work, cuda_handle stream, uint64_t loops, int stamp);

/* Launches a kernel of this many loops; stamp: the index of the stamp that it writes, or
 * -1. */
void work_launch(struct work *work, uint64_t loops, int stamp);

uint64_t work_now_ns(void);

/* Compares two doubles, for qsort. */
int work_compare(const void *a, const void *b);
