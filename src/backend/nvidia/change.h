/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"

/* The members of the vtable that change a device. */
int clv_nvidia_set_mig_mode(struct clv_backend *backend,
	const struct clv_node_device *device, bool on, struct clv_error *err);
int clv_nvidia_limit_memory(struct clv_backend *backend,
	const struct clv_node_device *device, const char *cgroup, uint64_t bytes,
	struct clv_error *err);
int clv_nvidia_create(struct clv_backend *backend, const struct clv_node_device *device,
	const struct clv_step *step, struct clv_error *err);
int clv_nvidia_destroy(struct clv_backend *backend, const struct clv_node_device *device,
	const struct clv_partition *partition, const struct clv_partition *inside,
	struct clv_error *err);
