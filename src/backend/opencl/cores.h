/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"

/* The members of the vtable that divide a CPU device into disjoint sets of processors,
 * each with a proportional part of the memory. */
int clv_opencl_survey(
	struct clv_backend *backend, struct clv_node *node, struct clv_error *err);
int clv_opencl_read(struct clv_backend *backend, struct clv_node_device *device,
	struct clv_error *err);
int clv_opencl_create(struct clv_backend *backend, const struct clv_node_device *device,
	const struct clv_step *step, struct clv_error *err);
int clv_opencl_destroy(struct clv_backend *backend, const struct clv_node_device *device,
	const struct clv_partition *partition, const struct clv_partition *inside,
	struct clv_error *err);
