/* SPDX-License-Identifier: Apache-2.0 */
/* The policy's calls one by one, as policy.h states them. */
#include "arbiter/policy/policy.h"
#include "base/clock.h"
#include "base/units.h"

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS CLV_NS_PER_MS
#define US CLV_NS_PER_US

static struct clv_policy *policy;

static int setup(void **state)
{
	policy = clv_policy_new();
	return policy ? 0 : -1;
}

static int teardown(void **state)
{
	policy = clv_policy_free(policy);
	return policy ? -1 : 0;
}

static uint32_t add(uint32_t weight_ppm, uint32_t cap_ppm, enum clv_class class)
{
	struct clv_policy_params params = {weight_ppm, cap_ppm, class};
	uint32_t lease = CLV_POLICY_NONE;

	assert_int_equal(clv_policy_add(policy, &params, 0, &lease), 0);
	return lease;
}

static uint32_t add_awake(uint32_t weight_ppm, enum clv_class class)
{
	uint32_t lease = add(weight_ppm, 0, class);

	clv_policy_wake(policy, lease, 0);
	return lease;
}

static void assert_picks(uint32_t lease, uint64_t slice_ns, uint64_t now_ns)
{
	struct clv_policy_decision d = clv_policy_pick(policy, now_ns);

	assert_int_equal(d.lease, lease);
	assert_int_equal(d.slice_ns, slice_ns);
	assert_int_equal(d.retry_at_ns, UINT64_MAX);
}

static void assert_picks_nobody(uint64_t retry_at_ns, uint64_t now_ns)
{
	struct clv_policy_decision d = clv_policy_pick(policy, now_ns);

	assert_int_equal(d.lease, CLV_POLICY_NONE);
	assert_int_equal(d.retry_at_ns, retry_at_ns);
}

static void assert_lag(uint32_t lease, int64_t lag_ns)
{
	int64_t seen_ns = clv_policy_lag_ns(policy, lease);

	if (seen_ns < lag_ns - 10 || seen_ns > lag_ns + 10)
		fail_msg("lag is %lld, not %lld", (long long)seen_ns, (long long)lag_ns);
}

static void test_slices(void **state)
{
	assert_int_equal(clv_policy_slice_ns(CLV_CLASS_LATENCY), 1 * MS);
	assert_int_equal(clv_policy_slice_ns(CLV_CLASS_NORMAL), 8 * MS);
	assert_int_equal(clv_policy_slice_ns(CLV_CLASS_BATCH), 16 * MS);
	assert_null(clv_policy_free(NULL));
}

static void test_no_lease(void **state)
{
	uint32_t a;

	assert_picks_nobody(UINT64_MAX, 0);
	a = add(500000, 0, CLV_CLASS_NORMAL);
	assert_picks_nobody(UINT64_MAX, 5);
	assert_false(clv_policy_is_awake(policy, a));
	clv_policy_wake(policy, a, 10);
	assert_true(clv_policy_is_awake(policy, a));
	assert_picks(a, 8 * MS, 10);
	clv_policy_sleep(policy, a, 20);
	assert_picks_nobody(UINT64_MAX, 20);
}

static void test_wake_and_sleep_twice(void **state)
{
	uint32_t a = add_awake(300000, CLV_CLASS_NORMAL);
	uint32_t b = add_awake(700000, CLV_CLASS_NORMAL);

	for (int i = 0; i < 3; i++) {
		clv_policy_wake(policy, a, 0);
		clv_policy_charge(policy, b, MS, 0);
	}
	assert_lag(a, 900 * (int64_t)US);
	for (int i = 0; i < 3; i++)
		clv_policy_sleep(policy, a, 0);
	assert_lag(a, 900 * (int64_t)US);
	assert_picks(b, 5 * MS, 0);
}

static void test_handles_are_reused(void **state)
{
	uint32_t leases[200];

	for (uint32_t i = 0; i < 200; i++) {
		leases[i] = add(1000, 0, CLV_CLASS_NORMAL);
		assert_int_equal(leases[i], i);
	}
	for (uint32_t i = 0; i < 200; i += 2)
		clv_policy_remove(policy, leases[i], 0);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(add(1000, 0, CLV_CLASS_NORMAL) % 2, 0);
	assert_int_equal(add(1000, 0, CLV_CLASS_NORMAL), 200);
}

static void test_removal_leaves_nothing(void **state)
{
	struct clv_policy_params params = {500000, 300000, CLV_CLASS_BATCH};
	uint32_t a = add(500000, 300000, CLV_CLASS_BATCH);
	uint32_t b = add_awake(500000, CLV_CLASS_NORMAL), again;

	clv_policy_wake(policy, a, 0);
	clv_policy_charge(policy, a, 500 * MS, 500 * MS);
	assert_true(clv_policy_is_throttled(policy, a, 500 * MS));
	clv_policy_remove(policy, a, 500 * MS);
	assert_picks(b, 8 * MS, 500 * MS);
	assert_lag(b, 0);
	assert_int_equal(clv_policy_add(policy, &params, 500 * MS, &again), 0);
	assert_int_equal(again, a);
	assert_false(clv_policy_is_awake(policy, a));
	assert_false(clv_policy_is_throttled(policy, a, 500 * MS));
	assert_lag(a, 0);
}

static void test_earliest_deadline_wins(void **state)
{
	uint32_t batch = add_awake(500000, CLV_CLASS_BATCH);
	uint32_t normal = add_awake(500000, CLV_CLASS_NORMAL);
	uint32_t small = add_awake(10000, CLV_CLASS_LATENCY);
	uint32_t quick = add_awake(500000, CLV_CLASS_LATENCY);

	/* All begin at V; deadlines are 32, 16, 100 and 2 ms of virtual time. */
	assert_picks(quick, MS, 0);
	clv_policy_sleep(policy, quick, 0);
	assert_picks(normal, 8 * MS, 0);
	clv_policy_sleep(policy, normal, 0);
	assert_picks(batch, 16 * MS, 0);
	clv_policy_sleep(policy, batch, 0);
	assert_picks(small, MS, 0);
}

static void test_a_lease_ahead_is_not_eligible(void **state)
{
	uint32_t quick = add_awake(500000, CLV_CLASS_LATENCY);
	uint32_t batch = add_awake(500000, CLV_CLASS_BATCH);

	/* Its next deadline, at 4 ms, is still the earlier one. */
	clv_policy_charge(policy, quick, 1100 * US, 1100 * US);
	assert_lag(quick, -550 * (int64_t)US);
	assert_lag(batch, 550 * (int64_t)US);
	assert_false(clv_policy_preempts(policy, quick, batch, 1100 * US));
	/* The turn ends when the quick one is eligible again. */
	assert_picks(batch, 1100 * US, 1100 * US);
	clv_policy_charge(policy, batch, 1100 * US, 2200 * US);
	assert_true(clv_policy_preempts(policy, quick, batch, 2200 * US));
	/* Its overrun is part of its second request. */
	assert_picks(quick, 900 * US, 2200 * US);
}

static void test_no_turn_below_its_worth(void **state)
{
	uint32_t a = add_awake(500000, CLV_CLASS_NORMAL);
	uint32_t quick = add(500000, 0, CLV_CLASS_LATENCY);

	clv_policy_charge(policy, a, 1500 * US, 0);
	assert_picks(a, 6500 * US, 0);
	clv_policy_charge(policy, a, 4499 * US, 0);
	assert_picks(a, 2001 * US, 0);
	/* A quarter of a slice is too short for a turn: it joins the next request. */
	clv_policy_charge(policy, a, 1 * US, 0);
	assert_picks(a, 10 * MS, 0);
	/* What a turn overran is taken from the next request, if that is a turn then. */
	clv_policy_charge(policy, a, 15999 * US, 0);
	assert_picks(a, 2001 * US, 0);
	clv_policy_charge(policy, a, 8002 * US, 0);
	assert_picks(a, 8 * MS, 0);
	clv_policy_sleep(policy, a, 0);
	clv_policy_wake(policy, quick, 0);
	clv_policy_charge(policy, quick, 700 * US, 0);
	assert_picks(quick, 500 * US, 0);
}

static void test_preemption(void **state)
{
	uint32_t batch = add_awake(500000, CLV_CLASS_BATCH);
	uint32_t quick = add(500000, 0, CLV_CLASS_LATENCY);
	uint32_t capped = add(500000, 100000, CLV_CLASS_LATENCY);

	clv_policy_charge(policy, batch, MS, MS);
	assert_false(clv_policy_preempts(policy, quick, batch, MS)); /* asleep */
	clv_policy_wake(policy, quick, MS);
	assert_true(clv_policy_preempts(policy, quick, batch, MS));
	assert_false(clv_policy_preempts(policy, batch, quick, MS));
	assert_false(clv_policy_preempts(policy, quick, quick, MS));

	clv_policy_wake(policy, capped, MS);
	assert_true(clv_policy_preempts(policy, capped, batch, MS));
	clv_policy_charge(policy, capped, 10 * MS, 11 * MS);
	assert_false(clv_policy_preempts(policy, capped, batch, 11 * MS));
	/* Against a lease that cannot continue, any eligible one wins. */
	assert_true(clv_policy_preempts(policy, batch, capped, 11 * MS));
}

/* Class decides who preempts only through the slice; a normal lease that is behind comes
 * before a latency lease that is not. */
static void test_preemption_is_by_deadline(void **state)
{
	uint32_t behind = add_awake(900000, CLV_CLASS_NORMAL);
	uint32_t quick = add_awake(100000, CLV_CLASS_LATENCY);

	assert_true(clv_policy_preempts(policy, behind, quick, 0));
	assert_false(clv_policy_preempts(policy, quick, behind, 0));
}

static void test_debt_survives_sleep(void **state)
{
	uint32_t a = add_awake(500000, CLV_CLASS_NORMAL);
	uint32_t b = add_awake(500000, CLV_CLASS_NORMAL);

	clv_policy_charge(policy, a, 200 * MS, 200 * MS);
	assert_lag(a, -100 * (int64_t)MS);
	assert_lag(b, 100 * (int64_t)MS);
	clv_policy_sleep(policy, a, 200 * MS);
	assert_lag(a, -100 * (int64_t)MS);
	/* Time alone does not reduce the debt. */
	clv_policy_wake(policy, a, 3600 * CLV_NS_PER_S);
	assert_lag(a, -100 * (int64_t)MS);
	clv_policy_sleep(policy, a, 3600 * CLV_NS_PER_S);
	/* The other's service does, and no faster than if it had stayed. */
	clv_policy_charge(policy, b, 100 * MS, 3601 * CLV_NS_PER_S);
	assert_lag(a, -50 * (int64_t)MS);
	assert_lag(b, 50 * (int64_t)MS);
	clv_policy_charge(policy, b, 100 * MS, 3602 * CLV_NS_PER_S);
	assert_lag(a, 0);
	assert_lag(b, 0);
}

/* The savings of each class, and its slice. */
static int64_t savings_ns(enum clv_class class, int64_t weight_ppm)
{
	if (class == CLV_CLASS_LATENCY)
		return 20 * MS;
	return 2 * (int64_t)MS * weight_ppm / CLV_PPM;
}

static void test_sleep_earns_savings(void **state)
{
	for (int class = 0; class < _CLV_CLASS_MAX; class ++) {
		uint32_t a = add_awake(250000, (enum clv_class) class);
		uint32_t hog = add_awake(750000, CLV_CLASS_LATENCY);

		clv_policy_sleep(policy, a, 0);
		clv_policy_charge(policy, hog, 1 * MS, 1 * MS);
		assert_lag(a, 250 * (int64_t)US);
		assert_lag(hog, -250 * (int64_t)US);
		/* Only while another lease is served. */
		clv_policy_wake(policy, a, 3600 * CLV_NS_PER_S);
		clv_policy_sleep(policy, a, 3601 * CLV_NS_PER_S);
		assert_lag(a, 250 * (int64_t)US);
		for (uint64_t i = 1; i < 200; i++) {
			clv_policy_charge(
				policy, hog, 777 * US, 3601 * CLV_NS_PER_S + i * MS);
			assert_in_range(clv_policy_lag_ns(policy, a), 0,
				savings_ns((enum clv_class) class, 250000));
		}
		assert_lag(a, savings_ns((enum clv_class) class, 250000));

		clv_policy_wake(policy, a, 3602 * CLV_NS_PER_S);
		assert_true(clv_policy_preempts(policy, a, hog, 3602 * CLV_NS_PER_S));
		assert_int_equal(clv_policy_pick(policy, 3602 * CLV_NS_PER_S).lease, a);
		clv_policy_remove(policy, a, 3602 * CLV_NS_PER_S);
		clv_policy_remove(policy, hog, 3602 * CLV_NS_PER_S);
	}
}

static void test_a_lease_that_never_woke_earns_nothing(void **state)
{
	uint32_t a = add(500000, 0, CLV_CLASS_NORMAL);
	uint32_t hog = add_awake(500000, CLV_CLASS_NORMAL);

	clv_policy_charge(policy, hog, 100 * MS, 100 * MS);
	assert_lag(a, 0);
	assert_lag(hog, 0);
	clv_policy_wake(policy, a, 100 * MS);
	assert_lag(a, 0);
}

/* A newcomer takes over a part of the others' debt to a sleeping lease; the debt does not
 * grow. */
static void test_newcomer_shares_a_debt(void **state)
{
	uint32_t away = add_awake(500000, CLV_CLASS_NORMAL);
	uint32_t hog = add_awake(250000, CLV_CLASS_NORMAL), guest;

	clv_policy_sleep(policy, away, 0);
	clv_policy_charge(policy, hog, 6 * MS, 6 * MS);
	assert_lag(away, 1 * (int64_t)MS);
	assert_lag(hog, -1 * (int64_t)MS);
	guest = add_awake(250000, CLV_CLASS_NORMAL);
	assert_lag(guest, -500 * (int64_t)US);
	assert_lag(hog, -500 * (int64_t)US);
	assert_lag(away, 1 * (int64_t)MS);
	clv_policy_wake(policy, away, 6 * MS);
	assert_true(clv_policy_preempts(policy, away, guest, 6 * MS));
	clv_policy_remove(policy, guest, 6 * MS);
	assert_in_range(clv_policy_lag_ns(policy, hog) + MS, 0, MS);
}

/* A lease that waited in line behind a long kernel keeps its claim if it returns at once,
 * and loses of it, down to its savings, the service of the others meanwhile. */
static void test_claim_lapses_in_absence(void **state)
{
	for (int class = 0; class < _CLV_CLASS_MAX; class ++) {
		uint32_t hog = add_awake(500000, CLV_CLASS_NORMAL);
		uint32_t a = add_awake(500000, (enum clv_class) class);

		clv_policy_charge(policy, hog, 100 * MS, 100 * MS);
		clv_policy_sleep(policy, a, 100 * MS);
		clv_policy_wake(policy, a, 100 * MS);
		assert_lag(a, 50 * (int64_t)MS);

		clv_policy_sleep(policy, a, 100 * MS);
		clv_policy_charge(policy, hog, 7 * MS, 107 * MS);
		clv_policy_wake(policy, a, 107 * MS);
		assert_lag(a, 43 * (int64_t)MS);

		clv_policy_sleep(policy, a, 107 * MS);
		clv_policy_charge(policy, hog, 300 * MS, 407 * MS);
		clv_policy_wake(policy, a, 407 * MS);
		assert_lag(a, savings_ns((enum clv_class) class, 500000));
		clv_policy_remove(policy, a, 407 * MS);
		clv_policy_remove(policy, hog, 407 * MS);
	}
}

/* Short visits behind long kernels do not accumulate claims. */
static void test_claims_do_not_pile_up(void **state)
{
	uint32_t hog = add_awake(500000, CLV_CLASS_NORMAL);
	uint32_t a = add(500000, 0, CLV_CLASS_NORMAL);
	uint64_t now_ns = 0;

	for (int i = 0; i < 20; i++) {
		clv_policy_wake(policy, a, now_ns);
		now_ns += 100 * MS;
		clv_policy_charge(policy, hog, 100 * MS, now_ns);
		now_ns += MS;
		clv_policy_charge(policy, a, MS, now_ns);
		clv_policy_sleep(policy, a, now_ns);
		assert_in_range(clv_policy_lag_ns(policy, a), 0, MS + 51 * MS);
	}
}

/* An unfinished request keeps its deadline through a nap, so that naps neither delay it
 * nor bring it forward. */
static void test_nap_keeps_the_request(void **state)
{
	uint32_t a = add_awake(500000, CLV_CLASS_NORMAL);
	uint32_t b = add_awake(500000, CLV_CLASS_NORMAL);

	clv_policy_charge(policy, a, 2 * MS, 2 * MS);
	clv_policy_charge(policy, b, 2 * MS, 4 * MS);
	for (int i = 0; i < 100; i++) {
		clv_policy_sleep(policy, a, 4 * MS);
		clv_policy_wake(policy, a, 4 * MS);
	}
	assert_lag(a, 0);
	assert_picks(a, 6 * MS, 4 * MS);
	clv_policy_charge(policy, a, 1 * MS, 5 * MS);
	clv_policy_sleep(policy, a, 5 * MS);
	clv_policy_charge(policy, b, 2 * MS, 7 * MS);
	clv_policy_wake(policy, a, 7 * MS);
	assert_picks(a, 5 * MS, 7 * MS);
}

static void test_newcomer_has_no_lag(void **state)
{
	uint32_t a = add_awake(500000, CLV_CLASS_NORMAL), b;

	clv_policy_charge(policy, a, 3600 * CLV_NS_PER_S, 3600 * CLV_NS_PER_S);
	assert_lag(a, 0);
	b = add(500000, 0, CLV_CLASS_NORMAL);
	clv_policy_wake(policy, b, 3600 * CLV_NS_PER_S);
	assert_lag(a, 0);
	assert_lag(b, 0);
}

static void test_work_while_asleep_is_debt(void **state)
{
	uint32_t a = add(500000, 0, CLV_CLASS_NORMAL);
	uint32_t b = add_awake(500000, CLV_CLASS_NORMAL);

	clv_policy_charge(policy, a, 10 * MS, 10 * MS);
	assert_false(clv_policy_is_awake(policy, a));
	assert_lag(a, -5 * (int64_t)MS);
	assert_lag(b, 5 * (int64_t)MS);
	assert_picks(b, 8 * MS, 10 * MS);
	/* Its earned credit is used first. */
	clv_policy_charge(policy, b, 18 * MS, 28 * MS);
	assert_lag(a, 1 * (int64_t)MS);
	clv_policy_charge(policy, a, 6 * MS, 34 * MS);
	assert_lag(a, -2 * (int64_t)MS);
	assert_lag(b, 2 * (int64_t)MS);
}

static void test_alone_it_has_no_debt(void **state)
{
	uint32_t a = add(500000, 0, CLV_CLASS_NORMAL);

	clv_policy_charge(policy, a, 10 * MS, 10 * MS);
	assert_lag(a, 0);
	clv_policy_wake(policy, a, 20 * MS);
	clv_policy_charge(policy, a, 10 * MS, 30 * MS);
	assert_lag(a, 0);
}

static void test_lone_debtor_runs(void **state)
{
	uint32_t a = add_awake(500000, CLV_CLASS_NORMAL);
	uint32_t b = add_awake(500000, CLV_CLASS_NORMAL);

	clv_policy_charge(policy, a, 200 * MS, 200 * MS);
	/* No other lease is eligible for long: no decision before four slices. */
	assert_picks(b, 32 * MS, 200 * MS);
	clv_policy_charge(policy, b, 195 * MS, 395 * MS);
	assert_picks(b, 8 * MS, 395 * MS);
	clv_policy_sleep(policy, b, 395 * MS);
	assert_picks(a, 8 * MS, 395 * MS);
}

static void test_update_keeps_lag(void **state)
{
	struct clv_policy_params small = {100000, 0, CLV_CLASS_NORMAL};
	struct clv_policy_params quick = {100000, 0, CLV_CLASS_LATENCY};
	uint32_t a = add_awake(500000, CLV_CLASS_NORMAL);
	uint32_t b = add_awake(500000, CLV_CLASS_NORMAL);

	clv_policy_charge(policy, a, 3 * MS, 3 * MS);
	clv_policy_update(policy, a, &small, 3 * MS);
	assert_lag(a, -1500 * (int64_t)US);
	assert_lag(b, 1500 * (int64_t)US);
	/* 5 ms of its request are left, and no more than a slice of the new class. */
	clv_policy_sleep(policy, b, 3 * MS);
	assert_picks(a, 5 * MS, 3 * MS);
	clv_policy_update(policy, a, &quick, 3 * MS);
	assert_picks(a, 1 * MS, 3 * MS);
	clv_policy_wake(policy, b, 3 * MS);
	assert_lag(a, -1500 * (int64_t)US);

	/* From here the new weight counts: 1 to 5. */
	clv_policy_charge(policy, b, 6 * MS, 9 * MS);
	assert_lag(a, -500 * (int64_t)US);
	clv_policy_sleep(policy, a, 9 * MS);
	clv_policy_update(policy, a, &small, 9 * MS);
	assert_lag(a, -500 * (int64_t)US);
}

static void test_update_bounds_sleeping_credit(void **state)
{
	struct clv_policy_params quick = {500000, 0, CLV_CLASS_LATENCY};
	struct clv_policy_params longer = {500000, 0, CLV_CLASS_BATCH};
	uint32_t a = add_awake(500000, CLV_CLASS_BATCH);
	uint32_t b = add_awake(500000, CLV_CLASS_NORMAL);

	clv_policy_sleep(policy, a, 0);
	clv_policy_charge(policy, b, 100 * MS, 100 * MS);
	assert_lag(a, 1 * (int64_t)MS);
	/* It earns again below its savings. */
	clv_policy_update(policy, a, &quick, 100 * MS);
	clv_policy_charge(policy, b, 4 * MS, 104 * MS);
	assert_in_range(clv_policy_lag_ns(policy, a), 2900 * US, 3 * MS);
	clv_policy_update(policy, a, &longer, 104 * MS);
	clv_policy_charge(policy, b, 4 * MS, 108 * MS);
	clv_policy_wake(policy, a, 108 * MS);
	assert_lag(a, 1 * (int64_t)MS);
}

static void test_cap_throttles(void **state)
{
	uint32_t a = add(500000, 30000, CLV_CLASS_NORMAL); /* 3 ms of 100 */

	clv_policy_wake(policy, a, 0);
	assert_picks(a, 3 * MS, 0);
	clv_policy_charge(policy, a, 2 * MS, 2 * MS);
	assert_picks(a, 1 * MS, 2 * MS);
	clv_policy_charge(policy, a, 1 * MS, 3 * MS);
	assert_true(clv_policy_is_throttled(policy, a, 3 * MS));
	assert_true(clv_policy_is_awake(policy, a));
	assert_picks_nobody(100 * MS, 3 * MS);
	assert_picks_nobody(100 * MS, 100 * MS - 1);
	assert_true(clv_policy_is_throttled(policy, a, 100 * MS - 1));
	assert_false(clv_policy_is_throttled(policy, a, 100 * MS));
	assert_picks(a, 3 * MS, 100 * MS);
	clv_policy_charge(policy, a, 1 * MS, 101 * MS);
	assert_picks(a, 2 * MS, 101 * MS);
	/* An unused budget is lost. */
	assert_picks(a, 3 * MS, 950 * MS);
	clv_policy_sleep(policy, a, 950 * MS);
	assert_picks_nobody(UINT64_MAX, 950 * MS);
}

static void test_cap_overdraft_is_owed(void **state)
{
	uint32_t a = add(500000, 30000, CLV_CLASS_NORMAL);
	uint32_t b = add(500000, 500000, CLV_CLASS_NORMAL);

	clv_policy_wake(policy, a, 0);
	clv_policy_charge(
		policy, a, 10 * MS, 10 * MS); /* owes 7: two budgets and a part */
	assert_picks_nobody(300 * MS, 10 * MS);
	clv_policy_sleep(policy, a, 20 * MS);
	assert_picks_nobody(UINT64_MAX, 20 * MS);
	assert_true(clv_policy_is_throttled(policy, a, 200 * MS));
	clv_policy_wake(policy, a, 210 * MS);
	assert_picks_nobody(300 * MS, 210 * MS);
	assert_picks(a, 2 * MS, 300 * MS);

	/* No other lease is delayed, and the earliest time counts. */
	clv_policy_charge(policy, a, 10 * MS, 310 * MS);
	clv_policy_wake(policy, b, 310 * MS);
	assert_picks(b, 8 * MS, 310 * MS);
	clv_policy_charge(policy, b, 50 * MS, 360 * MS);
	assert_picks_nobody(400 * MS, 360 * MS);
	assert_picks(b, 8 * MS, 400 * MS);
}

/* A kernel that spans periods uses the budgets of all of them. */
static void test_cap_counts_the_periods_of_a_kernel(void **state)
{
	uint32_t a = add(500000, 500000, CLV_CLASS_NORMAL);

	clv_policy_wake(policy, a, 0);
	clv_policy_charge(policy, a, 300 * MS, 300 * MS); /* 4 x 50 added: owes 100 */
	assert_picks_nobody(600 * MS, 300 * MS);
}

static void test_cap_changes(void **state)
{
	struct clv_policy_params none = {500000, 0, CLV_CLASS_NORMAL};
	struct clv_policy_params more = {500000, 60000, CLV_CLASS_NORMAL};
	struct clv_policy_params less = {500000, 20000, CLV_CLASS_NORMAL};
	uint32_t a = add(500000, 30000, CLV_CLASS_NORMAL);

	clv_policy_wake(policy, a, 0);
	clv_policy_charge(policy, a, 3 * MS, 3 * MS);
	assert_picks_nobody(100 * MS, 3 * MS);
	clv_policy_update(policy, a, &more, 3 * MS);
	assert_picks(a, 3 * MS, 3 * MS);
	clv_policy_update(policy, a, &less, 3 * MS);
	assert_picks_nobody(100 * MS, 3 * MS);
	clv_policy_update(policy, a, &none, 3 * MS);
	assert_picks(a, 5 * MS, 3 * MS); /* the rest of its request */
	clv_policy_charge(policy, a, 50 * MS, 53 * MS);
	assert_picks(a, 8 * MS, 53 * MS);
}

/* A throttled lease does not hold V back; it earns its slice like a sleeping one. */
static void test_throttled_are_as_asleep(void **state)
{
	uint32_t capped = add(500000, 10000, CLV_CLASS_NORMAL);
	uint32_t a = add_awake(250000, CLV_CLASS_NORMAL);
	uint32_t b = add_awake(250000, CLV_CLASS_NORMAL);

	clv_policy_wake(policy, capped, 0);
	clv_policy_charge(policy, capped, MS, MS);
	clv_policy_charge(policy, a, 1 * MS, 2 * MS);
	clv_policy_charge(policy, b, 1 * MS, 3 * MS);
	assert_lag(capped, 500 * (int64_t)US);
	assert_lag(a, -250 * (int64_t)US);
	assert_lag(b, -250 * (int64_t)US);
	for (int i = 0; i < 10; i++) {
		clv_policy_charge(policy, a, 4 * MS, 20 * MS);
		clv_policy_charge(policy, b, 4 * MS, 20 * MS);
	}
	assert_lag(capped, 1 * MS);
	assert_in_range(clv_policy_lag_ns(policy, a) + MS, 0, 1000 * US);
	assert_in_range(clv_policy_lag_ns(policy, b) + MS, 0, 1000 * US);
}

static void test_pick_changes_nothing(void **state)
{
	uint32_t leases[20];

	for (uint32_t i = 0; i < 20; i++)
		leases[i] = add_awake(1000 * (i + 1), (enum clv_class)(i % 3));
	for (uint64_t i = 0; i < 500; i++) {
		struct clv_policy_decision d = clv_policy_pick(policy, i * MS);
		int64_t lag_ns = clv_policy_lag_ns(policy, leases[i % 20]);

		for (int again = 0; again < 3; again++)
			assert_picks(d.lease, d.slice_ns, i * MS);
		assert_int_equal(clv_policy_lag_ns(policy, leases[i % 20]), lag_ns);
		clv_policy_charge(policy, d.lease, d.slice_ns, i * MS);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Four leases have made requests of 16 ms when four others wake, and requests are of 8 ms
 * again: none waits while the others have two turns each. */
static void test_long_requests_of_before(void **state)
{
	struct clv_policy_params params = {
		.weight_ppm = CLV_PPM / 8, .class = CLV_CLASS_NORMAL};
	uint64_t now_ns = CLV_NS_PER_S, since_ns[8];
	uint32_t id;

	clv_policy_stretch(policy, 200);
	for (uint32_t i = 0; i < 8; i++) {
		if (i == 4)
			clv_policy_stretch(policy, 100);
		assert_int_equal(clv_policy_add(policy, &params, now_ns, &id), 0);
		assert_int_equal(id, i);
		clv_policy_wake(policy, id, now_ns);
		since_ns[i] = now_ns;
	}
	for (int i = 0; i < 64; i++) {
		struct clv_policy_decision next = clv_policy_pick(policy, now_ns);

		assert_true(now_ns - since_ns[next.lease] <= 8 * 10 * CLV_NS_PER_MS);
		now_ns += next.slice_ns;
		clv_policy_charge(policy, next.lease, next.slice_ns, now_ns);
		since_ns[next.lease] = now_ns;
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_slices),
		TEST(test_no_lease),
		TEST(test_wake_and_sleep_twice),
		TEST(test_handles_are_reused),
		TEST(test_removal_leaves_nothing),
		TEST(test_earliest_deadline_wins),
		TEST(test_a_lease_ahead_is_not_eligible),
		TEST(test_no_turn_below_its_worth),
		TEST(test_long_requests_of_before),
		TEST(test_preemption),
		TEST(test_preemption_is_by_deadline),
		TEST(test_debt_survives_sleep),
		TEST(test_sleep_earns_savings),
		TEST(test_a_lease_that_never_woke_earns_nothing),
		TEST(test_newcomer_shares_a_debt),
		TEST(test_claim_lapses_in_absence),
		TEST(test_claims_do_not_pile_up),
		TEST(test_nap_keeps_the_request),
		TEST(test_newcomer_has_no_lag),
		TEST(test_work_while_asleep_is_debt),
		TEST(test_alone_it_has_no_debt),
		TEST(test_lone_debtor_runs),
		TEST(test_update_keeps_lag),
		TEST(test_update_bounds_sleeping_credit),
		TEST(test_cap_throttles),
		TEST(test_cap_overdraft_is_owed),
		TEST(test_cap_counts_the_periods_of_a_kernel),
		TEST(test_cap_changes),
		TEST(test_throttled_are_as_asleep),
		TEST(test_pick_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
