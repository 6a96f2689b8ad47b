/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/os/json-fields.h"
#include "core/device/node.h"
#include "core/plan/plan.h"

#include <jansson.h>

struct clv_error;

/* Converts nodes and the steps of plans to JSON and back, for the protocol between agent
 * and worker, and for the API. */

/* The members of each object that JSON has as they are, for the API's schemas too. */
extern const struct clv_json_table clv_holder_members, clv_partition_members,
	clv_mig_state_members, clv_mig_model_members, clv_mig_profile_members,
	clv_xcp_state_members, clv_vf_quota_members, clv_vf_members,
	clv_vgpu_type_members, clv_vf_state_members, clv_node_device_members;

json_t *clv_node_device_to_json(const struct clv_node_device *device);
/* Reads into a zeroed or cleared struct, which is cleared on failure.  -EINVAL, -ENOMEM.
 */
int clv_node_device_from_json(
	const json_t *json, struct clv_node_device *ret, struct clv_error *err);

/* {"name", "devices": [...], "problems": [...]} */
json_t *clv_node_to_json(const struct clv_node *node);
int clv_node_from_json(const json_t *json, struct clv_node *ret, struct clv_error *err);

/* Without the devices that the step affects, which only answers of the API have. */
json_t *clv_step_to_json(const struct clv_step *step);
int clv_step_from_json(const json_t *json, struct clv_step *ret, struct clv_error *err);

json_t *clv_holders_to_json(const struct clv_holders *holders);

/* The name of a backend as a static string; "": there is no such backend. */
const char *clv_node_backend_name(const char *name);

/* What enforces shares of the backend's devices: "gate" or "none". */
const char *clv_node_backend_executor(const char *name);
