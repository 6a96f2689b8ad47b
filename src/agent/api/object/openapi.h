/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_route_table;

/* The API as an OpenAPI document. */
json_t *clv_openapi_to_json(const struct clv_route_table *table);
