/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/api/api.h"

extern const struct clv_route_table clv_api_routes;

/* Finds the route of a request, checks that its caller may, and runs its handler. */
extern const struct clv_http_handler clv_api_handler;
