/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <stddef.h>

/* A cache of the vGPU types of each GPU, by PCI address.  The nvidia backend fills it
 * from NVML, which lists all types of a GPU; the sriov backend reads it, because sysfs
 * lists only types that can be created on a function now.  Used by one thread of one
 * process. */

/* Replaces the types of the GPU.  -ENOMEM */
int clv_vgpu_types_store(
	const char *pci_address, const struct clv_vgpu_type *types, size_t n);

/* Borrowed until the next clv_vgpu_types_store(); NULL and 0 if there is no entry. */
const struct clv_vgpu_type *clv_vgpu_types_cached(const char *pci_address, size_t *ret_n);
