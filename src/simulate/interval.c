/* SPDX-License-Identifier: Apache-2.0 */
/* Prediction intervals by order statistics. */
#include "simulate/interval.h"

#include <assert.h>
#include <stdlib.h>

/* So that a probability which is wanted exactly is met in spite of rounding. */
#define SLACK 1e-9

static int compare(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return one < other ? -1 : one > other;
}

static double inside_of(size_t n, size_t k)
{
	return ((double)n + 1 - 2 * (double)k) / ((double)n + 1);
}

struct clv_interval clv_interval_of(double *figures, size_t n, double wanted)
{
	struct clv_interval interval = {.mean = 0};
	size_t k = 1;

	assert(n > 0);
	qsort(figures, n, sizeof(*figures), compare);
	for (size_t i = 0; i < n; i++)
		interval.mean += figures[i] / (double)n;
	while (2 * (k + 1) <= n && inside_of(n, k + 1) >= wanted - SLACK)
		k++;
	interval.from = figures[k - 1];
	interval.to = figures[n - k];
	interval.inside = n > 1 ? inside_of(n, k) : 0;
	return interval;
}
