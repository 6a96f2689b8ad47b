/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_lease;

/* The kernel's limit of a GPU's memory, which unlike the gate's covers every API: cgroup
 * v2's controller dmem (Linux 6.14), to which amdgpu and xe charge allocations, and on
 * NVIDIA GPUs the driver's limit through NVML (from R615 on).  It is used where the lease
 * has a cgroup of its own already, as a service, a scope or a container has, and the
 * agent may set it; processes are never moved into a cgroup. */

/* Sets the limit to the lease's quota and reads it back.  Where that is not possible
 * nothing is changed, and the gates alone enforce the quota. */
void clv_kernel_quota_set(struct clv_lease *lease);

/* Removes the limit, of a lease that has ended. */
void clv_kernel_quota_clear(struct clv_lease *lease);

/* Frees the state without changing the limit: the agent ends and its leases do not. */
void clv_kernel_quota_forget(struct clv_lease *lease);

bool clv_kernel_quota_is_enforced(const struct clv_lease *lease);
