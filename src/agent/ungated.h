/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct clv_agent;

/* Programs of leases that use a device through an API for which there is no gate: such
 * use is neither held to a share nor to a quota, so at least it is said.  It is seen from
 * the drivers' libraries that a process has mapped.  Loop thread only. */
struct clv_ungated;

struct clv_ungated *clv_ungated_new(struct clv_agent *agent);
struct clv_ungated *clv_ungated_free(struct clv_ungated *ungated);

/* Once a second: looks at some of the leases' processes, at new ones first. */
void clv_ungated_tick(struct clv_ungated *ungated);

/* The names of the APIs of these bits, as in struct clv_lease_truth. */
json_t *clv_ungated_to_json(uint32_t apis);
