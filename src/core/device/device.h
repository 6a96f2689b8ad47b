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

/* What programs must be compiled for; each is "" if it is not known. */
struct clv_generation {
	char cuda[16];         /* the newest CUDA of the driver: "12.2" */
	char architecture[24]; /* "hopper", "gfx942" */
	char capability[8];    /* CUDA's compute capability: "9.0" */
};

struct clv_device {
	char name[72]; /* "gpu0"; of a partition, "gpu0/1g.10gb@4" */
	char uuid[96];
	char model[CLV_DEVICE_TEXT_MAX];
	char vendor[CLV_DEVICE_TEXT_MAX];
	char driver[CLV_DEVICE_TEXT_MAX]; /* version */
	struct clv_generation generation;
	char type[16];        /* "gpu", "cpu", "accelerator" */
	char visible[16];     /* the number by which programs select it; "": its UUID */
	const char *backend;  /* static: "opencl" */
	const char *executor; /* static: "gate", "hardware", "none" */
	uint64_t memory_bytes;
	uint64_t max_allocation_bytes;
	uint32_t compute_units;
	struct clv_device_locator locator;
	/* Set for a partition, which its tenant sees as a device; "" for a whole
	 * device. */
	char parent[96];      /* the UUID of the device that it is a part of */
	char scheme[8];       /* "mig", "xcp", "vf", "cores" */
	char profile[40];     /* "1g.10gb" */
	char address[96];     /* clv_partition.address */
	char pci_address[16]; /* only of a whole device; "" if it has none */
};
