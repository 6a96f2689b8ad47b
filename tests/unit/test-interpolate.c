/* SPDX-License-Identifier: Apache-2.0 */
/* Variables in texts of compose files: each form of the Compose specification. */
#include "service/interpolate.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "service/service.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *get(void *userdata, const char *name)
{
	static const struct {
		const char *name, *value;
	} set[] = {{"SET", "value"}, {"EMPTY", ""}, {"_x1", "under"}, {"DOLLAR", "$SET"}};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(set); i++) {
		if (strcmp(set[i].name, name) == 0)
			return set[i].value;
	}
	return NULL;
}

static const struct clv_variables variables = {.get = get};

static void collect(void *userdata, const char *name)
{
	strcat(userdata, name);
	strcat(userdata, " ");
}

static void test_forms(void **state)
{
	static const struct {
		const char *text, *becomes, *unset;
	} cases[] = {
		{"no variable", NULL, ""},
		{"", NULL, ""},
		{"$SET", "value", ""},
		{"a${SET}b", "avalueb", ""},
		{"$SET-$_x1", "value-under", ""},
		{"$UNSET.", ".", "UNSET "},
		{"${UNSET}", "", "UNSET "},
		{"$$SET", "$SET", ""},
		{"100$$", "100$", ""},
		{"${SET:-other}", "value", ""},
		{"${EMPTY:-other}", "other", ""},
		{"${UNSET:-other}", "other", ""},
		{"${SET-other}", "value", ""},
		{"${EMPTY-other}", "", ""},
		{"${UNSET-other}", "other", ""},
		{"${UNSET:-}", "", ""},
		{"${SET:?needed}", "value", ""},
		{"${EMPTY?needed}", "", ""},
		{"${SET:+other}", "other", ""},
		{"${EMPTY:+other}", "", ""},
		{"${EMPTY+other}", "other", ""},
		{"${UNSET+other}", "", ""},
		{"${UNSET:-${SET}}", "value", ""},
		{"${UNSET:-${EMPTY:-deep $SET}}!", "deep value!", ""},
		{"${SET:-${UNSET}}", "value", ""},
		{"${UNSET:-a:b/c?d}", "a:b/c?d", ""},
		/* a value is not expanded again */
		{"$DOLLAR", "$SET", ""},
		{"${UNSET:-$UNSET}", "", "UNSET "},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		struct clv_error err = {0};
		char unset[64] = "";
		char *text;

		assert_int_equal(clv_interpolate(cases[i].text, &variables, collect,
					 unset, &text, &err),
			0);
		if (!cases[i].becomes)
			assert_null(text);
		else if (!text || strcmp(text, cases[i].becomes) != 0)
			fail_msg("%s becomes %s", cases[i].text, text);
		assert_string_equal(unset, cases[i].unset);
		assert_int_equal(err.code, 0);
		free(text);
	}
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"$", "'$' is no variable"},
		{"cost: $5", "'$5' is no variable"},
		{"${", "'${' is no variable"},
		{"${}", "'${}' is no variable"},
		{"${SET", "'SET' is no variable"},
		{"${SET:other}", "is no variable"},
		{"${SET!}", "is no variable"},
		{"${UNSET:-other", "closing brace"},
		{"${UNSET:?}", "the variable UNSET is not set"},
		{"${UNSET:?give $SET}", "the variable UNSET is not set: give value"},
		{"${EMPTY:?given}", "the variable EMPTY is not set: given"},
		{"${A:-${A:-${A:-${A:-${A:-${A:-${A:-${A:-${A:-x}}}}}}}}}",
			"nested more"},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		struct clv_error err = {0};
		char *text;

		assert_int_equal(clv_interpolate(cases[i].text, &variables, NULL, NULL,
					 &text, &err),
			-EINVAL);
		assert_null(text);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("%s: %s", cases[i].text, err.msg);
		assert_int_equal(clv_interpolate(cases[i].text, &variables, NULL, NULL,
					 &text, NULL),
			-EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
