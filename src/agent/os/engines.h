/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <jansson.h>

/* {"copy", "decode", "encode", "jpeg", "optical_flow"}, each null where only a driver
 * would know. */
json_t *clv_engines_to_json(const struct clv_engines *engines);

/* Adds to the JSON object of a device, and to those of its partitions in it, what engines
 * they have; null where it is not known. */
void clv_engines_add(const struct clv_node_device *device, json_t *object);
