/* SPDX-License-Identifier: Apache-2.0 */
/* Whether one more share fits, and whether a refusal names the rest. */
#include "core/share/admission.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "core/share/share.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GI (UINT64_C(1) << 30)
#define DEVICE_BYTES (16 * GI)

static void test_rows(void **state)
{
	static const struct {
		struct clv_promised promised;
		uint32_t compute_ppm;
		uint64_t memory_bytes;
		const char *left; /* NULL: it fits */
	} rows[] = {
		/* clang-format off */
		/* promised              wanted                   left */
		{ { 0, 0 },              1000000, DEVICE_BYTES,   NULL },
		{ { 0, 0 },              1, 1,                    NULL },
		{ { 700000, 12 * GI },   300000, 4 * GI,          NULL },
		{ { 999999, 0 },         1, GI,                   NULL },
		{ { 0, DEVICE_BYTES - 1 }, 300000, 1,             NULL },
		{ { 700000, 0 },         300001, GI,              "0.3 of it is left" },
		{ { 1000000, 0 },        1, GI,                   "0.0 of it is left" },
		{ { 0, 12 * GI },        300000, 4 * GI + 1,      "4 GiB is left" },
		{ { 0, DEVICE_BYTES },   300000, 1,               "0 B is left" },
		/* both are short: the error names the share first */
		{ { 900000, DEVICE_BYTES }, 300000, GI,           "0.1 of it is left" },
		/* overcommitted before: nothing is left, and no subtraction wraps */
		{ { 1500000, 0 },        1, GI,                   "0.0 of it is left" },
		{ { UINT64_MAX, 0 },     1, GI,                   "0.0 of it is left" },
		{ { 0, 20 * GI },        1, 1,                    "0 B is left" },
		{ { 0, UINT64_MAX },     1, 1,                    "0 B is left" },
		{ { 0, 0 },              1, UINT64_MAX,           "16 GiB is left" },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_share wanted = {
			.compute_ppm = rows[i].compute_ppm,
			.memory_bytes = rows[i].memory_bytes,
		};
		struct clv_error err = {0};
		int r = clv_admission_check(
			&rows[i].promised, &wanted, DEVICE_BYTES, "gpu7", false, &err);

		if (r != (rows[i].left ? -EBUSY : 0) || err.code != r)
			fail_msg("row %zu gives %d", i, r);
		if (rows[i].left &&
			(!strstr(err.msg, rows[i].left) || !strstr(err.msg, "gpu7") ||
				!strstr(err.msg, "--wait") || strchr(err.msg, '\n')))
			fail_msg("'%s' does not say '%s'", err.msg, rows[i].left);

		assert_int_equal(clv_admission_check(&rows[i].promised, &wanted,
					 DEVICE_BYTES, "gpu7", true, &err),
			0);
		assert_int_equal(clv_admission_check(&rows[i].promised, &wanted,
					 DEVICE_BYTES, "gpu7", false, NULL),
			r);
	}
}

/* Exactly n shares of one n-th fit. */
static void test_a_device_fills_up(void **state)
{
	for (uint32_t n = 1; n <= 40; n++) {
		struct clv_promised promised = {0};
		struct clv_share_request request = {0};
		struct clv_share share;
		uint32_t admitted = 0;
		char text[16];

		snprintf(text, sizeof(text), "1/%u", n);
		assert_int_equal(
			clv_units_parse_fraction(text, &request.compute_ppm, NULL), 0);
		assert_int_equal(
			clv_share_resolve(&request, DEVICE_BYTES, &share, NULL), 0);
		while (clv_admission_check(&promised, &share, DEVICE_BYTES, "gpu0", false,
			       NULL) == 0) {
			promised.compute_ppm += share.compute_ppm;
			promised.memory_bytes += share.memory_bytes;
			admitted++;
		}
		assert_int_equal(admitted, n);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_a_device_fills_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
