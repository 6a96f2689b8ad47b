/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;

#define CLV_VM_SYSFS "/sys"

/* Whether VFIO would give a machine the PCI function: its IOMMU group has no other
 * function that a driver of the host uses.  sysfs is CLV_VM_SYSFS, or a test's.
 * -ENOTSUP.  A function that does not exist is left to libvirt. */
int clv_vm_check_group(const char *sysfs, const char *address, struct clv_error *err);
