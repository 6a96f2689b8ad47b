/* SPDX-License-Identifier: Apache-2.0 */
/* The condition of a device after warnings and Xid errors, how long it lasts, and its
 * text. */
#include "core/device/health.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool take_sign(struct clv_health *health, enum clv_sign sign, uint64_t count)
{
	struct clv_reading reading;

	clv_reading_begin(&reading, "GPU-1");
	reading.signs[sign] = count;
	return clv_health_update(health, &reading);
}

static bool take_xid(struct clv_health *health, uint32_t number)
{
	struct clv_reading reading;

	clv_reading_begin(&reading, "GPU-1");
	reading.xids[reading.n_xids++] = number;
	return clv_health_update(health, &reading);
}

static void test_nothing_is_wrong(void **state)
{
	struct clv_health health = {0};
	struct clv_reading reading;

	clv_reading_begin(&reading, "GPU-1");
	assert_false(clv_health_update(&health, &reading));
	assert_int_equal(health.state, CLV_HEALTH_OK);
	assert_int_equal(health.n_reasons, 0);
	assert_true(isnan(reading.power_watts));
	assert_true(reading.memory_used_bytes == CLV_READING_UNKNOWN);
}

static void test_a_warning_holds_while_it_is_reported(void **state)
{
	for (int sign = 0; sign < _CLV_SIGN_MAX; sign++) {
		struct clv_health health = {0};

		assert_true(take_sign(&health, (enum clv_sign)sign, 1));
		assert_int_equal(health.state,
			sign == CLV_SIGN_LOST ? CLV_HEALTH_LOST : CLV_HEALTH_DEGRADED);
		assert_int_equal(health.n_reasons, 1);
		/* The reason names a remedy, and is not truncated. */
		assert_non_null(strstr(health.reasons[0].text, ": "));
		assert_true(strlen(health.reasons[0].text) < CLV_HEALTH_TEXT_MAX - 24);
		assert_false(take_sign(&health, (enum clv_sign)sign, 1));
		assert_false(clv_health_acknowledge(&health));
		assert_true(take_sign(&health, (enum clv_sign)sign, 0));
		assert_int_equal(health.state, CLV_HEALTH_OK);
	}
}

static void test_more_of_the_same_is_a_change(void **state)
{
	struct clv_health health = {0};

	assert_true(take_sign(&health, CLV_SIGN_ECC, 3));
	assert_non_null(strstr(health.reasons[0].text, "3 uncorrectable"));
	assert_true(take_sign(&health, CLV_SIGN_ECC, 4));
	assert_non_null(strstr(health.reasons[0].text, "4 uncorrectable"));
	assert_int_equal(health.n_reasons, 1);
}

static void test_xids(void **state)
{
	static const struct {
		uint32_t number;
		enum clv_health_state state;
	} rows[] = {
		{13, CLV_HEALTH_OK},
		{31, CLV_HEALTH_OK},
		{43, CLV_HEALTH_OK},
		{48, CLV_HEALTH_DEGRADED},
		{79, CLV_HEALTH_LOST},
		{94, CLV_HEALTH_OK},
		{119, CLV_HEALTH_DEGRADED},
		{9999, CLV_HEALTH_DEGRADED},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_health health = {0};
		bool is_changed = take_xid(&health, rows[i].number);

		assert_int_equal(health.state, rows[i].state);
		assert_int_equal(is_changed, rows[i].state != CLV_HEALTH_OK);
	}
}

/* An Xid error is reported once; without a second report the device is not healthy
 * again. */
static void test_an_xid_stays_until_it_is_seen_to(void **state)
{
	struct clv_health health = {0};

	assert_true(take_xid(&health, 48));
	assert_false(take_sign(&health, CLV_SIGN_ECC, 0));
	assert_int_equal(health.state, CLV_HEALTH_DEGRADED);
	assert_string_equal(health.reasons[0].code, "xid-48");
	assert_true(take_sign(&health, CLV_SIGN_ECC, 2));
	assert_true(clv_health_acknowledge(&health));
	assert_int_equal(health.n_reasons, 1);
	assert_string_equal(health.reasons[0].code, "ecc");
	assert_int_equal(health.state, CLV_HEALTH_DEGRADED);
}

static void test_the_worst_counts(void **state)
{
	struct clv_health health = {0};
	struct clv_reading reading;

	clv_reading_begin(&reading, "GPU-1");
	reading.signs[CLV_SIGN_ECC] = 1;
	reading.signs[CLV_SIGN_LOST] = 1;
	assert_true(clv_health_update(&health, &reading));
	assert_int_equal(health.state, CLV_HEALTH_LOST);
	assert_int_equal(health.n_reasons, 2);
	reading.signs[CLV_SIGN_LOST] = 0;
	assert_true(clv_health_update(&health, &reading));
	assert_int_equal(health.state, CLV_HEALTH_DEGRADED);
}

/* With more reasons than places, "lost" is not left out. */
static void test_more_reasons_than_room(void **state)
{
	struct clv_health health = {0};

	for (uint32_t i = 0; i < 2 * CLV_HEALTH_REASONS_MAX; i++)
		take_xid(&health, 1000 + i);
	assert_int_equal(health.n_reasons, CLV_HEALTH_REASONS_MAX);
	assert_int_equal(health.state, CLV_HEALTH_DEGRADED);
	assert_true(take_xid(&health, 79));
	assert_int_equal(health.n_reasons, CLV_HEALTH_REASONS_MAX);
	assert_int_equal(health.state, CLV_HEALTH_LOST);
	assert_true(clv_health_acknowledge(&health));
	assert_int_equal(health.n_reasons, 0);
	assert_int_equal(health.state, CLV_HEALTH_OK);
}

static void test_a_hang(void **state)
{
	struct clv_health health = {0};

	assert_false(clv_health_set_hang(&health, false, 0));
	assert_true(clv_health_set_hang(&health, true, 60));
	assert_non_null(strstr(health.reasons[0].text, "over 60 s"));
	assert_false(clv_health_set_hang(&health, true, 60));
	assert_true(clv_health_set_hang(&health, true, 30));
	assert_int_equal(health.n_reasons, 1);
	assert_true(clv_health_set_hang(&health, false, 0));
	assert_int_equal(health.state, CLV_HEALTH_OK);
}

static void test_processes(void **state)
{
	struct clv_reading reading;

	clv_reading_begin(&reading, "GPU-1");
	assert_int_equal(clv_reading_add_process(&reading, 7, 100, ""), 0);
	assert_int_equal(clv_reading_add_process(&reading, 7, 50, ""), 0);
	assert_int_equal(clv_reading_add_process(&reading, 7, 50, "gpu0/1g.5gb@0"), 0);
	assert_int_equal(
		clv_reading_add_process(&reading, 8, CLV_READING_UNKNOWN, ""), 0);
	assert_int_equal(clv_reading_add_process(&reading, 8, 5, ""), 0);
	assert_int_equal(reading.n_processes, 3);
	assert_int_equal(reading.processes[0].memory_bytes, 100);
	assert_int_equal(reading.processes[1].memory_bytes, 50);
	assert_int_equal(reading.processes[2].memory_bytes, 5);
	clv_reading_clear(&reading);
	assert_int_equal(reading.n_processes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_wrong),
		cmocka_unit_test(test_a_warning_holds_while_it_is_reported),
		cmocka_unit_test(test_more_of_the_same_is_a_change),
		cmocka_unit_test(test_xids),
		cmocka_unit_test(test_an_xid_stays_until_it_is_seen_to),
		cmocka_unit_test(test_the_worst_counts),
		cmocka_unit_test(test_more_reasons_than_room),
		cmocka_unit_test(test_a_hang),
		cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
