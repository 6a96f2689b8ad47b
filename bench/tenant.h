/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ocl.h"
#include <stdint.h>

enum { TENANT_DEPTH_MAX = 1024, TENANT_KERNELS_MAX = 8 };

enum tenant_mode {
	TENANT_DEEP,     /* a queue kept depth kernels deep */
	TENANT_SYNC,     /* clFinish after every launch */
	TENANT_GAPS,     /* like sync, with a pause on the host after each */
	TENANT_REQUESTS, /* n kernels at intervals; latencies are recorded */
	TENANT_BURSTS,   /* deep for a while, then idle for a while */
};

struct tenant_options {
	const char *log; /* one file per process, from LOG.0 on; NULL: none */
	enum tenant_mode mode;
	uint32_t kernel_us[TENANT_KERNELS_MAX];
	int kernels;
	uint32_t depth;
	uint32_t gap_us;
	uint32_t request_us, hz;
	uint32_t burst_us, idle_us;
	uint32_t idle_at_ms, idle_for_ms;
	int out_of_order;
	int processes;
	uint32_t seed;
	struct bench_cal cal;
};

/* The log is a sequence of these records, in the machine's byte order. Times are
 * nanoseconds of CLOCK_MONOTONIC_RAW, which PoCL's profiling uses in every process. */
enum { TENANT_KERNEL = 1, TENANT_REQUEST = 2, TENANT_IDLE = 3 };

struct tenant_record {
	uint64_t start_ns, end_ns;
	uint32_t kind;
	uint32_t work_ns; /* a kernel's calibrated length: the unit of work */
};

_Static_assert(
	sizeof(struct tenant_record) == 24, "the referee reads records of 24 bytes");

/* Returns the mode of that name, or -1. */
int tenant_mode_parse(const char *name);

/* Runs one process of the workload until "quit" or the end of the input. */
int tenant_main(const struct tenant_options *opt, int process);
int tenant_calibrate(void);
