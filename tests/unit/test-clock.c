/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks that a preloaded library shifts do not affect clv_clock_ns(). */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* Defined as in such a preloaded library. */
int clock_gettime(clockid_t clock, struct timespec *ret);
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	*ret = (struct timespec){0};
	return 0;
}

static uint64_t kernel_ns(void)
{
	struct timespec t;

	assert_int_equal(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t), 0);
	return (uint64_t)t.tv_sec * CLV_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void test_found(void **state)
{
	/* valgrind hides the vDSO. */
	assert_int_equal(clv_vdso_find_clock() != NULL, getauxval(AT_SYSINFO_EHDR) != 0);
}

static void test_agrees_with_kernel(void **state)
{
	for (int i = 0; i < 1000; i++) {
		uint64_t before_ns = kernel_ns(), read_ns = clv_clock_ns();

		assert_in_range(read_ns, before_ns, kernel_ns());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_agrees_with_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
