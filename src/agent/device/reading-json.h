/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/reading.h"

#include <jansson.h>

struct clv_error;

/* What the process that speaks to drivers says of devices: an array of objects without
 * what the drivers do not tell. */
json_t *clv_readings_to_json(const struct clv_readings *readings);

/* Into a zeroed one, which is to be cleared in any case.  -EINVAL, -ENOMEM. */
int clv_readings_from_json(
	const json_t *json, struct clv_readings *ret, struct clv_error *err);
