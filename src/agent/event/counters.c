/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/counters.h"

#include <stdlib.h>

const unsigned int clv_counted_statuses[CLV_COUNTED_STATUSES] = {
	200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 409, 412, 413, 500, 503, 0};

struct clv_counters *clv_counters_new(size_t n_routes)
{
	struct clv_counters *counters = calloc(
		1, sizeof(*counters) + (n_routes + 1) * sizeof(counters->routes[0]));

	if (counters)
		counters->n_routes = n_routes + 1;
	return counters;
}

void clv_counters_add_request(struct clv_counters *counters, size_t route,
	unsigned int status, uint64_t busy_ns)
{
	size_t none = counters->n_routes - 1, at = 0;
	struct clv_route_counters *counted =
		&counters->routes[route < none ? route : none];

	while (at < CLV_COUNTED_STATUSES - 1 && clv_counted_statuses[at] != status)
		at++;
	counted->statuses[at]++;
	clv_histogram_add(&counted->busy, busy_ns);
}
