/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_lease;

/* The kernel's own limit of a GPU's memory, beside the gate's, whatever a process calls:
 * cgroup v2's controller dmem (Linux 6.14), to which amdgpu and xe charge what processes
 * have, and NVIDIA's driver from R615 on, by NVML.  It is used where a lease has a cgroup
 * of its own, as a service, a scope or a container has, and the agent may set it;
 * processes are not moved into one. */

/* Sets it to the lease's quota, and reads it back.  Where that is not possible nothing is
 * changed, and the gate alone holds the quota. */
void clv_kernel_quota_set(struct clv_lease *lease);

/* The lease has ended: there is no limit any more. */
void clv_kernel_quota_clear(struct clv_lease *lease);

/* The agent forgets the lease; what is set stays. */
void clv_kernel_quota_forget(struct clv_lease *lease);

bool clv_kernel_quota_holds(const struct clv_lease *lease);
