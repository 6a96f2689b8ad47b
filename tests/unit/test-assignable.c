/* SPDX-License-Identifier: Apache-2.0 */
/* How virtual machines can have a device. */
#include "core/device/assignable.h"

#include "base/cleanup.h"
#include "core/device/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PCI "0000:3b:00.0"

static const struct {
	const char *address;
	enum clv_scheme scheme;
	uint32_t total;
	bool is_capable;
	const char *why_not, *holder;
	const char *assignable, *why; /* why: a part of it; NULL: none */
} rows[] = {
	/* clang-format off */
	{PCI, CLV_SCHEME_NONE, 0, false, "", NULL, "whole", NULL},
	{PCI, CLV_SCHEME_NONE, 4, true, "", NULL, "partitioned", NULL},
	{PCI, CLV_SCHEME_VF, 4, true, "", NULL, "partitioned", NULL},
	/* Its functions are held one by one. */
	{PCI, CLV_SCHEME_VF, 4, true, "", "lease train of bob", "partitioned", NULL},
	{PCI, CLV_SCHEME_NONE, 4, true, "", "lease train of bob", "none", "it is in use"},
	{PCI, CLV_SCHEME_NONE, 4, false, "its driver offers none", NULL, "sriov_off",
		"its driver offers none"},
	{PCI, CLV_SCHEME_MIG, 0, false, "", NULL, "none", "divided for programs"},
	{PCI, CLV_SCHEME_MIG, 16, false, "its driver offers none", NULL, "none",
		"divided for programs"},
	{PCI, CLV_SCHEME_NONE, 16, false, "its driver offers none", "lease train of bob",
		"none", "it is in use"},
	{PCI, CLV_SCHEME_NONE, 0, false, "", "lease train of bob", "none", "it is in use"},
	{"", CLV_SCHEME_NONE, 0, false, "", NULL, "none", "no PCI device"},
	/* clang-format on */
};

static void test_rows(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_holder holder = {0};
		struct clv_node_device device = {
			.scheme = rows[i].scheme,
			.vf = {.total = rows[i].total, .is_capable = rows[i].is_capable},
		};
		const char *why;

		strcpy(device.pci_address, rows[i].address);
		strcpy(device.vf.why_not, rows[i].why_not);
		if (rows[i].holder) {
			strcpy(holder.text, rows[i].holder);
			device.holders.items = &holder;
			device.holders.n = 1;
		}
		assert_string_equal(
			clv_assignable_to_string(clv_assignable_of(&device, &why)),
			rows[i].assignable);
		assert_int_equal(why != NULL, rows[i].why != NULL);
		if (rows[i].why)
			assert_non_null(strstr(why, rows[i].why));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
