/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

struct clv_error;
struct clv_mig_model;
struct clv_node_device;

/* The profiles and places of this GPU, of which name and memory are known: from the
 * driver, and from the tables of core what it does not tell.  *ret is to be freed.  Fails
 * where neither knows, and where the places of one profile are not known: what is free is
 * not known then either. */
int clv_nvidia_model_read(const struct clv_nvidia_library *nvml,
	struct clv_nvml_device *gpu, const struct clv_node_device *device,
	struct clv_mig_model **ret, struct clv_error *err);
