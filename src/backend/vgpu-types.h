/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <stddef.h>

/* NVIDIA's library knows all types of vGPU that a GPU can have, whether or not there are
 * functions; sysfs names those that can be made on a function now.  This is what the
 * library has said, by PCI address, for whoever reads sysfs in the same process. */

/* In place of what was said of the GPU before.  -ENOMEM */
int clv_vgpu_types_note(
	const char *pci_address, const struct clv_vgpu_type *types, size_t n);

/* Borrowed until the next note; NULL and 0 where nothing was said. */
const struct clv_vgpu_type *clv_vgpu_types_noted(const char *pci_address, size_t *ret_n);
