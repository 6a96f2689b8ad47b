/* SPDX-License-Identifier: Apache-2.0 */
/* Services on as few GPUs as possible, for bench/place.py: one service per line of
 * standard input, with its rate and what an instance of 1g, 2g, 3g, 4g and 7g serves.
 * Prints one line per instance: GPU, service, slices, start. */
#include "core/serve/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	static struct clv_serve_service services[CLV_SERVE_SERVICES_MAX];
	struct clv_serve_plan plan;
	size_t n = 0;
	int r;

	while (n < CLV_SERVE_SERVICES_MAX &&
		scanf("%lf %lf %lf %lf %lf %lf", &services[n].rate,
			&services[n].capacity[0], &services[n].capacity[1],
			&services[n].capacity[2], &services[n].capacity[3],
			&services[n].capacity[4]) == 6)
		n++;
	r = clv_serve_plan(services, n, &plan);
	if (r < 0) {
		fprintf(stderr, "place-serve: %s\n", strerror(-r));
		return 1;
	}
	for (size_t i = 0; i < plan.n_instances; i++)
		printf("[%u, %u, %u, %u]\n", plan.instances[i].gpu,
			plan.instances[i].service,
			clv_serve_slices[plan.instances[i].size],
			plan.instances[i].start);
	free(plan.instances);
	return 0;
}
