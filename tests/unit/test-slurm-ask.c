/* SPDX-License-Identifier: Apache-2.0 */
/* The account in a job's comment, beside any other text. */
#include "bridge/slurm/ask.h"

#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_seconds(void **state)
{
	static const struct {
		const char *before, *name;
		double seconds;
		const char *after;
	} cases[] = {
		{"", "n1", 1.25, "gpu_seconds[n1]=1.250"},
		{"for Ann", "n1", 0.5, "for Ann gpu_seconds[n1]=0.500"},
		{"for Ann gpu_seconds[n1]=0.500", "n1", 2,
			"for Ann gpu_seconds[n1]=2.000"},
		{"gpu_seconds[n1]=0.500 and more", "n1", 12345.6789,
			"gpu_seconds[n1]=12345.679 and more"},
		{"gpu_seconds[n1]=0.500", "n2", 1,
			"gpu_seconds[n1]=0.500 gpu_seconds[n2]=1.000"},
		{"gpu_seconds[n1]=0.500 gpu_seconds[n2]=1.000", "n1", 3,
			"gpu_seconds[n1]=3.000 gpu_seconds[n2]=1.000"},
		{"gpu_seconds[n1]=0.500", "n1/1", 2,
			"gpu_seconds[n1]=0.500 gpu_seconds[n1/1]=2.000"},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		char comment[128];

		snprintf(comment, sizeof(comment), "%s", cases[i].before);
		assert_int_equal(clv_slurm_set_seconds(comment, sizeof(comment),
					 cases[i].name, cases[i].seconds),
			0);
		assert_string_equal(comment, cases[i].after);
		assert_true(
			clv_slurm_get_seconds(comment, cases[i].name) - cases[i].seconds <
			0.001);
	}
}

static void test_empty(void **state)
{
	assert_true(clv_slurm_get_seconds("", "n1") < 0);
	assert_true(clv_slurm_get_seconds("gpu_seconds[n11]=1", "n1") < 0);
}

static void test_no_room(void **state)
{
	char comment[32] = "a comment of thirty characters";

	assert_int_equal(
		clv_slurm_set_seconds(comment, sizeof(comment), "n1", 1), -ENOSPC);
	assert_string_equal(comment, "a comment of thirty characters");
}

/* Fields of squeue, of 20.11, of 22.05 and of later versions. */
static void test_gpus(void **state)
{
	static const struct {
		const char *tres;
		bool has;
	} cases[] = {
		{"cpu=1,node=1,billing=1,gres/gpu=1  N/A  gres:gpu:1  N/A", true},
		{"cpu=1,node=1,billing=1             N/A  gres:gpu:1  N/A", true},
		{"cpu=1  gres/gpu:a100=2  N/A", true},
		{"cpu=1  N/A  cleave:20,gpu  N/A", true},
		{"gpu:1", true},
		{"cpu=1  N/A  gres:cleave:20  N/A", false},
		{"cpu=1  N/A  gres:gpumem:20,gres:gpu_memory:1  N/A", false},
		{"", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(clv_slurm_has_gpus(cases[i].tres), cases[i].has);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
