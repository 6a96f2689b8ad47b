/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_agent;
struct clv_agent_device;
struct clv_event;
struct clv_lease;
struct clv_standing_share;

/* The objects of the API, as docs/api.md shows them.  The caller owns the result. */
json_t *clv_render_lease(const struct clv_lease *lease);
json_t *clv_render_device(struct clv_agent *agent, const struct clv_agent_device *device);
json_t *clv_render_standing(
	struct clv_agent *agent, const struct clv_standing_share *share);
json_t *clv_render_event(const struct clv_event *event);
