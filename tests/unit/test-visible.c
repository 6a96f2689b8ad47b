/* SPDX-License-Identifier: Apache-2.0 */
/* How a program's own list of devices restricts the lease's list. */
#include "gate/preload/visible.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define GPU "GPU-1b6f4c66-02a4-5c4c-8a57-0d2f1a3c5e01"
#define MIG_A "MIG-9a2c1f38-7d1e-5b3c-8a00-11f0c0ffee01"
#define MIG_B "MIG-9a2c1f38-7d1e-5b3c-8a00-11f0c0ffee02"
#define OTHER "MIG-00000000-7d1e-5b3c-8a00-11f0c0ffee09"

static const struct {
	const char *lease, *said, *left; /* said NULL: not set */
} rows[] = {
	/* clang-format off */
	{ GPU,               NULL,                GPU },
	{ GPU,               "0",                 GPU },
	{ GPU,               "1",                 "" },
	{ GPU,               "GPU-1b6f",          GPU },
	{ GPU,               "gpu-1B6F4C66",      GPU },
	{ GPU,               "GPU-",              "" },
	{ GPU,               MIG_A,               "" },
	/* A lease with a partition has the partition; the GPU of the partition is not
	 * its. */
	{ MIG_A,             NULL,                MIG_A },
	{ MIG_A,             "0",                 MIG_A },
	{ MIG_A,             MIG_A,               MIG_A },
	{ MIG_A,             "MIG-9a2c1f38",      MIG_A },
	{ MIG_A,             "mig-9a2c",          MIG_A },
	{ MIG_A,             "MIG-",              "" },
	{ MIG_A,             MIG_B,               "" },
	{ MIG_A,             GPU,                 "" },
	{ MIG_A,             "MIG-" GPU "/1/0",   "" },
	{ MIG_A,             "",                  "" },
	{ MIG_A,             "-1",                "" },
	{ MIG_A,             "all",               "" },
	{ MIG_A,             MIG_A "," OTHER,     MIG_A },
	{ MIG_A,             OTHER "," MIG_A,     "" },
	{ MIG_A,             MIG_A "," MIG_A,     MIG_A },
	{ MIG_A "," MIG_B,   NULL,                MIG_A "," MIG_B },
	{ MIG_A "," MIG_B,   "1,0",               MIG_B "," MIG_A },
	{ MIG_A "," MIG_B,   MIG_B "," MIG_A,     MIG_B "," MIG_A },
	{ MIG_A "," MIG_B,   MIG_B ",0",          MIG_B "," MIG_A },
	{ MIG_A "," MIG_B,   MIG_B "," MIG_B,     MIG_B },
	{ MIG_A "," MIG_B,   MIG_A "x",           "" },
	/* clang-format on */
};

static void test_lists(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		if (rows[i].said)
			setenv("CUDA_VISIBLE_DEVICES", rows[i].said, 1);
		else
			unsetenv("CUDA_VISIBLE_DEVICES");
		unsetenv(CLV_VISIBLE_SET);
		clv_visible_choose("CUDA_VISIBLE_DEVICES", rows[i].lease, 0);
		assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), rows[i].left);
	}
}

/* A second choice, as in a child process, does not change the list. */
static void test_again(void **state)
{
	unsetenv(CLV_VISIBLE_SET);
	setenv("CUDA_VISIBLE_DEVICES", "1", 1);
	for (int i = 0; i < 2; i++)
		clv_visible_choose("CUDA_VISIBLE_DEVICES", MIG_A "," MIG_B, 0);
	assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), MIG_B);
}

/* A partition's number has changed since the variable was set. */
static void test_other_numbers(void **state)
{
	static const char *const numbers[] = {"22", "30,31", "0"};

	setenv("ROCR_VISIBLE_DEVICES", "9", 1);
	setenv(CLV_VISIBLE_SET, "9", 1);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(numbers); i++) {
		clv_visible_choose("ROCR_VISIBLE_DEVICES", numbers[i], 0);
		assert_string_equal(getenv("ROCR_VISIBLE_DEVICES"), numbers[i]);
	}
	/* The program's own list restricts the lease's, and adds nothing. */
	setenv("ROCR_VISIBLE_DEVICES", "31", 1);
	clv_visible_choose("ROCR_VISIBLE_DEVICES", "30,31", 0);
	assert_string_equal(getenv("ROCR_VISIBLE_DEVICES"), "31");
	setenv("ROCR_VISIBLE_DEVICES", "9", 1);
	clv_visible_choose("ROCR_VISIBLE_DEVICES", "30,31", 0);
	assert_string_equal(getenv("ROCR_VISIBLE_DEVICES"), "");
}

/* The lease is the second of a container with two others' devices before its own. */
static void test_numbers_of_the_container(void **state)
{
	static const struct {
		const char *said, *left;
	} numbers[] = {
		{"2", MIG_A},
		{"3,2", MIG_B "," MIG_A},
		{"2,0", MIG_A},
		{"0", ""},
		{"4", ""},
		{MIG_B, MIG_B},
	};

	unsetenv(CLV_VISIBLE_SET);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(numbers); i++) {
		setenv("CUDA_VISIBLE_DEVICES", numbers[i].said, 1);
		clv_visible_choose("CUDA_VISIBLE_DEVICES", MIG_A "," MIG_B, 2);
		assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), numbers[i].left);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_other_numbers),
		cmocka_unit_test(test_numbers_of_the_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
