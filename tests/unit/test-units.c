/* SPDX-License-Identifier: Apache-2.0 */
/* Every valid form of a size, a share and a duration, and the errors of invalid ones: one
 * line with the text itself, and a valid form. */
#include "base/units.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define KI (UINT64_C(1) << 10)
#define MI (UINT64_C(1) << 20)
#define GI (UINT64_C(1) << 30)
#define TI (UINT64_C(1) << 40)

struct good {
	const char *text;
	uint64_t value;
};

struct bad {
	const char *text;
	int code;
	const char *says; /* a valid form */
};

static const struct good good_bytes[] = {
	/* clang-format off */
	{ "1",          1 },
	{ "4096",       4096 },
	{ "7B",         7 },
	{ "7b",         7 },
	{ "512M",       512 * MI },
	{ "512m",       512 * MI },
	{ "512Mi",      512 * MI },
	{ "512MiB",     512 * MI },
	{ "512mib",     512 * MI },
	{ "512MB",      512000000 },
	{ "1K",         KI },
	{ "1Ki",        KI },
	{ "1KiB",       KI },
	{ "1KB",        1000 },
	{ "2G",         2 * GI },
	{ "2Gi",        2 * GI },
	{ "2GiB",       2 * GI },
	{ "2GB",        UINT64_C(2000000000) },
	{ "3T",         3 * TI },
	{ "3Ti",        3 * TI },
	{ "3TiB",       3 * TI },
	{ "3TB",        UINT64_C(3000000000000) },
	{ "1.5GiB",     GI + GI / 2 },
	{ "1.5GB",      UINT64_C(1500000000) },
	{ ".5K",        512 },
	{ "2.K",        2 * KI },
	{ "0.1K",       102 },            /* 102.4: rounded */
	{ "0.0009765625K", 1 },
	{ "007M",       7 * MI },
	{ "8388607T",   8388607 * TI },
	{ "99999999999999999", UINT64_C(99999999999999999) },
	/* clang-format on */
};

static const struct bad bad_bytes[] = {
	/* clang-format off */
	{ "",           -EINVAL, "512M" },
	{ "-1",         -EINVAL, "positive" },
	{ "-512M",      -EINVAL, "positive" },
	{ "+1",         -EINVAL, "512M" },
	{ "nan",        -EINVAL, "512M" },
	{ "inf",        -EINVAL, "512M" },
	{ "M",          -EINVAL, "512M" },
	{ ".",          -EINVAL, "512M" },
	{ ".M",         -EINVAL, "512M" },
	{ " 1M",        -EINVAL, "512M" },
	{ "1 M",        -EINVAL, "K, M, G, T" },
	{ "1M ",        -EINVAL, "K, M, G, T" },
	{ "1.5.5M",     -EINVAL, "K, M, G, T" },
	{ "1,5M",       -EINVAL, "K, M, G, T" },
	{ "0x10",       -EINVAL, "K, M, G, T" },
	{ "1e9",        -EINVAL, "K, M, G, T" },
	{ "1X",         -EINVAL, "K, M, G, T" },
	{ "1MM",        -EINVAL, "K, M, G, T" },
	{ "1Bi",        -EINVAL, "K, M, G, T" },
	{ "50%",        -EINVAL, "K, M, G, T" },
	{ "0",          -ERANGE, "at least 1 byte" },
	{ "0M",         -ERANGE, "at least 1 byte" },
	{ "0.0001K",    -ERANGE, "at least 1 byte" },
	{ "8388608T",   -ERANGE, "8 EiB" },
	{ "9999999999T", -ERANGE, "8 EiB" },
	{ "99999999999999999999999999", -EINVAL, "512M" },
	/* clang-format on */
};

static const struct good good_fractions[] = {
	/* clang-format off */
	{ "1",          1000000 },
	{ "1.0",        1000000 },
	{ "0.3",        300000 },
	{ ".3",         300000 },
	{ "0.300",      300000 },
	{ "0.30000000000000000000000000000000000000000000000000000000000000000", 300000 },
	{ "30%",        300000 },
	{ "100%",       1000000 },
	{ "33.3333%",   333333 },
	{ "0.0001%",    1 },
	{ "6/20",       300000 },
	{ "1/3",        333333 },
	{ "2/3",        666666 },
	{ "1/1",        1000000 },
	{ "1/1000000",  1 },
	{ "0.000001",   1 },
	{ "0.0000005",  1 },
	{ "0.999999",   999999 },
	/* clang-format on */
};

static const struct bad bad_fractions[] = {
	/* clang-format off */
	{ "",           -EINVAL, "0.3" },
	{ "0",          -ERANGE, "more than 0" },
	{ "0.0",        -ERANGE, "more than 0" },
	{ "0%",         -ERANGE, "more than 0" },
	{ "0/7",        -ERANGE, "more than 0" },
	{ "0.0000001",  -ERANGE, "more than 0" },
	{ "1/3000000",  -ERANGE, "more than 0" },
	{ "-0.3",       -ERANGE, "more than 0" },
	{ "-1",         -ERANGE, "more than 0" },
	{ "-nan",       -ERANGE, "more than 0" },
	{ "1.000001",   -ERANGE, "at most 1" },
	{ "1.1",        -ERANGE, "at most 1" },
	{ "2",          -ERANGE, "at most 1" },
	{ "30",         -ERANGE, "at most 1" },
	{ "101%",       -ERANGE, "at most 1" },
	{ "7/6",        -ERANGE, "at most 1" },
	{ "288230376151711745/1", -ERANGE, "at most 1" },     /* x 10^6 is 1 modulo 2^64 */
	{ "0.0000000000000000000000000000000000000000000000000000000000000000001",
	                -ERANGE, "more than 0" },
	{ "99999999999999999", -EINVAL, "0.3" },
	{ "nan",        -EINVAL, "0.3" },
	{ "NaN",        -EINVAL, "0.3" },
	{ "inf",        -EINVAL, "0.3" },
	{ "1/0",        -EINVAL, "0.3" },
	{ "1/",         -EINVAL, "0.3" },
	{ "/2",         -EINVAL, "0.3" },
	{ "1/2/3",      -EINVAL, "0.3" },
	{ "1/2%",       -EINVAL, "0.3" },
	{ "0.5/2",      -EINVAL, "0.3" },
	{ "1/2.5",      -EINVAL, "0.3" },
	{ "1/-2",       -EINVAL, "0.3" },
	{ "0,3",        -EINVAL, "0.3" },
	{ "0.3x",       -EINVAL, "0.3" },
	{ "30%%",       -EINVAL, "0.3" },
	{ "30 %",       -EINVAL, "0.3" },
	{ "3e-1",       -EINVAL, "0.3" },
	{ "0x1",        -EINVAL, "0.3" },
	{ "+0.3",       -EINVAL, "0.3" },
	{ "half",       -EINVAL, "0.3" },
	/* clang-format on */
};

static const struct good good_durations[] = {
	/* clang-format off */
	{ "1",          UINT64_C(1000000000) },
	{ "0.5",        UINT64_C(500000000) },
	{ "10us",       10000 },
	{ "250ms",      UINT64_C(250000000) },
	{ "250MS",      UINT64_C(250000000) },
	{ "30s",        UINT64_C(30000000000) },
	{ "1.5s",       UINT64_C(1500000000) },
	{ "5m",         UINT64_C(300000000000) },
	{ "2h",         UINT64_C(7200000000000) },
	{ "1d",         UINT64_C(86400000000000) },
	{ "0.001us",    1 },
	/* clang-format on */
};

static const struct bad bad_durations[] = {
	/* clang-format off */
	{ "",           -EINVAL, "250ms" },
	{ "0",          -EINVAL, "positive" },
	{ "0s",         -EINVAL, "positive" },
	{ "-1s",        -EINVAL, "positive" },
	{ "1w",         -EINVAL, "2h" },
	{ "1 s",        -EINVAL, "2h" },
	{ "1h30m",      -EINVAL, "2h" },
	{ "nan",        -EINVAL, "2h" },
	{ "forever",    -EINVAL, "2h" },
	{ "200000d",    -EINVAL, "2h" },   /* beyond 292 years */
	/* clang-format on */
};

static void check_message(const struct clv_error *err, const struct bad *bad, int r)
{
	char quoted[41];

	snprintf(quoted, sizeof(quoted), "%s", bad->text);
	if (r != bad->code || err->code != bad->code)
		fail_msg("'%s' gives %d with the code %d, not %d", bad->text, r,
			err->code, bad->code);
	if (!strstr(err->msg, bad->says) || !strstr(err->msg, quoted))
		fail_msg("'%s': '%s' does not say '%s'", bad->text, err->msg, bad->says);
	if (strchr(err->msg, '\n') || err->msg[strlen(err->msg) - 1] == '.')
		fail_msg("'%s' is not one line without a full stop", err->msg);
}

static void test_bytes(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(good_bytes); i++) {
		struct clv_error err = {.code = 7};
		uint64_t bytes = 0;

		assert_int_equal(
			clv_units_parse_bytes(good_bytes[i].text, &bytes, &err), 0);
		if (bytes != good_bytes[i].value)
			fail_msg("'%s' is read as %llu", good_bytes[i].text,
				(unsigned long long)bytes);
		assert_int_equal(err.code, 7);
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(bad_bytes); i++) {
		struct clv_error err = {0};
		uint64_t bytes = 42;

		check_message(&err, &bad_bytes[i],
			clv_units_parse_bytes(bad_bytes[i].text, &bytes, &err));
		assert_int_equal(bytes, 42);
		assert_int_equal(clv_units_parse_bytes(bad_bytes[i].text, &bytes, NULL),
			bad_bytes[i].code);
	}
}

static void test_ranges(void **state)
{
	static const char *const bad[] = {"0.1", "", "..", "0.1..", "..0.6", "0..0.6",
		"0.6..0.1", "0.1..1.1", "0.1 .. 0.6", "0.1..0.2..0.3",
		"0.00000000000000000000000000000000000001..1"};
	uint32_t least_ppm, most_ppm;
	struct clv_error err;

	assert_int_equal(
		clv_units_parse_range("10%..6/10", &least_ppm, &most_ppm, &err), 0);
	assert_int_equal(least_ppm, 100000);
	assert_int_equal(most_ppm, 600000);
	assert_int_equal(clv_units_parse_range(".1...1", &least_ppm, &most_ppm, &err), 0);
	assert_int_equal(least_ppm, 100000);
	assert_int_equal(most_ppm, 100000);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(bad); i++) {
		assert_int_equal(
			clv_units_parse_range(bad[i], &least_ppm, &most_ppm, &err),
			-EINVAL);
		assert_non_null(strstr(err.msg, "as 0.1..0.6"));
	}
	assert_int_equal(least_ppm, 100000);
}

static void test_fractions(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(good_fractions); i++) {
		struct clv_error err = {.code = 7};
		uint32_t ppm = 0;

		if (clv_units_parse_fraction(good_fractions[i].text, &ppm, &err) < 0 ||
			ppm != good_fractions[i].value)
			fail_msg("'%s' is read as %u", good_fractions[i].text, ppm);
		assert_int_equal(err.code, 7);
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(bad_fractions); i++) {
		struct clv_error err = {0};
		uint32_t ppm = 42;

		check_message(&err, &bad_fractions[i],
			clv_units_parse_fraction(bad_fractions[i].text, &ppm, &err));
		assert_int_equal(ppm, 42);
	}
}

static void test_durations(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(good_durations); i++) {
		uint64_t ns = 0;

		assert_int_equal(
			clv_units_parse_duration(good_durations[i].text, &ns, NULL), 0);
		if (ns != good_durations[i].value)
			fail_msg("'%s' is read as %llu", good_durations[i].text,
				(unsigned long long)ns);
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(bad_durations); i++) {
		struct clv_error err = {0};
		uint64_t ns = 42;

		check_message(&err, &bad_durations[i],
			clv_units_parse_duration(bad_durations[i].text, &ns, &err));
		assert_int_equal(ns, 42);
	}
}

/* A long text pasted by mistake does not flood the terminal. */
static void test_long_text_is_cut(void **state)
{
	char text[1000];
	struct clv_error err;
	uint32_t ppm;
	uint64_t value;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(clv_units_parse_fraction(text, &ppm, &err), -EINVAL);
	assert_in_range(strlen(err.msg), 40, 160);
	assert_int_equal(clv_units_parse_bytes(text, &value, &err), -EINVAL);
	assert_in_range(strlen(err.msg), 40, 160);
	memset(text, '9', sizeof(text) - 1);
	assert_int_equal(clv_units_parse_duration(text, &value, &err), -EINVAL);
	assert_in_range(strlen(err.msg), 40, 160);
}

/* n parts of 1/n each, as in a layout, never exceed the device. */
static void test_parts_fit_into_the_whole(void **state)
{
	for (unsigned int n = 1; n <= 1000; n++) {
		char text[32];
		uint32_t ppm;

		snprintf(text, sizeof(text), "1/%u", n);
		assert_int_equal(clv_units_parse_fraction(text, &ppm, NULL), 0);
		assert_in_range((uint64_t)ppm * n, CLV_PPM - n, CLV_PPM);
	}
}

static void test_formats(void **state)
{
	static const struct good bytes[] = {
		/* clang-format off */
		{ "0 B",        0 },
		{ "1 B",        1 },
		{ "1023 B",     1023 },
		{ "1 KiB",      KI },
		{ "1.50 KiB",   KI + KI / 2 },
		{ "512 MiB",    512 * MI },
		{ "1.50 GiB",   GI + GI / 2 },
		{ "2 TiB",      2 * TI },
		{ "3 PiB",      3 * TI * KI },
		{ "7 EiB",      7 * TI * MI },
		/* clang-format on */
	};
	static const struct good fractions[] = {
		/* clang-format off */
		{ "0.0",        0 },
		{ "0.3",        300000 },
		{ "0.333333",   333333 },
		{ "0.000001",   1 },
		{ "0.25",       250000 },
		{ "1.0",        1000000 },
		/* clang-format on */
	};
	char buffer[32];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(bytes); i++) {
		clv_units_format_bytes(bytes[i].value, buffer);
		assert_string_equal(buffer, bytes[i].text);
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(fractions); i++) {
		clv_units_format_fraction((uint32_t)fractions[i].value, buffer);
		assert_string_equal(buffer, fractions[i].text);
	}
}

/* A printed value can be parsed. */
static void test_fractions_come_back(void **state)
{
	for (uint32_t ppm = 1; ppm <= CLV_PPM; ppm += 7) {
		char buffer[16];
		uint32_t back;

		clv_units_format_fraction(ppm, buffer);
		assert_int_equal(clv_units_parse_fraction(buffer, &back, NULL), 0);
		assert_int_equal(back, ppm);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_fractions),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_long_text_is_cut),
		cmocka_unit_test(test_parts_fit_into_the_whole),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_fractions_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
