/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct clv_agent;

/* Detects programs of leases that use a device through an API without a gate, or without
 * the gate of the API. Such use is subject to no share and no quota, so it is reported,
 * and ended if the settings say so.  It is detected by the drivers' libraries that a
 * process maps, from any root file system.  Loop thread only. */
struct clv_ungated;

struct clv_ungated *clv_ungated_new(struct clv_agent *agent);
struct clv_ungated *clv_ungated_free(struct clv_ungated *ungated);

/* Call once a second: checks the leases' processes that are new or whose address space
 * has changed, and the others now and then.  A library that a process without a gate maps
 * is seen within two seconds, up to some hundred processes. */
void clv_ungated_tick(struct clv_ungated *ungated);

/* An array of the names of APIs, from bits as in struct clv_lease_observed. */
json_t *clv_ungated_to_json(uint32_t apis);
