/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/nvml/abi.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_view;

#define CLV_NVML_DEVICES_MAX 64u

/* What a program may see through NVML. */
enum clv_nvml_sight {
	CLV_NVML_ALL,     /* everything: it may run without a lease, and does */
	CLV_NVML_LEASE,   /* what belongs to its lease */
	CLV_NVML_NOTHING, /* nothing: it may not attach */
};

/* Returns what this process may see, and attaches it first if it is not attached.
 * *ret_view is NULL except with CLV_NVML_LEASE.  Never waits for a turn or for an agent:
 * if the agent died, the view keeps the last known values while a thread looks for the
 * next agent. */
enum clv_nvml_sight clv_nvml_get_sight(const struct clv_view **ret_view);

struct clv_nvml_device {
	void *gpu; /* the GPU, or the GPU of the MIG device */
	void *mig; /* NULL: the whole GPU */
};

struct clv_nvml_devices {
	struct clv_nvml_device items[CLV_NVML_DEVICES_MAX];
	uint32_t n;
};

/* Finds the lease's devices, in the lease's order; a lease never has two parts of one
 * GPU.  With a view of NULL (CLV_NVML_NOTHING) there are none.  Returns the driver's
 * code; a device that the driver does not know is left out. */
int clv_nvml_find_devices(const struct clv_view *view, struct clv_nvml_devices *ret);

bool clv_nvml_is_same_device(void *a, void *b);

/* Whether the process is one of the lease's, and the memory that it has charged. */
bool clv_nvml_find_process(
	const struct clv_view *view, uint32_t pid, uint64_t *ret_memory_bytes);
