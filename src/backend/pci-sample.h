/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/reading.h"

struct clv_error;

/* Samples a GPU through common kernel interfaces (Documentation/hwmon/sysfs-interface,
 * Documentation/gpu/amdgpu): power, temperature and energy from hwmon, utilization and
 * used memory from amdgpu's files, and whether a hang left a devcoredump.  -ENODEV: the
 * function is gone. */
int clv_pci_sample(const char *address, struct clv_reading *ret, struct clv_error *err);
