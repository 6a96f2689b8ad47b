/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* A physical GPU, or the CPU as OpenCL sees it.  Plain data: copied freely, owns nothing.
 */
#define CLV_DEVICE_TEXT_MAX 128

/* How a gate recognises the device among those that the vendor's library shows it. */
struct clv_device_locator {
	char platform[CLV_DEVICE_TEXT_MAX]; /* OpenCL: CL_PLATFORM_NAME */
	char model[CLV_DEVICE_TEXT_MAX];    /* OpenCL: CL_DEVICE_NAME */
	uint32_t ordinal; /* among the platform's devices of all types */
};

struct clv_device {
	char name[16]; /* "gpu0" */
	char uuid[64];
	char model[CLV_DEVICE_TEXT_MAX];
	char vendor[CLV_DEVICE_TEXT_MAX];
	char driver[CLV_DEVICE_TEXT_MAX]; /* version */
	char type[16];                    /* "gpu", "cpu", "accelerator" */
	const char *backend;              /* static: "opencl" */
	const char *executor;             /* static: "gate", "hardware", "none" */
	uint64_t memory_bytes;
	uint64_t max_allocation_bytes;
	uint32_t compute_units;
	struct clv_device_locator locator;
};
