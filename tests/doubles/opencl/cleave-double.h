/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <CL/cl_ext.h>
#include <stdint.h>

/* What a test may know of the OpenCL double: the environment variables that it reads when
 * it is loaded, and one extension function that reports its counters while it runs.
 * tests/doubles/README.md describes each variable. */
#define CLEAVE_DOUBLE_ENV_DEVICES "CLEAVE_DOUBLE_DEVICES"
#define CLEAVE_DOUBLE_ENV_COMPUTE_UNITS "CLEAVE_DOUBLE_COMPUTE_UNITS"
#define CLEAVE_DOUBLE_ENV_MEMORY "CLEAVE_DOUBLE_MEMORY"
#define CLEAVE_DOUBLE_ENV_KERNEL_US "CLEAVE_DOUBLE_KERNEL_US"
#define CLEAVE_DOUBLE_ENV_DEVICE "CLEAVE_DOUBLE_DEVICE"
#define CLEAVE_DOUBLE_ENV_OOO "CLEAVE_DOUBLE_OOO"
#define CLEAVE_DOUBLE_ENV_FINISH "CLEAVE_DOUBLE_FINISH"
#define CLEAVE_DOUBLE_ENV_COPIES "CLEAVE_DOUBLE_COPIES"
#define CLEAVE_DOUBLE_ENV_ROW "CLEAVE_DOUBLE_ROW"
#define CLEAVE_DOUBLE_ENV_TABLES "CLEAVE_DOUBLE_TABLES"
#define CLEAVE_DOUBLE_ENV_ALLOC_US "CLEAVE_DOUBLE_ALLOC_US"
#define CLEAVE_DOUBLE_ENV_FAIL_ALLOC "CLEAVE_DOUBLE_FAIL_ALLOC"
#define CLEAVE_DOUBLE_ENV_FAIL_ENQUEUE "CLEAVE_DOUBLE_FAIL_ENQUEUE"
#define CLEAVE_DOUBLE_ENV_STATS "CLEAVE_DOUBLE_STATS"

/* Counters of this process, since the double was loaded.  The members that follow `bytes`
 * are sums over all devices. */
struct cleave_double_stats {
	uint64_t enqueues;    /* commands accepted by any enqueue call */
	uint64_t kernels;     /* of these, kernels */
	uint64_t flushes;     /* clFlush, clFinish and implicit flushes that had work */
	uint64_t completed;   /* commands that ran or were terminated */
	uint64_t never_run;   /* enqueues - completed */
	uint64_t busy_ns;     /* time for which kernels held a device */
	uint64_t allocations; /* charged allocations made */
	uint64_t live_bytes;  /* charged and not yet released */
	uint64_t peak_bytes;  /* the most that were live at once */
	uint64_t live_mem_objects;
	uint64_t live_events;
	uint64_t live_queues;
	uint64_t live_contexts;
	uint64_t live_kernels;
	uint64_t live_programs;
};

/* clGetExtensionFunctionAddressForPlatform(platform, CLEAVE_DOUBLE_STATS_FN). */
#define CLEAVE_DOUBLE_STATS_FN "clGetDoubleStatsCLEAVE"
typedef cl_int(CL_API_CALL *clGetDoubleStatsCLEAVE_fn)(struct cleave_double_stats *ret);

/* Headers of 2023 have it, as a beta extension, or not at all. */
typedef cl_command_buffer_khr(CL_API_CALL *clRemapCommandBufferKHR_fn)(
	cl_command_buffer_khr buffer, cl_bool automatic, cl_uint n_queues,
	const cl_command_queue *queues, cl_uint n_handles,
	const cl_mutable_command_khr *handles, cl_mutable_command_khr *ret_handles,
	cl_int *errcode_ret);
