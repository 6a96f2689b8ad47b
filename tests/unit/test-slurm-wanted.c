/* SPDX-License-Identifier: Apache-2.0 */
/* The options of srun: accepted ones, and the errors of others. */
#include "bridge/slurm/wanted.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_values(void **state)
{
	static const struct {
		enum clv_slurm_want which;
		const char *text;
		const char *why; /* NULL: it is accepted */
	} cases[] = {
		{CLV_SLURM_SHARE, "0.3", NULL},
		{CLV_SLURM_SHARE, "30%", NULL},
		{CLV_SLURM_SHARE, "0.1..0.6", NULL},
		{CLV_SLURM_SHARE, "0.6..0.1", "--gpu-share: "},
		{CLV_SLURM_SHARE, "1.1", "at most 1"},
		{CLV_SLURM_SHARE, "", "write --gpu-share=FRACTION"},
		{CLV_SLURM_SHARE, NULL, "write --gpu-share=FRACTION"},
		{CLV_SLURM_MEMORY, "1.5GiB", NULL},
		{CLV_SLURM_MEMORY, "0", "--gpu-memory: "},
		{CLV_SLURM_MEMORY, "1Q", "use K, M, G, T"},
		{CLV_SLURM_CLASS, "latency", NULL},
		{CLV_SLURM_CLASS, "Latency", "latency, normal or batch"},
		{CLV_SLURM_PROFILE, "1g.10gb+me", NULL},
		{CLV_SLURM_PROFILE, "CPX/NPS4", NULL},
		{CLV_SLURM_PROFILE, "1g 10gb", "cleave profiles"},
		{CLV_SLURM_PROFILE, "1g.10gb\n", "cleave profiles"},
		{CLV_SLURM_PROFILE,
			"a-profile-whose-name-has-more-characters-than-any-profile-has",
			NULL},
		{CLV_SLURM_PROFILE,
			"a-profile-whose-name-has-more-characters-than-any-profile-has"
			"-in-the-world",
			"too long"},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		struct clv_slurm_wanted wanted = {0};
		struct clv_error err = {0};
		int r = clv_slurm_wanted_set(
			&wanted, cases[i].which, cases[i].text, &err);

		assert_int_equal(r < 0, cases[i].why != NULL);
		assert_int_equal(r, err.code);
		assert_int_equal(clv_slurm_wanted_any(&wanted), r == 0);
		if (cases[i].why)
			assert_non_null(strstr(err.msg, cases[i].why));
		else
			assert_string_equal(wanted.texts[cases[i].which], cases[i].text);
	}
}

static void test_a_class_is_of_something(void **state)
{
	struct clv_slurm_wanted wanted = {0};
	struct clv_error err = {0};

	assert_int_equal(clv_slurm_wanted_check(&wanted, &err), 0);
	clv_slurm_wanted_set(&wanted, CLV_SLURM_CLASS, "batch", &err);
	assert_true(clv_slurm_wanted_check(&wanted, &err) < 0);
	clv_slurm_wanted_set(&wanted, CLV_SLURM_MEMORY, "1G", &err);
	assert_int_equal(clv_slurm_wanted_check(&wanted, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_a_class_is_of_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
