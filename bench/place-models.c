/* SPDX-License-Identifier: Apache-2.0 */
/* Placement of models on GPUs, for bench/place.py: one case per line of standard input,
 * with its GPUs, their memory, and each model's size and demand.  Prints for each case
 * the worst pressure, whether that is proven to be the least, and the time taken. */
#include "base/clock.h"
#include "core/serve/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t read_models(char *text, struct clv_models_model *models)
{
	size_t n = 0;

	for (char *end; n < CLV_MODELS_MAX; n++, text = end) {
		models[n].size = strtod(text, &end);
		if (end == text)
			break;
		models[n].demand = strtod(end, &end);
	}
	return n;
}

int main(void)
{
	static char line[8192];

	while (fgets(line, sizeof(line), stdin)) {
		struct clv_models_model models[CLV_MODELS_MAX];
		struct clv_models_plan plan;
		char *rest;
		unsigned n_gpus = (unsigned)strtoul(line, &rest, 10);
		double memory = strtod(rest, &rest);
		size_t n = read_models(rest, models);
		uint64_t began_ns = clv_clock_ns();
		int r = clv_models_plan(models, n, n_gpus, memory, 0, &plan);
		double took_ms = (double)(clv_clock_ns() - began_ns) / 1e6;

		if (r < 0) {
			fprintf(stderr, "place-models: %s\n", strerror(-r));
			return 1;
		}
		printf("{\"worst\": %.12g, \"proven\": %d, \"took_ms\": %.4f}\n",
			plan.worst, plan.is_proven, took_ms);
	}
	return 0;
}
