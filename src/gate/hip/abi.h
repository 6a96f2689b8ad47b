/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/window/costs.h"

#include <stddef.h>
#include <stdint.h>

/* The part of HIP's ABI that the gate needs.  Handles are void pointers, enums are int.
 * Source: hip_runtime_api.h and driver_types.h of ROCm 5.2 to 7.2. */

enum {
	CLV_HIP_SUCCESS = 0,
	CLV_HIP_INVALID_VALUE = 1,
	CLV_HIP_OUT_OF_MEMORY = 2,
	CLV_HIP_NOT_SUPPORTED = 801,
};

#define CLV_HIP_NODE_SEMAPHORE_WAIT 9     /* since ROCm 6, which has such nodes */
#define CLV_HIP_SEMAPHORE_VALUE_BYTES 136 /* size of hipExternalSemaphoreWaitParams */

#define CLV_HIP_STREAM_NON_BLOCKING 1u

#define CLV_HIP_ATTRIBUTE_TOTAL_MEMORY 84 /* hipDeviceAttributeTotalGlobalMem */

/* Offsets of totalGlobalMem in hipDeviceProp_t: in the layout until ROCm 5, and in that
 * since ROCm 6 (R0600). */
#define CLV_HIP_PROPERTIES_TOTAL_AT 256
#define CLV_HIP_PROPERTIES_R0600_TOTAL_AT 288

/* A flag and a status of hipGetProcAddress. */
#define CLV_HIP_PROC_PER_THREAD UINT64_C(2)
#define CLV_HIP_PROC_SYMBOL_NOT_FOUND 1

struct clv_hip_dim3 {
	uint32_t x, y, z;
};

/* hipIpcEventHandle_t, which is passed by value. */
struct clv_hip_ipc {
	char bytes[64];
};

struct clv_hip_pitched {
	void *p;
	size_t pitch, width, height;
};

struct clv_hip_extent {
	size_t width, height, depth;
};

struct clv_hip_position {
	size_t x, y, z;
};

/* hipLaunchConfig_t */
struct clv_hip_launch {
	struct clv_hip_dim3 grid, block;
	size_t shared_bytes;
	void *stream;
	void *attributes;
	uint32_t n_attributes;
};

/* HIP_LAUNCH_CONFIG */
struct clv_hip_drv_launch {
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_bytes;
	void *stream;
	void *attributes;
	uint32_t n_attributes;
};

/* hipLaunchParams */
struct clv_hip_launch_of_several {
	void *function;
	struct clv_hip_dim3 grid, block;
	void **arguments;
	size_t shared_bytes;
	void *stream;
};

/* hipFunctionLaunchParams */
struct clv_hip_module_launch_of_several {
	void *function;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared_bytes;
	void *stream;
	void **parameters;
};

struct clv_hip_copy_end_2d {
	size_t x_bytes, y;
	int memory_type;
	void *host;
	void *device;
	void *array;
	size_t pitch;
};

/* hip_Memcpy2D */
struct clv_hip_copy_2d {
	struct clv_hip_copy_end_2d from, to;
	size_t width_bytes, height;
};

/* hipMemcpy3DParms */
struct clv_hip_copy_3d {
	void *from_array;
	struct clv_hip_position from_at;
	struct clv_hip_pitched from;
	void *to_array;
	struct clv_hip_position to_at;
	struct clv_hip_pitched to;
	struct clv_hip_extent extent;
	int how;
};

/* Values from a program's description of a launch or copy.  A description that is NULL
 * goes to HIP, which returns its error.  Inline, because the fast path uses them. */
static inline void *clv_hip_launch_stream(const struct clv_hip_launch *launch)
{
	return launch ? launch->stream : NULL;
}

static inline uint64_t clv_hip_launch_kind(
	const void *function, const struct clv_hip_launch *launch)
{
	return launch ? clv_cost_key_kernel(
				function, launch->grid.x, launch->grid.y, launch->grid.z)
		      : 0;
}

static inline void *clv_hip_drv_launch_stream(const struct clv_hip_drv_launch *launch)
{
	return launch ? launch->stream : NULL;
}

static inline uint64_t clv_hip_drv_launch_kind(
	const void *function, const struct clv_hip_drv_launch *launch)
{
	return launch ? clv_cost_key_kernel(function, launch->grid[0], launch->grid[1],
				launch->grid[2])
		      : 0;
}

static inline size_t clv_hip_copy_bytes_2d(const struct clv_hip_copy_2d *copy)
{
	return copy ? copy->width_bytes * copy->height : 0;
}

static inline size_t clv_hip_copy_bytes_3d(const struct clv_hip_copy_3d *copy)
{
	return copy ? copy->extent.width * copy->extent.height * copy->extent.depth : 0;
}
