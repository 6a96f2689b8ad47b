/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"
#include "base/cleanup.h"

#include <stddef.h>

struct clv_holders;

struct clv_nvidia_processes {
	struct clv_nvml_process *items; /* owned */
	size_t n;
};

/* Appends who runs on a GPU or on a MIG device, of all kinds; one that is of two kinds is
 * there twice.  What the driver does not tell is left out: it still refuses to take
 * something away that is in use.  -ENOMEM. */
int clv_nvidia_processes_list(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *device, struct clv_nvidia_processes *list);
void clv_nvidia_processes_clear(struct clv_nvidia_processes *list);
#define _cleanup_processes_ CLV_CLEANUP(clv_nvidia_processes_clear)

/* Adds the process, once.  -ENOMEM */
int clv_nvidia_processes_hold(struct clv_holders *holders, uint32_t pid);
