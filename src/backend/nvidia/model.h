/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

struct clv_error;
struct clv_mig_model;
struct clv_node_device;

/* Reads the MIG profiles of the GPU and their placements from the driver; the tables of
 * core supply what it does not report.  info.model and info.memory_bytes of device must
 * be set.  The caller frees *ret.  Fails if the profiles, or the placements of one
 * profile, are unknown to both, because free space cannot be computed then. */
int clv_nvidia_model_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_node_device *device,
	struct clv_mig_model **ret, struct clv_error *err);
