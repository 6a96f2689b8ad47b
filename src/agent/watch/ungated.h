/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct clv_agent;

/* Programs of leases that use a device through an API for which there is no gate, or
 * without the gate that there is: such use is neither held to a share nor to a quota, so
 * at least it is said.  It is seen from the drivers' libraries that a process has mapped,
 * whichever root file system they come from.  Loop thread only. */
struct clv_ungated;

struct clv_ungated *clv_ungated_new(struct clv_agent *agent);
struct clv_ungated *clv_ungated_free(struct clv_ungated *ungated);

/* Once a second: looks at the leases' processes that are new or have grown, and at others
 * now and then.  What a process that is not attached maps is seen within two seconds,
 * where there are no more than some hundred. */
void clv_ungated_tick(struct clv_ungated *ungated);

/* The names of the APIs of these bits, as in struct clv_lease_truth. */
json_t *clv_ungated_to_json(uint32_t apis);
