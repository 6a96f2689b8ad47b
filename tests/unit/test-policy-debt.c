/* SPDX-License-Identifier: Apache-2.0 */
/* Debts of ended leases, on the simulated device: leaving and returning gains nothing,
 * and no debt is charged twice. */
#include "policy-world.h"

#include <math.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS CLV_NS_PER_MS
#define S CLV_NS_PER_S
#define RUN_NS (600 * S)

static struct tenant busy(const char *name, uint32_t weight_ppm, uint64_t kernel_ns)
{
	return (struct tenant){
		.params = {.weight_ppm = weight_ppm,
			.class = CLV_CLASS_NORMAL,
			.tenant = name},
		.max_kernel_ns = kernel_ns,
		.min_kernel_ns = kernel_ns,
		.max_burst_ns = FOREVER,
	};
}

/* The tenant's total debt, of current and past leases. */
static double debt_ns(const struct world *w, const char *tenant)
{
	struct clv_policy_debt debt;
	uint32_t at = 0;
	double sum = 0;

	while (clv_policy_next_debt(w->policy, &at, &debt)) {
		if (strcmp(debt.tenant, tenant) == 0)
			sum += (double)debt.debt_ns;
	}
	return sum;
}

#define assert_near(seen, wanted, off)                                                  \
	do {                                                                            \
		double seen_ = (seen), wanted_ = (wanted);                              \
		if (seen_ < wanted_ - (off) || seen_ > wanted_ + (off))                 \
			fail_msg("%s is %.5f, not %.5f +- %.5f", #seen, seen_, wanted_, \
				(double)(off));                                         \
	} while (0)

/* An attacker with n leases at a time, each of which ends after its first turn; returns
 * the victim's part of the time. */
static double beside_fresh_leases(
	uint32_t weight_ppm, unsigned n_leases, uint64_t kernel_ns, uint64_t pause_ns)
{
	struct tenant victim = busy("victim", 800000, MS);
	struct tenant like = busy("attacker", weight_ppm, kernel_ns);
	struct world w;
	double part;

	world_init(&w, "fresh leases", kernel_ns);
	world_add(&w, &victim);
	while (w.now_ns < RUN_NS) {
		uint64_t waited_ns;
		struct tenant *ran;

		while (w.n_tenants < 1 + (int)n_leases) {
			like.wake_at_ns = w.now_ns + pause_ns;
			world_add(&w, &like);
		}
		ran = world_step(&w, &waited_ns);
		if (ran && ran != &w.tenants[0])
			world_remove(&w, ran);
	}
	part = (double)w.tenants[0].held_ns / (double)w.now_ns;
	world_done(&w);
	return part;
}

/* Beside an attacker of .1 that stays, the victim is due 8/9. */
static void test_fresh_leases_gain_nothing(void **state)
{
	static const uint64_t kernels_ns[] = {MS, 20 * MS, 100 * MS, S, 10 * S};
	static const uint64_t pauses_ns[] = {0, MS, 50 * MS};

	for (size_t k = 0; k < 5; k++) {
		for (size_t p = 0; p < 3; p++) {
			double off = (double)(kernels_ns[k] + 10 * MS) / RUN_NS;

			assert_true(beside_fresh_leases(100000, 1, kernels_ns[k],
					    pauses_ns[p]) >= 8 / 9. - off);
			/* The same promise in small parts. */
			assert_true(beside_fresh_leases(10000, 10, kernels_ns[k],
					    pauses_ns[p]) >= 8 / 9. - 10 * off);
		}
	}
}

/* The victim sleeps after each kernel, like a program that waits for its work; the
 * attacker ends its lease after each turn, or does not. */
static double beside_a_napper(bool is_fresh, uint64_t kernel_ns)
{
	struct tenant victim = busy("victim", 800000, MS);
	struct tenant like = busy("attacker", 100000, kernel_ns);
	struct world w;
	double part;

	victim.max_burst_ns = victim.min_burst_ns = MS;
	victim.max_nap_ns = victim.min_nap_ns = MS / 20;
	world_init(&w, "napper", kernel_ns);
	world_add(&w, &victim);
	while (w.now_ns < RUN_NS) {
		uint64_t waited_ns;
		struct tenant *ran;

		like.wake_at_ns = w.now_ns + MS / 10;
		if (w.n_tenants < 2)
			world_add(&w, &like);
		ran = world_step(&w, &waited_ns);
		if (is_fresh && ran && ran != &w.tenants[0])
			world_remove(&w, ran);
	}
	part = (double)w.tenants[0].held_ns / (double)w.now_ns;
	world_done(&w);
	return part;
}

static void test_fresh_leases_beside_a_napper(void **state)
{
	static const uint64_t kernels_ns[] = {20 * MS, 100 * MS, S};

	for (size_t k = 0; k < 3; k++) {
		double beside_one = beside_a_napper(false, kernels_ns[k]);
		double beside_fresh = beside_a_napper(true, kernels_ns[k]);

		if (beside_fresh < beside_one - 0.005)
			fail_msg("%.4f beside one lease, %.4f beside fresh ones of %.0f "
				 "ms",
				beside_one, beside_fresh, (double)kernels_ns[k] / 1e6);
	}
}

/* An idle lease with debt must not allow the next lease another debt. */
static void test_idle_debtors_allow_no_new_debt(void **state)
{
	struct tenant victim = busy("victim", 800000, MS);
	struct tenant like = busy("attacker", 10000, S);
	uint64_t waited_ns;
	struct world w;

	world_init(&w, "purse", 1);
	world_add(&w, &victim);
	for (int i = 0; i < 10; i++) {
		struct tenant *t;

		like.wake_at_ns = w.now_ns;
		t = world_add(&w, &like);
		for (uint64_t end_ns = w.now_ns + 5 * S; w.now_ns < end_ns;)
			world_step(&w, &waited_ns);
		clv_policy_sleep(w.policy, t->lease, w.now_ns);
		t->asleep = true;
		t->wake_at_ns = FOREVER;
	}
	/* One kernel of a second each, as if they were ten tenants. */
	assert_true(w.tenants[0].held_ns >= w.now_ns - 5 * S);
	world_done(&w);
}

static void run_for(struct world *w, uint64_t ns)
{
	uint64_t end_ns = w->now_ns + ns, waited_ns;

	while (w->now_ns < end_ns)
		world_step(w, &waited_ns);
}

/* The debt decreases by its share among the competitors, until it is gone. */
static void test_debt_ends(void **state)
{
	struct tenant victim = busy("victim", 800000, MS);
	struct tenant once = busy("once", 100000, S);
	struct world w;
	double first_ns, left_ns;

	world_init(&w, "debt ends", 1);
	world_add(&w, &victim);
	run_for(&w, S);
	once.wake_at_ns = w.now_ns;
	world_add(&w, &once);
	while (w.tenants[1].held_ns == 0)
		run_for(&w, 1);
	world_remove(&w, &w.tenants[1]);
	first_ns = debt_ns(&w, "once");
	assert_near(first_ns / 1e9, 8 / 9., 0.02);
	run_for(&w, 4 * S);
	left_ns = debt_ns(&w, "once");
	assert_near((first_ns - left_ns) / 1e9, 4 / 9., 0.01);
	run_for(&w, 5 * S);
	assert_true(debt_ns(&w, "once") == 0);

	/* Its next lease has no disadvantage. */
	once.min_kernel_ns = once.max_kernel_ns = MS;
	once.wake_at_ns = w.now_ns;
	world_add(&w, &once);
	run_for(&w, 60 * S);
	assert_near((double)w.tenants[1].held_ns / 60e9, 1 / 9., 0.002);
	world_done(&w);
}

/* The debts of a tenant do not affect leases of other tenants, or leases without one. */
static void test_debts_stay_with_their_tenant(void **state)
{
	struct tenant victim = busy("victim", 500000, MS);
	struct tenant debtor = busy("debtor", 100000, S);
	struct tenant other = busy("other", 100000, MS), nobody = busy(NULL, 100000, S);
	uint64_t before_ns;
	struct world w;

	world_init(&w, "own debts", 1);
	world_add(&w, &victim);
	run_for(&w, S);
	debtor.wake_at_ns = nobody.wake_at_ns = w.now_ns;
	world_add(&w, &debtor);
	world_add(&w, &nobody);
	while (w.tenants[1].held_ns == 0 || w.tenants[2].held_ns == 0)
		run_for(&w, 1);
	world_remove(&w, &w.tenants[2]);
	world_remove(&w, &w.tenants[1]);
	assert_true(debt_ns(&w, "debtor") > 0);
	assert_true(debt_ns(&w, "") == 0);
	other.wake_at_ns = before_ns = w.now_ns;
	world_add(&w, &other);
	assert_true(clv_policy_lag_ns(w.policy, w.tenants[1].lease) >= 0);
	run_for(&w, 4 * S);
	/* The debtor's part goes to the victim until the debt is paid. */
	assert_near((double)w.tenants[1].held_ns / (double)(w.now_ns - before_ns), 1 / 7.,
		0.01);
	world_done(&w);
}

static double lag_s(const struct world *w, int i)
{
	return (double)clv_policy_lag_ns(w->policy, w->tenants[i].lease) / 1e9;
}

/* The debt is divided by weight, and the sum is unchanged. */
static void test_debts_are_split_by_weight(void **state)
{
	struct tenant victim = busy("victim", 500000, MS);
	struct tenant a = busy("a", 100000, S), b = busy("a", 100000, MS);
	struct tenant c = busy("a", 200000, MS);
	struct world w;
	double sum_ns;

	world_init(&w, "split", 1);
	world_add(&w, &victim);
	run_for(&w, S);
	a.wake_at_ns = w.now_ns;
	world_add(&w, &a);
	while (w.tenants[1].held_ns == 0)
		run_for(&w, 1);
	sum_ns = debt_ns(&w, "a");
	b.wake_at_ns = c.wake_at_ns = FOREVER;
	world_add(&w, &b);
	assert_near(lag_s(&w, 1), -sum_ns / 2e9, 1e-6);
	assert_near(lag_s(&w, 2), -sum_ns / 2e9, 1e-6);
	world_add(&w, &c);
	assert_near(lag_s(&w, 1), -sum_ns / 4e9, 1e-6);
	assert_near(lag_s(&w, 2), -sum_ns / 4e9, 1e-6);
	assert_near(lag_s(&w, 3), -sum_ns / 2e9, 1e-6);
	/* The debts of ended leases are carried over completely. */
	world_remove(&w, &w.tenants[3]);
	world_remove(&w, &w.tenants[1]);
	assert_near(debt_ns(&w, "a"), sum_ns, 1000);
	world_add(&w, &c);
	assert_near(debt_ns(&w, "a"), sum_ns, 1000);
	world_done(&w);
}

/* A new agent starts with the debts that another one stored. */
static void test_debts_are_brought_along(void **state)
{
	struct tenant victim = busy("victim", 800000, MS), a = busy("a", 100000, MS);
	struct clv_policy_debt debt = {.tenant = "a",
		.weight_ppm = 100000,
		.class = CLV_CLASS_NORMAL,
		.debt_ns = 900 * MS};
	struct world w;

	world_init(&w, "restart", 1);
	assert_int_equal(clv_policy_restore_debt(w.policy, &debt), 0);
	assert_near(debt_ns(&w, "a"), 900e6, 1000);
	world_add(&w, &a);
	assert_near(lag_s(&w, 0), -0.9, 1e-6);
	world_remove(&w, &w.tenants[0]);
	a.wake_at_ns = victim.wake_at_ns = 0;
	world_add(&w, &victim);
	world_add(&w, &a);
	run_for(&w, 60 * S);
	assert_true(debt_ns(&w, "a") < 50e6);
	/* It waits until the victim has had 8 times as much, and the victim has no
	 * debt. */
	assert_near((double)w.tenants[1].held_ns / 1e9, (60 - 7.2) / 9, 0.05);
	assert_near(lag_s(&w, 0), 0, 0.05);
	world_done(&w);
}

/* For random arrivals and departures, a tenant that leaves whenever it can gets no more
 * beside the victim than its share, its savings and its last overrun. */
static void test_random_coming_and_going(void **state)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct tenant victim = busy("victim", 500000, MS);
		struct tenant like = busy("comer", 100000, MS);
		double excess_ns, owed_ns;
		struct world w;
		uint64_t held_ns = 0;

		world_init(&w, "coming and going", seed);
		world_add(&w, &victim);
		like.max_kernel_ns = random_log(MS, 300 * MS);
		while (w.now_ns < 300 * S) {
			if (w.n_tenants < 4 && random_below(2)) {
				like.params.weight_ppm =
					20000 + (uint32_t)random_below(80000);
				like.wake_at_ns = w.now_ns + random_below(20 * MS);
				world_add(&w, &like);
			}
			run_for(&w, random_log(MS, 400 * MS));
			if (w.n_tenants > 1 && random_below(2)) {
				int i = 1 + (int)random_below((uint64_t)w.n_tenants - 1);

				held_ns += w.tenants[i].held_ns;
				world_remove(&w, &w.tenants[i]);
			}
		}
		for (int i = 1; i < w.n_tenants; i++)
			held_ns += w.tenants[i].held_ns;
		/* Three leases of at most .1 each. */
		owed_ns = (double)w.now_ns * 0.3 / 0.8;
		excess_ns = (double)held_ns - owed_ns;
		if (excess_ns > 3 * (double)(like.max_kernel_ns + 20 * MS))
			world_fail(&w, "%.1f ms too much", excess_ns / 1e6);
		world_done(&w);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fresh_leases_gain_nothing),
		cmocka_unit_test(test_fresh_leases_beside_a_napper),
		cmocka_unit_test(test_idle_debtors_allow_no_new_debt),
		cmocka_unit_test(test_debt_ends),
		cmocka_unit_test(test_debts_stay_with_their_tenant),
		cmocka_unit_test(test_debts_are_split_by_weight),
		cmocka_unit_test(test_debts_are_brought_along),
		cmocka_unit_test(test_random_coming_and_going),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
