/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of a task: the gate comes first, and the user's values stay. */
#include "bridge/slurm/inside.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/slurm/recipe.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_lists(void **state)
{
	static const struct {
		const char *list, *after;
	} cases[] = {
		{"", "/g/lib.so"},
		{"/a.so", "/g/lib.so:/a.so"},
		{"/a.so:/old/lib.so:/b.so", "/g/lib.so:/a.so:/b.so"},
		{"/a.so  /b.so", "/g/lib.so:/a.so:/b.so"},
		{"lib.so", "/g/lib.so"},
		{":", "/g/lib.so"},
	};
	char text[64];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		assert_int_equal(clv_slurm_list_first(
					 cases[i].list, "/g/lib.so", text, sizeof(text)),
			0);
		assert_string_equal(text, cases[i].after);
	}
	assert_int_equal(
		clv_slurm_list_first("/a/very/long.so", "/g/lib.so", text, 20), -ENOSPC);
}

/* One variable. */
struct variable {
	char name[32], value[64];
};

static int get(void *userdata, const char *name, char *ret, size_t ret_bytes)
{
	const struct variable *variable = userdata;

	if (strcmp(name, variable->name) != 0)
		return -ENOENT;
	snprintf(ret, ret_bytes, "%s", variable->value);
	return 0;
}

static int set(void *userdata, const char *name, const char *value)
{
	struct variable *variable = userdata;

	snprintf(variable->name, sizeof(variable->name), "%s", name);
	snprintf(variable->value, sizeof(variable->value), "%s", value);
	return 0;
}

static int carry_out(enum clv_slurm_step_kind kind, const char *what, const char *value,
	struct variable *variable)
{
	struct clv_slurm_environment environment = {get, set, variable};
	struct clv_slurm_recipe recipe = {0};
	struct clv_error err = {0};
	int r;

	clv_slurm_recipe_add(&recipe, kind, what, value);
	r = clv_slurm_inside_set(&recipe, &environment, &err);
	assert_int_equal(r, err.code);
	clv_slurm_recipe_clear(&recipe);
	return r;
}

static void test_variables(void **state)
{
	struct variable variable = {"LAYERS", "/a.so"};

	assert_int_equal(carry_out(CLV_SLURM_FIRST, "LAYERS", "/g/lib.so", &variable), 0);
	assert_string_equal(variable.value, "/g/lib.so:/a.so");
	assert_int_equal(carry_out(CLV_SLURM_SET, "LEASE", "/l", &variable), 0);
	assert_string_equal(variable.name, "LEASE");
	assert_int_equal(carry_out(CLV_SLURM_DEFAULT, "LEASE", "/other", &variable), 0);
	assert_string_equal(variable.value, "/l");
	assert_int_equal(carry_out(CLV_SLURM_BIND, "/to", "/from", &variable), 0);
	assert_true(carry_out(CLV_SLURM_CPUS, "none", "", &variable) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_variables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
