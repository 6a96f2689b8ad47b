/* SPDX-License-Identifier: Apache-2.0 */
/* Prediction intervals: figures by hand, and how often one more draw is inside. */
#include "simulate/interval.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST 59
#define TRIALS 20000

static void assert_same(double one, double other)
{
	assert_true(fabs(one - other) < 1e-9);
}

static void test_by_hand(void **state)
{
	static const struct {
		size_t n;
		double wanted, from, to, inside;
	} rows[] = {
		{1, 0.9, 1, 1, 0},
		{2, 0.9, 1, 2, 1 / 3.0},
		{9, 0.9, 1, 9, 0.8},
		{19, 0.9, 1, 19, 0.9},
		{20, 0.9, 1, 20, 19 / 21.0},
		{39, 0.9, 2, 38, 0.9},
		{59, 0.9, 3, 57, 0.9},
		{59, 0.95, 1, 59, 58 / 60.0},
		{4, 0, 2, 3, 0.2},
		{5, 0, 2, 4, 2 / 6.0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double figures[MOST];
		struct clv_interval interval;

		for (size_t k = 0; k < rows[i].n; k++)
			figures[k] = (double)(rows[i].n - k);
		interval = clv_interval_of(figures, rows[i].n, rows[i].wanted);
		assert_same(interval.from, rows[i].from);
		assert_same(interval.to, rows[i].to);
		assert_same(interval.inside, rows[i].inside);
		assert_same(interval.mean, ((double)rows[i].n + 1) / 2);
	}
}

static double uniform(unsigned *seed)
{
	return (rand_r(seed) + 0.5) / ((double)RAND_MAX + 1);
}

static double draw(unsigned *seed, int kind)
{
	double x = uniform(seed);

	return kind == 0 ? x : kind == 1 ? -log(x) : kind == 2 ? x < 0.8 : pow(x, -2);
}

/* Whatever the distribution is: uniform, exponential, two values, without a mean. */
static void test_one_more_draw_is_inside(void **state)
{
	static const size_t sizes[] = {9, 19, 59};
	unsigned seed = 7;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		size_t n = sizes[i / 4];
		double figures[MOST];
		unsigned n_inside = 0;
		struct clv_interval interval = {.inside = 0};

		for (unsigned trial = 0; trial < TRIALS; trial++) {
			double more = draw(&seed, i % 4);

			for (size_t k = 0; k < n; k++)
				figures[k] = draw(&seed, i % 4);
			interval = clv_interval_of(figures, n, 0.9);
			n_inside += more >= interval.from && more <= interval.to;
		}
		/* Five standard deviations are about a hundredth. */
		assert_true(n_inside >= (interval.inside - 0.011) * TRIALS);
		assert_true(i % 4 == 2 || n_inside <= (interval.inside + 0.011) * TRIALS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_one_more_draw_is_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
