/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <jansson.h>

/* {"copy", "decode", "encode", "jpeg", "optical_flow"}: the number of engines of each
 * kind, null if unknown. */
json_t *clv_engines_to_json(const struct clv_engines *engines);

/* Adds "engines" to the JSON object of a device, and to the objects of its partitions and
 * their parts in it; null if unknown. */
void clv_engines_add(const struct clv_node_device *device, json_t *object);
