/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/nvidia.h"

/* The handles of the GPUs.  A change of the MIG mode may reset a GPU, so a handle is used
 * only while it answers with its GPU's UUID. */

/* Initialises NVML, where it is not yet. */
int clv_nvidia_handles_start(struct clv_nvidia_backend *backend, struct clv_error *err);

/* Looks all GPUs up anew.  One that cannot be reached keeps its place, with why. */
int clv_nvidia_handles_refresh(struct clv_nvidia_backend *backend, struct clv_error *err);

/* Lets go of NVML and begins anew.  A driver may go on showing a process the MIG devices
 * that there were when it began. */
int clv_nvidia_handles_restart(struct clv_nvidia_backend *backend, struct clv_error *err);

/* The index of the GPU with this UUID, looked up anew if the kept handle is no longer
 * its, or -ENODEV. */
int clv_nvidia_handles_find(
	struct clv_nvidia_backend *backend, const char *uuid, struct clv_error *err);

/* The same without looking anything up: -ENODEV if the kept handle does not answer. */
int clv_nvidia_handles_find_kept(
	const struct clv_nvidia_backend *backend, const char *uuid);

/* What messages call it: its name, or its UUID before it has one. */
const char *clv_nvidia_name(const struct clv_node_device *device);
