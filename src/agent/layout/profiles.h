/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <jansson.h>

/* Appends an object for each profile of the device, with how many more of it fit now.
 * docs/api.md has the members. */
void clv_profiles_add(const struct clv_node_device *device, json_t *items);
