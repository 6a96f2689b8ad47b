/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/reading.h"

struct clv_error;

/* What the kernel's own interfaces say of any GPU (Documentation/hwmon/sysfs-interface,
 * Documentation/gpu/amdgpu): hwmon's power, temperature and energy, amdgpu's use and
 * memory, and what a hang left in devcoredump.  -ENODEV: the function is gone. */
int clv_pci_sample(const char *address, struct clv_reading *ret, struct clv_error *err);
