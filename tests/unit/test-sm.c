/* SPDX-License-Identifier: Apache-2.0 */
/* Limits in space: the place of a part beside others, and its number of units. */
#include "core/share/sm.h"

#include "base/cleanup.h"
#include "base/units.h"

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PERCENT (CLV_PPM / 100)

static void test_places(void **state)
{
	static const struct {
		struct clv_sm others[3]; /* in per cent */
		uint32_t percent, first_percent;
	} rows[] = {
		/* clang-format off */
		{ { { 0 } }, 25, 0 },
		{ { { 0 } }, 100, 0 },
		{ { { 25, 0 } }, 25, 25 },
		{ { { 25, 0 }, { 25, 50 } }, 25, 25 },
		{ { { 25, 0 }, { 25, 25 }, { 25, 75 } }, 25, 50 },
		/* it fits nowhere: the place with the least overlap */
		{ { { 50, 0 }, { 30, 50 } }, 30, 70 },
		{ { { 25, 25 } }, 50, 50 },
		{ { { 50, 0 }, { 50, 50 }, { 50, 0 } }, 50, 50 },
		{ { { 30, 0 } }, 80, 20 },
		{ { { 1, 0 } }, 100, 0 },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_sm others[3];
		size_t n = 0;

		while (n < 3 && rows[i].others[n].ppm > 0) {
			others[n].ppm = rows[i].others[n].ppm * PERCENT;
			others[n].first_ppm = rows[i].others[n].first_ppm * PERCENT;
			n++;
		}
		assert_int_equal(clv_sm_place(others, n, rows[i].percent * PERCENT),
			rows[i].first_percent * PERCENT);
	}
}

static void test_counts(void **state)
{
	static const struct {
		struct clv_sm sm; /* in per cent */
		uint32_t n_units;
		struct clv_sm_steps steps;
		uint32_t first, count;
	} rows[] = {
		/* clang-format off */
		{ { 25, 0 }, 304, { 2, 2 }, 0, 76 },
		{ { 25, 75 }, 304, { 2, 2 }, 228, 76 },
		{ { 100, 0 }, 304, { 2, 2 }, 0, 304 },
		{ { 25, 0 }, 188, { 2, 2 }, 0, 46 },
		{ { 25, 25 }, 110, { 2, 2 }, 26, 26 },
		/* never 0, never beyond the end */
		{ { 1, 0 }, 20, { 2, 2 }, 0, 2 },
		{ { 1, 99 }, 20, { 2, 2 }, 18, 2 },
		{ { 1, 99 }, 7, { 2, 2 }, 4, 2 },
		{ { 50, 0 }, 132, { 8, 8 }, 0, 64 },
		/* each die has at least one */
		{ { 1, 0 }, 304, { 2, 8 }, 0, 8 },
		{ { 1, 99 }, 304, { 2, 8 }, 296, 8 },
		{ { 1, 0 }, 6, { 2, 8 }, 0, 6 },
		/* no limit, or an unknown device */
		{ { 0, 0 }, 304, { 2, 2 }, 0, 0 },
		{ { 25, 0 }, 0, { 2, 2 }, 0, 0 },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_sm sm = {
			rows[i].sm.ppm * PERCENT, rows[i].sm.first_ppm * PERCENT};
		struct clv_sm_part part =
			clv_sm_count(&sm, rows[i].n_units, &rows[i].steps);

		assert_int_equal(part.first, rows[i].first);
		assert_int_equal(part.count, rows[i].count);
	}
}

/* As many parts of any sizes as fit do not overlap. */
static void test_apart(void **state)
{
	static const uint32_t ppms[] = {333333, 250000, 166667, 100000, 150000};
	static const struct clv_sm_steps steps = {1, 1};
	struct clv_sm parts[CLV_ARRAY_SIZE(ppms)];

	for (uint32_t n_units = 16; n_units < 400; n_units++) {
		uint32_t end = 0;

		for (size_t i = 0; i < CLV_ARRAY_SIZE(ppms); i++) {
			struct clv_sm_part part;

			parts[i].ppm = ppms[i];
			parts[i].first_ppm = clv_sm_place(parts, i, ppms[i]);
			part = clv_sm_count(&parts[i], n_units, &steps);
			assert_true(part.first >= end);
			end = part.first + part.count;
		}
		assert_true(end <= n_units);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_apart),
	};

	return cmocka_run_group_tests_name("sm", tests, NULL, NULL);
}
