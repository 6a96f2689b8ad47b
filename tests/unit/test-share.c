/* SPDX-License-Identifier: Apache-2.0 */
/* Classes by name, and the results of incomplete or impossible requests for a share. */
#include "core/share/share.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GI (UINT64_C(1) << 30)
#define DEVICE_BYTES (16 * GI)

static void test_classes(void **state)
{
	static const char *const names[] = {"latency", "normal", "batch"};

	assert_int_equal(CLV_ARRAY_SIZE(names), _CLV_CLASS_MAX);
	for (int i = 0; i < _CLV_CLASS_MAX; i++) {
		assert_string_equal(clv_class_to_string((enum clv_class)i), names[i]);
		assert_int_equal(clv_class_from_string(names[i]), i);
	}
	assert_null(clv_class_to_string(_CLV_CLASS_MAX));
	assert_null(clv_class_to_string(_CLV_CLASS_INVALID));
	assert_int_equal(clv_class_from_string(""), _CLV_CLASS_INVALID);
	assert_int_equal(clv_class_from_string("Latency"), _CLV_CLASS_INVALID);
	assert_int_equal(clv_class_from_string("norma"), _CLV_CLASS_INVALID);
	assert_int_equal(clv_class_from_string("normal "), _CLV_CLASS_INVALID);
	assert_int_equal(_CLV_CLASS_INVALID, -EINVAL);
}

static void test_good_requests(void **state)
{
	static const struct {
		struct clv_share_request asked;
		struct clv_share got;
	} rows[] = {
		/* clang-format off */
		/* all values given */
		{ { 300000, 500000, GI, CLV_CLASS_BATCH },
		  { 300000, 500000, GI, CLV_CLASS_BATCH } },
		/* no memory: the share's part of it */
		{ { 250000, 0, 0, CLV_CLASS_NORMAL },
		  { 250000, 0, 4 * GI, CLV_CLASS_NORMAL } },
		{ { 1000000, 0, 0, CLV_CLASS_LATENCY },
		  { 1000000, 0, DEVICE_BYTES, CLV_CLASS_LATENCY } },
		{ { 333333, 0, 0, CLV_CLASS_NORMAL },
		  { 333333, 0, UINT64_C(5726617334), CLV_CLASS_NORMAL } },
		/* a range: its minimum is promised, and is its initial value */
		{ { 0, 0, 0, CLV_CLASS_NORMAL, { 250000, 500000 } },
		  { 250000, 0, 4 * GI, CLV_CLASS_NORMAL, { 250000, 500000 } } },
		{ { 300000, 500000, GI, CLV_CLASS_NORMAL, { 250000, 500000 } },
		  { 300000, 500000, GI, CLV_CLASS_NORMAL, { 250000, 500000 } } },
		{ { 900000, 0, GI, CLV_CLASS_NORMAL, { 250000, 500000 } },
		  { 500000, 0, GI, CLV_CLASS_NORMAL, { 250000, 500000 } } },
		/* no share: the memory's part of the device */
		{ { 0, 0, 4 * GI, CLV_CLASS_NORMAL },
		  { 250000, 0, 4 * GI, CLV_CLASS_NORMAL } },
		{ { 0, 0, DEVICE_BYTES, CLV_CLASS_NORMAL },
		  { 1000000, 0, DEVICE_BYTES, CLV_CLASS_NORMAL } },
		{ { 0, 0, 1, CLV_CLASS_NORMAL },       /* the weight is never 0 */
		  { 1, 0, 1, CLV_CLASS_NORMAL } },
		/* a cap equal to the share, and to the whole */
		{ { 300000, 300000, GI, CLV_CLASS_NORMAL },
		  { 300000, 300000, GI, CLV_CLASS_NORMAL } },
		{ { 300000, 1000000, GI, CLV_CLASS_NORMAL },
		  { 300000, 1000000, GI, CLV_CLASS_NORMAL } },
		/* all of the device's memory for a small part of its time */
		{ { 1, 0, DEVICE_BYTES, CLV_CLASS_NORMAL },
		  { 1, 0, DEVICE_BYTES, CLV_CLASS_NORMAL } },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {.code = 7};
		struct clv_share share;

		assert_int_equal(
			clv_share_resolve(&rows[i].asked, DEVICE_BYTES, &share, &err), 0);
		assert_int_equal(share.compute_ppm, rows[i].got.compute_ppm);
		assert_int_equal(share.cap_ppm, rows[i].got.cap_ppm);
		assert_int_equal(share.memory_bytes, rows[i].got.memory_bytes);
		assert_int_equal(share.class, rows[i].got.class);
		assert_int_equal(err.code, 7);
	}
}

static void test_bad_requests(void **state)
{
	static const struct {
		struct clv_share_request asked;
		int code;
		const char *says;
	} rows[] = {
		/* clang-format off */
		{ { 0, 0, 0, CLV_CLASS_NORMAL },             -EINVAL, "give a share" },
		{ { 0, 500000, 0, CLV_CLASS_NORMAL },        -EINVAL, "give a share" },
		{ { 1000001, 0, GI, CLV_CLASS_NORMAL },      -ERANGE, "at most 1" },
		{ { UINT32_MAX, 0, GI, CLV_CLASS_NORMAL },   -ERANGE, "at most 1" },
		{ { 300000, 1000001, GI, CLV_CLASS_NORMAL }, -ERANGE, "at most 1" },
		{ { 300000, 0, DEVICE_BYTES + 1, CLV_CLASS_NORMAL },
		                                             -ERANGE, "at most 16 GiB" },
		{ { 0, 0, UINT64_MAX, CLV_CLASS_NORMAL },    -ERANGE, "at most 16 GiB" },
		{ { 300000, 299999, GI, CLV_CLASS_NORMAL },  -EINVAL, "raise the cap" },
		{ { 0, 200000, 4 * GI, CLV_CLASS_NORMAL },   -EINVAL, "raise the cap" },
		{ { 0, 0, GI, CLV_CLASS_NORMAL, { 0, 500000 } },
		                                             -EINVAL, "a range of shares" },
		{ { 0, 0, GI, CLV_CLASS_NORMAL, { 500001, 500000 } },
		                                             -EINVAL, "a range of shares" },
		{ { 0, 0, GI, CLV_CLASS_NORMAL, { 1, 1000001 } },
		                                             -EINVAL, "a range of shares" },
		{ { 0, 400000, GI, CLV_CLASS_NORMAL, { 1, 500000 } },
		                                             -EINVAL, "raise the cap" },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_share share = {.compute_ppm = 42};
		struct clv_error err = {0};
		int r = clv_share_resolve(&rows[i].asked, DEVICE_BYTES, &share, &err);

		if (r != rows[i].code || err.code != r)
			fail_msg("row %zu gives %d", i, r);
		if (!strstr(err.msg, rows[i].says) || strchr(err.msg, '\n'))
			fail_msg("'%s' does not say '%s'", err.msg, rows[i].says);
		assert_int_equal(share.compute_ppm, 42);
		assert_int_equal(
			clv_share_resolve(&rows[i].asked, DEVICE_BYTES, &share, NULL),
			rows[i].code);
	}
}

/* A device that reports no memory has none to give; there is no division by it. */
static void test_device_without_memory(void **state)
{
	struct clv_share_request memory = {.memory_bytes = 1};
	struct clv_share_request compute = {.compute_ppm = 300000};
	struct clv_share share;

	assert_int_equal(clv_share_resolve(&memory, 0, &share, NULL), -ERANGE);
	assert_int_equal(clv_share_resolve(&compute, 0, &share, NULL), 0);
	assert_int_equal(share.memory_bytes, 0);
}

/* The parts of equal shares never exceed the device. */
static void test_equal_parts_fit(void **state)
{
	for (uint32_t n = 1; n <= 64; n++) {
		struct clv_share_request request = {.compute_ppm = CLV_PPM / n};
		struct clv_share share;

		assert_int_equal(
			clv_share_resolve(&request, DEVICE_BYTES - 1, &share, NULL), 0);
		assert_true(share.memory_bytes * n <= DEVICE_BYTES - 1);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_good_requests),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_device_without_memory),
		cmocka_unit_test(test_equal_parts_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
