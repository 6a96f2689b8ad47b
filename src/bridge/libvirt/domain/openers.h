/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#define CLV_VM_PROC "/proc"

struct clv_error;

/* Whether NVIDIA's driver would release the GPU at the address: its unbinding waits
 * without end, and cannot be ended, while a process has the GPU's device file open, be it
 * only for its temperature.  -EBUSY names the first of those.  0 also for a GPU that this
 * driver does not have.  but_agent: processes that are called as the agent do not count,
 * because it can be asked to close the GPU.  proc is CLV_VM_PROC, or a test's. */
int clv_vm_check_openers(
	const char *proc, const char *address, bool but_agent, struct clv_error *err);

/* Whether NVIDIA's driver has a GPU at the address. */
bool clv_vm_is_nvidias(const char *proc, const char *address);
