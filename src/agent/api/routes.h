/* SPDX-License-Identifier: Apache-2.0 */
/* The API's table of routes. */
#pragma once

#include "agent/api/handler/api.h"

extern const struct clv_route_table clv_api_routes;

/* Finds the route of a request, checks the caller's scope, runs the handler and writes
 * the audit. */
extern const struct clv_http_handler clv_api_handler;
