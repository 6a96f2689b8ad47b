/* SPDX-License-Identifier: Apache-2.0 */
/* The prediction of programs that share a device: cases computed by hand. */
#include "simulate/predict/predict.h"

#include "base/units.h"
#include "simulate/predict/margin.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

/* Always busy, in commands of a millisecond. */
static struct clv_predict_program steady(double share)
{
	return (struct clv_predict_program){
		.busy = 1,
		.command_ns = MS,
		.share_ppm = (uint32_t)(share * CLV_PPM),
		.class = CLV_CLASS_NORMAL,
	};
}

/* This many milliseconds of work, then this many without. */
static struct clv_predict_program bursts(double share, double work_ms, double pause_ms)
{
	struct clv_predict_program program = steady(share);

	program.busy = work_ms / (work_ms + pause_ms);
	program.pauses = 1000 / (work_ms + pause_ms);
	return program;
}

static void assert_near(double value, double least, double most)
{
	if (value < least || value > most)
		fail_msg("%f is not between %f and %f", value, least, most);
}

static void test_alone(void **state)
{
	struct clv_predict_program programs[] = {bursts(0.3, 10, 20)};

	assert_int_equal(clv_predict(programs, 1), 0);
	assert_near(programs[0].slowdown, 0.99, 1.01);
	programs[0] = steady(0.1);
	assert_int_equal(clv_predict(programs, 1), 0);
	assert_near(programs[0].slowdown, 1, 1.001);
}

/* By their shares, with a hand-over every turn. */
static void test_steady(void **state)
{
	struct clv_predict_program halves[] = {steady(0.5), steady(0.5)};
	struct clv_predict_program parts[] = {steady(0.2), steady(0.3), steady(0.5)};

	assert_int_equal(clv_predict(halves, 2), 0);
	assert_near(halves[0].slowdown, 2, 2.06);
	assert_near(halves[1].slowdown, 2, 2.06);
	assert_int_equal(clv_predict(parts, 3), 0);
	assert_near(parts[0].slowdown, 5, 5.25);
	assert_near(parts[1].slowdown, 3.33, 3.5);
	assert_near(parts[2].slowdown, 2, 2.1);
	/* The unpromised part is shared too. */
	halves[0].share_ppm = halves[1].share_ppm = CLV_PPM / 10;
	assert_int_equal(clv_predict(halves, 2), 0);
	assert_near(halves[0].slowdown, 2, 2.06);
}

/* The unused share of one goes to the other. */
static void test_donated(void **state)
{
	struct clv_predict_program programs[] = {bursts(0.5, 1, 99), steady(0.5)};

	assert_int_equal(clv_predict(programs, 2), 0);
	assert_near(programs[0].slowdown, 1, 1.1);
	assert_near(programs[1].slowdown, 1.01, 1.05);
	assert_near(programs[0].held + programs[1].held, 0.97, 1);
}

/* A long burst is stretched to its share, and the pause stays as it is. */
static void test_long_bursts(void **state)
{
	struct clv_predict_program programs[] = {bursts(0.5, 500, 500), steady(0.5)};

	assert_int_equal(clv_predict(programs, 2), 0);
	assert_near(programs[0].slowdown, 1.4, 1.6);
	assert_near(programs[1].slowdown, 1.4, 1.6);
}

/* A command that has begun cannot be stopped; `latency` is served next. */
static void test_commands_in_the_way(void **state)
{
	struct clv_predict_program programs[] = {bursts(0.5, 1, 19), steady(0.5)};
	double short_ones;

	assert_int_equal(clv_predict(programs, 2), 0);
	short_ones = programs[0].slowdown;
	programs[1].command_ns = 20 * MS;
	assert_int_equal(clv_predict(programs, 2), 0);
	assert_true(programs[0].slowdown > short_ones + 0.3);
	programs[1].command_ns = 3 * MS;
	assert_int_equal(clv_predict(programs, 2), 0);
	short_ones = programs[0].slowdown;
	programs[0].class = CLV_CLASS_LATENCY;
	assert_int_equal(clv_predict(programs, 2), 0);
	assert_true(programs[0].slowdown < short_ones);
}

static void test_caps(void **state)
{
	struct clv_predict_program programs[] = {steady(0.2), bursts(0.5, 1, 99)};

	programs[0].cap_ppm = CLV_PPM / 4;
	assert_int_equal(clv_predict(programs, 2), 0);
	assert_near(programs[0].slowdown, 3.9, 4.2);
}

static void test_same_again(void **state)
{
	struct clv_predict_program programs[] = {
		bursts(0.3, 7, 9), steady(0.4), bursts(0.2, 50, 30)};
	struct clv_predict_program again[3];

	memcpy(again, programs, sizeof(again));
	assert_int_equal(clv_predict(programs, 3), 0);
	assert_int_equal(clv_predict(again, 3), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_true(programs[i].slowdown == again[i].slowdown);
}

static void test_wrong(void **state)
{
	struct clv_predict_program good = steady(0.5), wrong[6];
	static struct clv_predict_program many[CLV_PREDICT_MAX + 1];

	for (unsigned i = 0; i < 6; i++)
		wrong[i] = good;
	wrong[0].busy = 0;
	wrong[1].busy = 1.5;
	wrong[2].pauses = -1;
	wrong[3].command_ns = 0;
	wrong[4].share_ppm = 0;
	wrong[5].share_ppm = CLV_PPM + 1;
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(clv_predict(&wrong[i], 1), -EINVAL);
	assert_int_equal(clv_predict(many, CLV_PREDICT_MAX + 1), -EINVAL);
}

/* The rank that holds one more pair with the wanted probability, or the last one. */
static void test_margin(void **state)
{
	static const double figures[] = {
		1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 1.09};
	struct clv_predict_margin margin = clv_predict_margin_of(figures, 9, 0.9);

	assert_near(margin.factor, 1.09, 1.09);
	assert_near(margin.inside, 0.8999, 0.9001);
	assert_int_equal(margin.n_pairs, 9);
	margin = clv_predict_margin_of(figures, 9, 0.75);
	assert_near(margin.factor, 1.08, 1.08);
	assert_near(margin.inside, 0.7999, 0.8001);
	margin = clv_predict_margin_of(figures, 4, 0.9);
	assert_near(margin.factor, 1.04, 1.04);
	assert_near(margin.inside, 0.7999, 0.8001);
	assert_near(clv_predict_margin_of(figures, 9, 0).factor, 1.01, 1.01);
}

/* The measured pairs are in rising order. */
static void test_measured_margin(void **state)
{
	double before = 1;

	assert_true(clv_predict_margin(0.9).inside > 0.85);
	for (double wanted = 0; wanted <= 1; wanted += 0.01) {
		double factor = clv_predict_margin(wanted).factor;

		assert_true(factor >= before);
		before = factor;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_donated),
		cmocka_unit_test(test_long_bursts),
		cmocka_unit_test(test_commands_in_the_way),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_same_again),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_margin),
		cmocka_unit_test(test_measured_margin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
