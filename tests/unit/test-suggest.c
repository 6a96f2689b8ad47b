/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest name is suggested, and a distant one is not. */
#include "base/suggest.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const names[] = {"devices", "run", "ps", "release", "doctor"};

static void test_near_names(void **state)
{
	static const struct {
		const char *word;
		const char *near; /* NULL: no suggestion */
	} cases[] = {
		{"rnu", "run"},
		{"runx", "run"},
		{"rleease", "release"},
		{"device", "devices"},
		{"doctro", "doctor"},
		{"sp", "ps"},
		{"frobnicate", NULL},
		{"", NULL},
		{"a-word-that-is-longer-than-any-name-could-be", NULL},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		const char *near =
			clv_suggest(cases[i].word, names, CLV_ARRAY_SIZE(names));

		if (cases[i].near)
			assert_string_equal(near, cases[i].near);
		else
			assert_null(near);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_near_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
