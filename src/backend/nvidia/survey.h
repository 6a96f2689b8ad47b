/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"

/* The survey and read members of the vtable. */
int clv_nvidia_survey(
	struct clv_backend *backend, struct clv_node *node, struct clv_error *err);
int clv_nvidia_read(struct clv_backend *backend, struct clv_node_device *device,
	struct clv_error *err);
