/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"
#include "base/cleanup.h"

#include <stddef.h>

struct clv_nvidia_processes {
	struct clv_nvml_process *items; /* owned */
	size_t n;
};

/* Appends the compute, graphics and MPS processes of a GPU or MIG device; a process of
 * two kinds appears twice.  Failures of the driver are ignored: the driver still refuses
 * to destroy an instance in use.  -ENOMEM. */
int clv_nvidia_processes_list(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *device, struct clv_nvidia_processes *list);
void clv_nvidia_processes_clear(struct clv_nvidia_processes *list);
#define _cleanup_processes_ CLV_CLEANUP(clv_nvidia_processes_clear)
