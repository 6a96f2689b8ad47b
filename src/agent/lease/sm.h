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

/* Limits in space of leases (core/share/sm.h): where they can be had, where they are, and
 * what holds their processes to them.  Loop thread only. */

/* -EINVAL where it is known that nothing would hold one. */
int clv_sm_check(const struct clv_device *device, uint32_t ppm, struct clv_error *err);

/* Of this size, beside those that are there. */
struct clv_sm clv_sm_on(const struct clv_agent_device *device, uint32_t ppm);

/* To the lease's control page. */
void clv_sm_publish(const struct clv_lease *lease);

/* A process, or the agent, says what holds the process. */
void clv_sm_note(struct clv_attached *process, const struct clv_attach_sm_state *state);

json_t *clv_sm_to_json(const struct clv_lease *lease);
