/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/counters.h"

#include "agent/api.h"
#include "base/cleanup.h"

#include <stdlib.h>

const unsigned int clv_counted_statuses[CLV_COUNTED_STATUSES] = {
	200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 409, 412, 413, 500, 503, 0};

struct clv_counters *clv_counters_new(void)
{
	struct clv_counters *counters;
	size_t n;

	clv_api_routes(&n);
	counters = calloc(1, sizeof(*counters) + (n + 1) * sizeof(counters->routes[0]));
	if (counters)
		counters->n_routes = n + 1;
	return counters;
}

void clv_counters_note(struct clv_counters *counters, const struct clv_request *request)
{
	const struct clv_route *routes;
	struct clv_route_counters *route;
	size_t n, at = 0;

	routes = clv_api_routes(&n);
	route = &counters->routes[request->route ? (size_t)(request->route - routes) : n];
	while (at < CLV_COUNTED_STATUSES - 1 &&
		clv_counted_statuses[at] != request->status)
		at++;
	route->statuses[at]++;
	clv_histogram_add(&route->busy, request->busy_ns);
}
