/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/device.h"

#include <jansson.h>

struct clv_error;

/* A device as the probe reports it, the cache keeps it and the state file stores it.  The
 * caller owns the result. */
json_t *clv_device_to_json(const struct clv_device *device);
/* -EINVAL: the JSON is not a device. */
int clv_device_from_json(
	const json_t *json, struct clv_device *ret, struct clv_error *err);
