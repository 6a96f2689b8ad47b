/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_lease;
struct clv_sightings_total;

/* Memory that no call of a program shows, and its driver does: contexts, loaded code,
 * what libraries and other APIs take.  It counts in the lease's quota as what programs
 * ask for does.  Loop thread only. */

/* After a reading of the lease's device. */
void clv_overhead_take(struct clv_lease *lease, const struct clv_sightings_total *total);
