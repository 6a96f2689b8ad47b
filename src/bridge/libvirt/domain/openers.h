/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#define CLV_VM_PROC "/proc"

struct clv_error;

/* Whether NVIDIA's driver would release the GPU at the address: its unbinding waits
 * without end, and cannot be ended, while a process has the GPU's device file open, be it
 * only for its temperature.  -EBUSY names the first of those.  0 also for a GPU that this
 * driver does not have.  proc is CLV_VM_PROC, or a test's. */
int clv_vm_check_openers(const char *proc, const char *address, struct clv_error *err);
