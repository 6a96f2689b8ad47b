/* SPDX-License-Identifier: Apache-2.0 */
/* Which idle replicas stop so that another one has room. */
#include "service/scale/give-way.h"

#include "base/cleanup.h"

#include <stdbool.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PERCENT 10000u

static const struct clv_give_way_service services[] = {
	{.n_spare = 1, .idle_ns = 10},
	{.n_spare = 2, .idle_ns = 20},
	{.n_spare = 0, .idle_ns = 30},
	{.n_spare = 1, .idle_ns = 15},
};

static const struct row {
	const char *name;
	struct clv_give_way_place places[2];
	struct clv_give_way_lease leases[4];
	size_t n_leases;
	int n_expected;
	size_t expected[4];
} rows[] = {
	{"there is room", {{50 * PERCENT, 50 * PERCENT, 0, 0}, {0, 50 * PERCENT, 0, 0}},
		{{1, 1, 50 * PERCENT, 0}}, 1, 0, {0}},
	{"one is enough", {{20 * PERCENT, 50 * PERCENT, 0, 0}, {0, PERCENT * 90, 0, 0}},
		{{0, 1, 30 * PERCENT, 0}, {1, 0, 50 * PERCENT, 0}}, 2, 1, {0}},
	{"nothing would do", {{0, 50 * PERCENT, 0, 0}, {0, 50 * PERCENT, 0, 0}},
		{{0, 0, 30 * PERCENT, 0}, {1, 1, 30 * PERCENT, 0}}, 2, -1, {0}},
	{"no more than a service can spare",
		{{0, 50 * PERCENT, 0, 0}, {0, 90 * PERCENT, 0, 0}},
		{{0, 0, 30 * PERCENT, 0}, {0, 0, 30 * PERCENT, 0},
			{0, 2, 90 * PERCENT, 0}},
		3, -1, {0}},
	{"two of one service, the one that was idle longest",
		{{0, 50 * PERCENT, 0, 0}, {0, 90 * PERCENT, 0, 0}},
		{{0, 0, 30 * PERCENT, 0}, {0, 1, 30 * PERCENT, 0},
			{0, 1, 30 * PERCENT, 0}},
		3, 2, {1, 2}},
	{"the device where fewer stop",
		{{0, 50 * PERCENT, 0, 0}, {10 * PERCENT, 50 * PERCENT, 0, 0}},
		{{0, 1, 30 * PERCENT, 0}, {0, 1, 30 * PERCENT, 0},
			{1, 0, 40 * PERCENT, 0}},
		3, 1, {2}},
	{"one that is not needed is kept",
		{{0, 50 * PERCENT, 0, 0}, {0, 90 * PERCENT, 0, 0}},
		{{0, 1, 10 * PERCENT, 0}, {0, 0, 50 * PERCENT, 0}}, 2, 1, {1}},
	{"of those that are not needed, the one that was idle longest stops",
		{{0, 45 * PERCENT, 0, 0}, {0, 90 * PERCENT, 0, 0}},
		{{0, 1, 10 * PERCENT, 0}, {0, 3, 10 * PERCENT, 0},
			{0, 0, 40 * PERCENT, 0}},
		3, 2, {0, 2}},
	{"memory counts, too", {{0, 50 * PERCENT, 1000, 5000}, {0, 90 * PERCENT, 0, 0}},
		{{0, 1, 50 * PERCENT, 2000}, {0, 0, 10 * PERCENT, 2000}}, 2, 2, {0, 1}},
};

static void test_rows(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		const struct clv_give_way room = {.places = rows[i].places,
			.n_places = 2,
			.services = services,
			.leases = rows[i].leases,
			.n_leases = rows[i].n_leases};
		size_t chosen[CLV_GIVE_WAY_LEASES_MAX];
		int n = clv_give_way_choose(&room, chosen);

		if (n != rows[i].n_expected)
			print_error("%s\n", rows[i].name);
		assert_int_equal(n, rows[i].n_expected);
		for (int k = 0; k < n; k++)
			assert_int_equal(chosen[k], rows[i].expected[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
