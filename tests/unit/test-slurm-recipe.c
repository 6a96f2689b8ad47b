/* SPDX-License-Identifier: Apache-2.0 */
/* A recipe is read as it was written, and an invalid one is refused. */
#include "bridge/slurm/recipe.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of a job that has no lease. */
static void test_no_lease(void **state)
{
	struct clv_slurm_recipe recipe = {.restarts = 1}, again = {.lease = "l1"};
	char *text = NULL;

	assert_int_equal(clv_slurm_recipe_write(&recipe, &text), 0);
	assert_int_equal(clv_slurm_recipe_parse(text, &again, NULL), 0);
	assert_string_equal(again.lease, "");
	assert_int_equal(again.restarts, 1);
	free(text);
}

static void test_written_and_read(void **state)
{
	struct clv_slurm_recipe recipe = {
		.lease = "l1", .asked = "share 0.3 memory 0", .restarts = 2};
	struct clv_slurm_recipe again = {0};
	struct clv_error err = {0};
	char *text = NULL;

	assert_int_equal(clv_slurm_recipe_add(&recipe, CLV_SLURM_SET, "A", "b c"), 0);
	assert_int_equal(clv_slurm_recipe_add(&recipe, CLV_SLURM_CPUS, "0-1", ""), 0);
	assert_int_equal(
		clv_slurm_recipe_add(&recipe, CLV_SLURM_BIND, "/to", "/from"), 0);
	assert_int_equal(
		clv_slurm_recipe_add(&recipe, CLV_SLURM_SET, "A", "b\tc"), -EINVAL);
	assert_int_equal(
		clv_slurm_recipe_add(&recipe, CLV_SLURM_SET, "A\n", "b"), -EINVAL);
	assert_int_equal(clv_slurm_recipe_write(&recipe, &text), 0);
	assert_int_equal(clv_slurm_recipe_parse(text, &again, &err), 0);
	assert_string_equal(again.lease, recipe.lease);
	assert_string_equal(again.asked, recipe.asked);
	assert_int_equal(again.restarts, 2);
	assert_int_equal(again.n_steps, 3);
	for (size_t i = 0; i < again.n_steps; i++) {
		assert_int_equal(again.steps[i].kind, recipe.steps[i].kind);
		assert_string_equal(again.steps[i].what, recipe.steps[i].what);
		assert_string_equal(again.steps[i].value, recipe.steps[i].value);
	}
	free(text);
	clv_slurm_recipe_clear(&recipe);
	clv_slurm_recipe_clear(&again);
}

static void test_invalid(void **state)
{
	static const char *const texts[] = {"", "cleave-slurm 1\n",
		"cleave-slurm 2\nlease\tl1\n", "cleave-slurm 1\nlease\tl1\nset\n",
		"cleave-slurm 1\nlease\tl1\nfrobnicate\tA\tb\n", "lease\tl1\n"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(texts); i++) {
		struct clv_slurm_recipe recipe = {0};
		struct clv_error err = {0};
		char text[128];

		strcpy(text, texts[i]);
		assert_int_equal(clv_slurm_recipe_parse(text, &recipe, &err), -EBADMSG);
		assert_int_equal(err.code, -EBADMSG);
		assert_int_equal(recipe.n_steps, 0);
	}
}

static void test_no_job(void **state)
{
	struct clv_slurm_recipe recipe = {0};
	struct clv_error err = {0};

	assert_int_equal(clv_slurm_recipe_load("/nowhere", 1, &recipe, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_lease),
		cmocka_unit_test(test_written_and_read),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_no_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
