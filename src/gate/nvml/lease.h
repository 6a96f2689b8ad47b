/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/nvml/abi.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_view;

#define CLV_NVML_DEVICES_MAX 64u

/* What a program may see through NVML. */
enum clv_nvml_sight {
	CLV_NVML_ALL,     /* it may run without a lease, and does */
	CLV_NVML_LEASE,   /* its lease's part */
	CLV_NVML_NOTHING, /* it was refused */
};

/* Attaches the process if it is not yet.  *ret_view is set with CLV_NVML_LEASE alone.
 * Never waits for a turn, nor for an agent that died: then the last that is known holds,
 * and the next agent is looked for. */
enum clv_nvml_sight clv_nvml_look(const struct clv_view **ret_view);

struct clv_nvml_device {
	void *gpu; /* that it is, or that it is a part of */
	void *mig; /* NULL: the whole GPU */
};

struct clv_nvml_devices {
	struct clv_nvml_device items[CLV_NVML_DEVICES_MAX];
	uint32_t n;
};

/* The lease's devices, in its order; a lease has no two parts of one GPU.  With
 * CLV_NVML_NOTHING there are none.  Returns the driver's code; what the driver does not
 * have is left out. */
int clv_nvml_find_devices(const struct clv_view *view, struct clv_nvml_devices *ret);

bool clv_nvml_is_same_device(void *a, void *b);

/* Whether the process is one of the lease's, and what it has charged. */
bool clv_nvml_find_process(
	const struct clv_view *view, uint32_t pid, uint64_t *ret_memory_bytes);
