/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_lease;
struct clv_driver_processes_total;

/* Driver overhead: memory that the driver reports and no allocation of the program
 * accounts for (contexts, loaded code, libraries, other APIs).  It counts in the lease's
 * quota.  Loop thread only. */

/* Call after each reading of the lease's device. */
void clv_overhead_take(
	struct clv_lease *lease, const struct clv_driver_processes_total *total);
