/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"
#include "core/plan/plan.h"

#include <jansson.h>

struct clv_error;

/* Nodes, and the steps of a plan, to JSON and back: what the agent and the process that
 * speaks to drivers say to each other, and what the API shows of devices. */

json_t *clv_node_device_to_json(const struct clv_node_device *device);
/* Into a zeroed or cleared one; on failure it is cleared.  -EINVAL, -ENOMEM. */
int clv_node_device_from_json(
	const json_t *json, struct clv_node_device *ret, struct clv_error *err);

/* {"name", "devices": [...], "problems": [...]} */
json_t *clv_node_to_json(const struct clv_node *node);
int clv_node_from_json(const json_t *json, struct clv_node *ret, struct clv_error *err);

/* Without whom it affects, which is for people. */
json_t *clv_step_to_json(const struct clv_step *step);
int clv_step_from_json(const json_t *json, struct clv_step *ret, struct clv_error *err);

json_t *clv_partition_to_json(const struct clv_partition *partition);
json_t *clv_holders_to_json(const struct clv_holders *holders);

/* The name of a backend as a text that lives for ever; "" for what is none. */
const char *clv_node_backend_name(const char *name);

/* What holds shares of its devices: "gate", "none". */
const char *clv_node_backend_executor(const char *name);
