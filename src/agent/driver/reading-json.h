/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/reading.h"

#include <jansson.h>

struct clv_error;

/* The worker's readings as a JSON array; values that a driver does not report are left
 * out. */
json_t *clv_readings_to_json(const struct clv_readings *readings);

/* Reads into a zeroed struct, which the caller clears also on failure.  -EINVAL, -ENOMEM.
 */
int clv_readings_from_json(
	const json_t *json, struct clv_readings *ret, struct clv_error *err);
