/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "world.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Makes a test of each row of a table.  The test's state is the row, its name the row's
 * member `name`. */
#define ROWS_MAX 256

struct rows {
	struct CMUnitTest tests[ROWS_MAX];
	size_t n;
};

static inline void rows_add(
	struct rows *rows, const char *name, CMUnitTestFunction test, const void *row)
{
	if (rows->n == ROWS_MAX)
		abort();
	rows->tests[rows->n++] =
		(struct CMUnitTest){name, test, world_begin, world_end, (void *)row};
}

#define ROWS_ADD(rows, table, test)                                               \
	do {                                                                      \
		for (size_t i_ = 0; i_ < CLV_ARRAY_SIZE(table); i_++)             \
			rows_add((rows), (table)[i_].name, (test), &(table)[i_]); \
	} while (0)

#define ROWS_ONE(rows, test) rows_add((rows), #test, (test), NULL)

/* Set-up and tear-down of each test, in place of world_begin() and world_end(). */
static inline void rows_set_up(
	struct rows *rows, CMFixtureFunction begin, CMFixtureFunction end)
{
	for (size_t i = 0; i < rows->n; i++) {
		rows->tests[i].setup_func = begin;
		rows->tests[i].teardown_func = end;
	}
}

static inline int rows_run(struct rows *rows)
{
	return _cmocka_run_group_tests("tests", rows->tests, rows->n, NULL, NULL);
}
