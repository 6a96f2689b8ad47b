/* SPDX-License-Identifier: Apache-2.0 */
/* Right-sizing: the model of the slowdown, the proposals, and for each kind of advice a
 * lease that gets it and one that just does not. */
#include "core/share/advise-together.h"
#include "core/share/advise.h"

#include "base/cleanup.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define SHARE(percent) ((uint32_t)(percent)*CLV_PPM / 100)
#define SECONDS 3600u

static const struct clv_advise_profile profiles[] = {
	{"7g.80gb", SHARE(100), 80 * GIB},
	{"1g.10gb", SHARE(14), 10 * GIB},
	{"3g.40gb", SHARE(42), 40 * GIB},
	{"1g.20gb", SHARE(14), 20 * GIB},
};

static const struct clv_advise_device plain = {.name = "gpu0", .memory_bytes = 16 * GIB};
static const struct clv_advise_device divisible = {.name = "gpu0",
	.memory_bytes = 80 * GIB,
	.profiles = profiles,
	.n_profiles = CLV_ARRAY_SIZE(profiles)};

/* A lease of .5 and 8 GiB that used `low` in some windows and `high` in the others. */
struct watched {
	struct clv_advise_lease lease;
	uint32_t windows[SECONDS];
};

static void watch(struct watched *watched, uint32_t n, uint32_t low_percent,
	uint32_t high_percent, uint32_t part_high_percent)
{
	struct clv_advise_lease *lease = &watched->lease;
	uint64_t sum = 0;

	*watched = (struct watched){.lease = {.has = {.share_ppm = SHARE(50),
						      .memory_bytes = 8 * GIB,
						      .class = CLV_CLASS_NORMAL},
					    .observed_s = n,
					    .use = {.wanted_ppm = watched->windows,
						    .n = n,
						    .memory_peak_bytes = 6 * GIB,
						    .memory_steady_bytes = 6 * GIB}}};
	for (uint32_t i = 0; i < n; i++) {
		watched->windows[i] =
			SHARE(i % 100 < part_high_percent ? high_percent : low_percent);
		sum += watched->windows[i];
	}
	lease->use.used_ppm = (uint32_t)(sum / n);
	clv_advise_sort(&lease->use);
}

static void assert_near(double value, double expected)
{
	if (value < expected - 0.001 || value > expected + 0.001)
		fail_msg("%f is not %f", value, expected);
}

static void test_slowdown(void **state)
{
	struct watched w;
	struct clv_advise_use *use = &w.lease.use;

	watch(&w, 100, 100, 100, 0);
	assert_near(clv_advise_slowdown(use, SHARE(100)), 1);
	assert_near(clv_advise_slowdown(use, SHARE(50)), 2);
	assert_near(clv_advise_slowdown(use, SHARE(25)), 4);
	/* Half of the device: in short bursts, in long ones, and unknown. */
	watch(&w, 100, 50, 50, 0);
	use->knows_pauses = true;
	use->pauses = 500;
	assert_near(clv_advise_slowdown(use, SHARE(100)), 1);
	assert_near(clv_advise_slowdown(use, SHARE(50)), 1 + 500 * 0.0013);
	assert_near(clv_advise_slowdown(use, SHARE(25)), 2 + 500 * 0.0013);
	use->pauses = 1;
	assert_near(clv_advise_slowdown(use, SHARE(50)), 1.5 + 0.0013);
	use->pauses = 0;
	assert_near(clv_advise_slowdown(use, SHARE(50)), 1.5);
	use->knows_pauses = false;
	assert_near(clv_advise_slowdown(use, SHARE(50)), 1.25);
	/* Bursts of 12 ms: in the middle of the two. */
	use->knows_pauses = true;
	use->pauses = 0.5 / 0.012;
	assert_near(clv_advise_slowdown(use, SHARE(50)), 1.25 + use->pauses * 0.0013);
	/* A larger share never has a larger slowdown. */
	watch(&w, 1000, 3, 80, 30);
	for (uint32_t share = 10; share <= 100; share += 5)
		assert_true(clv_advise_slowdown(use, SHARE(share)) <=
			    clv_advise_slowdown(use, SHARE(share - 5)));
	use->n = 0;
	assert_near(clv_advise_slowdown(use, SHARE(50)), 1);
}

static void test_fit(void **state)
{
	static const struct {
		uint32_t low, high, part_high; /* per cent */
		double pauses;
		uint32_t share; /* per cent */
		enum clv_class class;
	} rows[] = {
		/* clang-format off */
		{ 100, 100,   0,   0, 100, CLV_CLASS_BATCH   }, /* always busy */
		{  30,  30,   0, 600,  30, CLV_CLASS_LATENCY }, /* many short kernels */
		{  40,  40,   0, 600,  40, CLV_CLASS_NORMAL  },
		{   0, 100,  10, 600,  70, CLV_CLASS_NORMAL  }, /* rarely, and then all */
		{   2,   2,   0, 600,   5, CLV_CLASS_LATENCY }, /* at least a step */
		{   0,   0,   0,   0,   5, CLV_CLASS_NORMAL  }, /* never busy */
		{  20,  20,   0,   1,  80, CLV_CLASS_LATENCY }, /* each long kernel delays
 * it */
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_advise_part fit;
		struct watched w;
		double slowdown;

		watch(&w, 1000, rows[i].low, rows[i].high, rows[i].part_high);
		w.lease.use.knows_pauses = true;
		w.lease.use.pauses = rows[i].pauses;
		slowdown = clv_advise_fit(&w.lease.use, &plain, &fit);
		if (fit.share_ppm != SHARE(rows[i].share) || fit.class != rows[i].class)
			fail_msg("row %zu: share %u, %s", i, fit.share_ppm,
				clv_class_to_string(fit.class));
		assert_near(slowdown, clv_advise_slowdown(&w.lease.use, fit.share_ppm));
		/* An eighth more, limited by the device's memory. */
		assert_in_range(
			fit.memory_bytes, 6 * GIB + 700 * MIB, 6 * GIB + 800 * MIB);
		w.lease.use.memory_peak_bytes = 16 * GIB;
		clv_advise_fit(&w.lease.use, &plain, &fit);
		assert_int_equal(fit.memory_bytes, 16 * GIB);
		w.lease.use.memory_peak_bytes = 0;
		clv_advise_fit(&w.lease.use, &plain, &fit);
		assert_int_equal(fit.memory_bytes, 16 * MIB);
	}
}

static void test_smallest_profile(void **state)
{
	struct clv_advise_use *use;
	struct watched w;

	watch(&w, 600, 0, 1, 20);
	use = &w.lease.use;
	assert_string_equal(clv_advise_profile(use, &divisible)->name, "1g.10gb");
	assert_near(clv_advise_slowdown_in_part(use, SHARE(14)),
		0.8 + 0.2 * (0.99 + 0.01 / 0.14));
	use->memory_peak_bytes = 10 * GIB;
	assert_string_equal(clv_advise_profile(use, &divisible)->name, "1g.20gb");
	use->memory_peak_bytes = 80 * GIB;
	assert_string_equal(clv_advise_profile(use, &divisible)->name, "7g.80gb");
	assert_null(clv_advise_profile(use, &plain));
	watch(&w, 600, 3, 3, 0);
	assert_string_equal(clv_advise_profile(use, &divisible)->name, "3g.40gb");
	watch(&w, 600, 90, 90, 0);
	assert_string_equal(clv_advise_profile(use, &divisible)->name, "7g.80gb");
}

static bool has(const struct watched *w, const struct clv_advise_device *device,
	enum clv_advice_kind kind, struct clv_advice *ret)
{
	struct clv_advice found[CLV_ADVICES_MAX];
	size_t n = clv_advise_lease(&w->lease, device, found);

	for (size_t i = 0; i < n; i++) {
		assert_true(found[i].text[0] != '\0' && !strchr(found[i].text, '\n'));
		assert_true(found[i].slowdown >= 1);
		if (found[i].kind != kind)
			continue;
		*ret = found[i];
		return true;
	}
	return false;
}

static void test_too_large(void **state)
{
	struct clv_advice advice;
	struct watched w;

	watch(&w, 600, 2, 4, 20);
	assert_true(has(&w, &plain, CLV_ADVICE_TOO_LARGE, &advice));
	assert_true(advice.proposed.share_ppm <= SHARE(30));
	assert_int_equal(advice.proposed.memory_bytes, 8 * GIB);
	assert_non_null(strstr(advice.text, "6 GiB of 8 GiB"));
	/* Its memory is too large as well. */
	w.lease.use.memory_peak_bytes = 100 * MIB;
	assert_true(has(&w, &plain, CLV_ADVICE_TOO_LARGE, &advice));
	assert_int_equal(advice.proposed.memory_bytes, 112 * MIB);
	/* The agent adjusts a range itself. */
	w.lease.use.memory_peak_bytes = 6 * GIB;
	w.lease.has_range = true;
	assert_false(has(&w, &plain, CLV_ADVICE_TOO_LARGE, &advice));
	/* The lease needs its share. */
	watch(&w, 600, 45, 50, 20);
	assert_false(has(&w, &plain, CLV_ADVICE_TOO_LARGE, &advice));
	/* The observation is too short. */
	watch(&w, CLV_ADVISE_OBSERVED_S - 1, 2, 4, 20);
	assert_false(has(&w, &plain, CLV_ADVICE_TOO_LARGE, &advice));
}

static void test_too_small(void **state)
{
	struct clv_advice advice;
	struct watched w;

	watch(&w, 600, 100, 100, 0);
	w.lease.use.used_ppm = SHARE(50);
	assert_false(has(&w, &plain, CLV_ADVICE_TOO_SMALL, &advice));
	w.lease.use.waiting_ppm = SHARE(50);
	assert_true(has(&w, &plain, CLV_ADVICE_TOO_SMALL, &advice));
	assert_int_equal(advice.proposed.share_ppm, SHARE(100));
	assert_near(advice.slowdown, 1);
	assert_non_null(strstr(advice.text, "50 % of the time"));
	/* The cap is too small. */
	watch(&w, 600, 45, 45, 0);
	w.lease.has.cap_ppm = SHARE(50);
	assert_false(has(&w, &plain, CLV_ADVICE_TOO_SMALL, &advice));
	w.lease.use.throttled_ppm = SHARE(20);
	assert_true(has(&w, &plain, CLV_ADVICE_TOO_SMALL, &advice));
	assert_int_equal(advice.proposed.cap_ppm, 0);
	/* The quota is too small. */
	watch(&w, 600, 45, 45, 0);
	w.lease.use.n_refused = 3;
	assert_true(has(&w, &plain, CLV_ADVICE_TOO_SMALL, &advice));
	assert_int_equal(advice.proposed.memory_bytes, 16 * GIB);
	assert_non_null(strstr(advice.text, "3 allocations"));
}

static void test_idle(void **state)
{
	struct clv_advice advice;
	struct watched w;

	watch(&w, CLV_ADVISE_IDLE_AFTER_S, 0, 0, 0);
	assert_true(has(&w, &divisible, CLV_ADVICE_IDLE, &advice));
	assert_false(has(&w, &divisible, CLV_ADVICE_TOO_LARGE, &advice));
	assert_false(has(&w, &divisible, CLV_ADVICE_USE_PROFILE, &advice));
	watch(&w, CLV_ADVISE_IDLE_AFTER_S, 0, 1, 1);
	assert_false(has(&w, &plain, CLV_ADVICE_IDLE, &advice));
	watch(&w, CLV_ADVISE_IDLE_AFTER_S - 1, 0, 0, 0);
	assert_false(has(&w, &plain, CLV_ADVICE_IDLE, &advice));
}

static void test_wrong_class(void **state)
{
	struct clv_advice advice;
	struct watched w;

	watch(&w, 600, 100, 100, 0);
	assert_false(has(&w, &plain, CLV_ADVICE_WRONG_CLASS, &advice));
	w.lease.has.class = CLV_CLASS_LATENCY;
	assert_true(has(&w, &plain, CLV_ADVICE_WRONG_CLASS, &advice));
	assert_int_equal(advice.proposed.class, CLV_CLASS_BATCH);
	watch(&w, 600, 10, 10, 0);
	w.lease.has.class = CLV_CLASS_BATCH;
	assert_true(has(&w, &plain, CLV_ADVICE_WRONG_CLASS, &advice));
	assert_int_equal(advice.proposed.class, CLV_CLASS_LATENCY);
}

static void test_use_profile(void **state)
{
	struct clv_advice advice;
	struct watched w;

	watch(&w, 600, 0, 1, 20);
	assert_true(has(&w, &divisible, CLV_ADVICE_USE_PROFILE, &advice));
	assert_string_equal(advice.proposed.profile, "1g.10gb");
	assert_int_equal(advice.proposed.memory_bytes, 10 * GIB);
	snprintf(w.lease.has.profile, sizeof(w.lease.has.profile), "1g.10gb");
	assert_false(has(&w, &divisible, CLV_ADVICE_USE_PROFILE, &advice));
	/* In a share a burst gets the whole device, in a partition it does not. */
	watch(&w, 600, 1, 90, 10);
	assert_false(has(&w, &divisible, CLV_ADVICE_USE_PROFILE, &advice));
}

static void test_wrong_split(void **state)
{
	const struct clv_advise_lease *others[3] = {0};
	struct watched starved, idle, busy;
	struct clv_advice advice;

	watch(&starved, 600, 100, 100, 0);
	starved.lease.has.share_ppm = SHARE(20);
	starved.lease.use.waiting_ppm = SHARE(70);
	watch(&idle, 600, 2, 2, 0);
	idle.lease.has.share_ppm = SHARE(70);
	watch(&busy, 600, 100, 100, 0);
	others[1] = &busy.lease;
	assert_int_equal(clv_advise_find_idle(&starved.lease, others, 3), 3);
	others[2] = &idle.lease;
	assert_int_equal(clv_advise_find_idle(&starved.lease, others, 3), 2);
	others[0] = &starved.lease;
	assert_int_equal(clv_advise_find_idle(&starved.lease, others, 3), 2);
	clv_advise_split(&starved.lease, &idle.lease, "calm", &plain, &advice);
	assert_int_equal(advice.kind, CLV_ADVICE_IMBALANCED);
	assert_true(advice.proposed.share_ppm > SHARE(20));
	assert_non_null(strstr(advice.text, "gpu0 is split wrongly"));
	assert_non_null(strstr(advice.text, "calm uses 0.02 of 0.7"));
	/* A throttled lease has no share to give away. */
	idle.lease.use.throttled_ppm = SHARE(20);
	assert_int_equal(clv_advise_find_idle(&starved.lease, others, 3), 3);
	idle.lease.use.throttled_ppm = 0;
	/* The same for memory. */
	starved.lease.use.n_refused = 1;
	busy.lease.use.memory_peak_bytes = busy.lease.has.memory_bytes;
	assert_int_equal(clv_advise_find_idle(&starved.lease, others, 3), 2);
	idle.lease.use.memory_peak_bytes = idle.lease.has.memory_bytes;
	assert_int_equal(clv_advise_find_idle(&starved.lease, others, 3), 3);
}

/* Proposals for one device, as percent of it and GiB. */
static const struct together_row {
	unsigned free_percent, free_gib;
	struct {
		unsigned has_percent, has_gib, asks_percent, asks_gib, gets_percent,
			gets_gib;
	} leases[3];
} together_rows[] = {
	/* There is room for all. */
	{40, 4, {{20, 4, 40, 6, 40, 6}, {40, 8, 60, 8, 60, 8}}},
	/* Half of the growth fits; shares are multiples of 5 %. */
	{30, 2, {{20, 4, 60, 8, 40, 6}, {50, 10, 70, 10, 60, 10}}},
	{25, 0, {{25, 8, 60, 16, 35, 8}, {50, 8, 75, 8, 60, 8}}},
	/* What one gives up is what another gets. */
	{0, 0, {{10, 2, 95, 2, 50, 2}, {60, 12, 20, 2, 20, 2}, {30, 2, 30, 12, 30, 12}}},
	/* There is none: no lease gets less than it has. */
	{0, 0, {{33, 7, 95, 16, 33, 7}, {67, 9, 80, 16, 67, 9}}},
};

static struct clv_advise_part part_of(unsigned percent, unsigned gib)
{
	return (struct clv_advise_part){
		.share_ppm = SHARE(percent), .memory_bytes = gib * GIB};
}

static void test_together(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(together_rows); i++) {
		const struct together_row *row = &together_rows[i];
		struct clv_advise_part has[3], proposed[3];
		struct clv_advise_claim claims[3];

		for (size_t k = 0; k < 3; k++) {
			has[k] = part_of(
				row->leases[k].has_percent, row->leases[k].has_gib);
			proposed[k] = part_of(
				row->leases[k].asks_percent, row->leases[k].asks_gib);
			claims[k] = (struct clv_advise_claim){&has[k], &proposed[k]};
		}
		clv_advise_fit_together(
			claims, 3, SHARE(row->free_percent), row->free_gib * GIB);
		for (size_t k = 0; k < 3; k++) {
			assert_int_equal(proposed[k].share_ppm,
				SHARE(row->leases[k].gets_percent));
			assert_int_equal(
				proposed[k].memory_bytes, row->leases[k].gets_gib * GIB);
		}
	}
}

static void test_names(void **state)
{
	assert_string_equal(clv_advise_confidence(599), "low");
	assert_string_equal(clv_advise_confidence(600), "medium");
	assert_string_equal(clv_advise_confidence(3000), "high");
	for (int i = 0; i < _CLV_ADVICE_MAX; i++)
		assert_non_null(clv_advice_kind_to_string((enum clv_advice_kind)i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slowdown),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_smallest_profile),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_too_small),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_wrong_class),
		cmocka_unit_test(test_use_profile),
		cmocka_unit_test(test_wrong_split),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
