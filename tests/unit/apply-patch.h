/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/* Applies operations of JSON Patch, of which `add` is known, as the API server does
 * (github.com/evanphx/json-patch): what holds the new member must exist.  Returns 0, or
 * -EINVAL. */
int apply_patch(json_t *object, const json_t *operations);
