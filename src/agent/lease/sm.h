/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/sm.h"

#include <jansson.h>

struct clv_agent_device;
struct clv_attach_sm_state;
struct clv_attached;
struct clv_device;
struct clv_error;
struct clv_lease;

/* Limits in space of leases (core/share/sm.h): whether a device supports them, which part
 * of the device a lease gets, and what enforces the limit in its processes.  Loop thread
 * only. */

/* 0, or -EINVAL if nothing on the device would enforce a limit of ppm. */
int clv_sm_check(const struct clv_device *device, uint32_t ppm, struct clv_error *err);

/* A limit of this size, placed beside those of the device's other leases. */
struct clv_sm clv_sm_place_on(const struct clv_agent_device *device, uint32_t ppm);

/* Writes the lease's limit to its control page. */
void clv_sm_publish(const struct clv_lease *lease);

/* Records what enforces the limit in the process, as its gate or the agent found; reports
 * a process in which nothing does. */
void clv_sm_record_state(
	struct clv_attached *process, const struct clv_attach_sm_state *state);

json_t *clv_sm_to_json(const struct clv_lease *lease);
