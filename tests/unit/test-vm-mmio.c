/* SPDX-License-Identifier: Apache-2.0 */
/* The 64-bit window: the rule of KubeVirt's and Hyper-V's guides, a sum of powers of two.
 */
#include "bridge/libvirt/domain/mmio.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/libvirt/domain/domain.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static void test_needed(void **state)
{
	const uint64_t bars[] = {16 * MIB, 3 * GIB, 0, 256 * GIB, 1};

	assert_int_equal(clv_vm_mmio_needed(bars, 5), 16 * MIB + 4 * GIB + 256 * GIB + 1);
	assert_int_equal(clv_vm_mmio_needed(NULL, 0), 0);
	assert_int_equal(clv_vm_mmio_needed((uint64_t[]){UINT64_MAX, 1}, 2), UINT64_MAX);
	assert_int_equal(clv_vm_mmio_needed((uint64_t[]){UINT64_C(1) << 62, 1}, 2),
		(UINT64_C(1) << 62) + 1);
}

static void test_window(void **state)
{
	static const struct {
		const char *machine;
		uint64_t bytes;
	} rows[] = {
		{"pc-q35-7.2", 32 * GIB},
		{"q35", 32 * GIB},
		{"pc-i440fx-7.2", 2 * GIB},
		{"pc", 2 * GIB},
		{"virt-7.2", 0},
		{"", 0},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_vm_domain domain = {0};

		snprintf(domain.machine, sizeof(domain.machine), "%s", rows[i].machine);
		assert_int_equal(clv_vm_mmio_window(&domain), rows[i].bytes);
		domain.has_memory_hole = true;
		domain.memory_hole_bytes = 64 * GIB;
		assert_int_equal(clv_vm_mmio_window(&domain), 64 * GIB);
	}
}

static void test_choose(void **state)
{
	assert_int_equal(clv_vm_mmio_choose(0), 32 * GIB);
	assert_int_equal(clv_vm_mmio_choose(16 * GIB), 32 * GIB);
	assert_int_equal(clv_vm_mmio_choose(16 * GIB + 1), 64 * GIB);
	assert_int_equal(clv_vm_mmio_choose(128 * GIB), 256 * GIB);
	assert_int_equal(clv_vm_mmio_choose(UINT64_MAX), UINT64_MAX);
}

static void test_check(void **state)
{
	struct clv_vm_domain domain = {.machine = "pc-q35-7.2", .name = (char *)"a"};
	struct clv_error err = {0};

	assert_int_equal(clv_vm_mmio_check(&domain, 32 * GIB, &err), 0);
	assert_int_equal(clv_vm_mmio_check(&domain, 32 * GIB + 1, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "--mmio"));
	domain.has_memory_hole = true; /* off, for old guests */
	assert_int_equal(clv_vm_mmio_check(&domain, 1, &err), -ENOSPC);
	domain = (struct clv_vm_domain){.machine = "virt-7.2"};
	assert_int_equal(clv_vm_mmio_check(&domain, 32 * GIB, &err), 0);
}

static void test_read(void **state)
{
	/* Of a function with a 64-bit BAR of 16 MiB, another of 4 GiB that has no place
	 * yet, a 32-bit one, and one of ports. */
	static const char text[] =
		"0x00000000fb000000 0x00000000fbffffff 0x0000000000140204\n"
		"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		"0x0000004000000000 0x00000040ffffffff 0x000000000014220c\n"
		"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		"0x00000000fc000000 0x00000000fc0fffff 0x0000000000040200\n"
		"0x0000000000001000 0x000000000000107f 0x0000000000040101\n"
		"bad\n";
	uint64_t bars[8];

	assert_int_equal(clv_vm_mmio_read_bars(text, bars, 8), 2);
	assert_int_equal(bars[0], 16 * MIB);
	assert_int_equal(bars[1], 4 * GIB);
	assert_int_equal(clv_vm_mmio_read_bars(text, bars, 1), 1);
	assert_int_equal(clv_vm_mmio_read_bars("", bars, 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_needed),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
