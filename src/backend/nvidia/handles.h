/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/nvidia.h"

/* The handles of the GPUs.  A change of the MIG mode may reset a GPU, which may change
 * its handle, so a handle is used only while NVML returns the GPU's UUID for it. */

/* Initialises NVML unless it is initialised. */
int clv_nvidia_handles_start(struct clv_nvidia_backend *backend, struct clv_error *err);

/* Looks up all GPUs again.  A GPU that fails keeps its index, with NVML's code. */
int clv_nvidia_handles_refresh(struct clv_nvidia_backend *backend, struct clv_error *err);

/* Whether GPUs can be looked up without those that are closed.  -ENOTSUP: none can. */
int clv_nvidia_handles_check_others(
	const struct clv_nvidia_backend *backend, struct clv_error *err);

/* Shuts NVML down, which closes the files of all GPUs, until one of the functions above
 * is called. */
void clv_nvidia_handles_stop(struct clv_nvidia_backend *backend);

/* Shuts NVML down and initialises it again, because a driver may show a process only the
 * MIG devices that existed when the process initialised NVML. */
int clv_nvidia_handles_restart(struct clv_nvidia_backend *backend, struct clv_error *err);

/* The index of the GPU with this UUID, or -ENODEV.  All GPUs are looked up again if the
 * cached handle is stale. */
int clv_nvidia_handles_find(
	struct clv_nvidia_backend *backend, const char *uuid, struct clv_error *err);

/* The same without a new lookup: -ENODEV if the cached handle is stale. */
int clv_nvidia_handles_find_kept(
	const struct clv_nvidia_backend *backend, const char *uuid);

/* The device's name in messages: its name, or its UUID before it has one.  Borrowed. */
const char *clv_nvidia_name(const struct clv_node_device *device);
