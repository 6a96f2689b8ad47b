/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"

/* The sample member of the vtable. */
int clv_nvidia_sample(struct clv_backend *base, const struct clv_node_device *device,
	struct clv_reading *ret, struct clv_error *err);
