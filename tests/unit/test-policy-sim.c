/* SPDX-License-Identifier: Apache-2.0 */
/* Ten million turns under simulated time.  Tenants here are random programs: kernels of
 * 20 us to 200 ms that run to their end regardless of the slice, bursts and naps of any
 * length, caps, resizes, arrivals and departures. All checks use the tenants' own
 * ledgers, which count held time; the policy's figures are only compared with them.
 *
 * Bounds.  r is the longest request of a tenant (a slice, and a quarter as the rest of
 * the one before), H its longest turn (r + kernel), o the most that a turn overruns its
 * request (the least turn + kernel), w its share, W the sum of shares.
 *
 * All tenants always busy ("steady"):
 *   lag >= -H: a turn begins with v <= V, that is lag >= 0, and takes at most H.
 *   lag <= r + w/W x (sum of the others' o + greatest H).  Take a request of k that
 * is not served at its deadline d, and the last turn before that, begun at V0, of a
 * request with a later deadline.  It was chosen, so every request with a deadline up to d
 * was ineligible, and starts after V0.  Until V reaches d each tenant is therefore served
 * at most w x (d - V0) plus one overrun, and the device serves W x (d - V0) in that time:
 * the rest at d is at most that one turn and the overruns.  While it is
 * served, k's lag grows by w/W of it, and at d it is r at most.
 *   Hence between two turns k waits at most until V has made up for the turn before and
 * for the request (H + r) x W/w of service, and for that rest.
 *
 * With arrivals and sleep V differs from the clock, to which lag refers. A sleeping
 * tenant earns on until it has its savings s (its part of 2 ms, or 20 ms), and then is
 * out: it does not compete. Its claim c is the most that it can be owed then: s, or what
 * it earned in line before, which is s + sum of o + greatest H at most by the above.
 *   The total debt of the competing tenants is at most the claims of those that are out:
 * going out adds as much to both and coming back takes it from both, lapsed claims are
 * written off, a newcomer takes over its part of the debt and adds none, a departure
 * takes its part along, and the drift only decreases it.
 *   lag >= -H - sum of the claims: a turn begins with v <= V, and V is ahead of the
 * clock by the debt to tenants that are out and the credit of absent ones: one claim
 * each at most.
 *   lag <= r + 2 x (sum of o and claims + greatest H): the argument above, and two
 * more delays of k: the credit that others come back with, one claim each; and while
 * sleeping debtors keep the clock ahead of V, k waits until the others' credit against
 * them (H each) is used up.
 *   A waker with r of credit has its deadline at the clock, and a holder without
 * credit has it later: the waker takes the device, if it is eligible (see the world).
 *   A sleeping tenant (n) beside one that is always busy (h), w of both 1 together: n
 * holds, over no interval, more than w of it + s of n + w x (2 H + o) of h + (1 - w) x H
 * of n.  Its lag at the end is lower by what it holds beyond w of the time.  Its lag
 * at the start is at most s + w x (H + o) of h, as in the steady world, when it slept
 * last, and w of the turn that it waits for now; its lag at the end is at least what a
 * turn of its own, begun at lag 0, leaves: V is never ahead of the clock when both
 * compete, because none is out then. A cap is exceeded in no interval by more than the
 * budgets of the periods that it cuts at its ends, one turn's overdraft, and what was due
 * to the tenant at its begin: budgets of the periods in which it waited. */
#include "policy-world.h"

#include "arbiter/policy/cap.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define LONGEST_REQUEST_NS 20e6
#define ROUNDING_NS 1000

/* The largest observed values, relative to the bounds. */
struct worst {
	double debt, credit, wait, gain, cap;
	uint64_t n_turns, n_preemptions, n_idle;
};

static const uint64_t kernels_ns[] = {
	100 * CLV_NS_PER_US, CLV_NS_PER_MS, 20 * CLV_NS_PER_MS, 200 * CLV_NS_PER_MS};

static bool is_beyond(double *worst, double seen, double allowed)
{
	if (seen / allowed > *worst)
		*worst = seen / allowed;
	return seen > allowed;
}

/* One tenant of the steady world: lag from its ledger, within the bounds above, and the
 * same as the policy's. */
static void check_steady(
	struct world *w, struct worst *worst, const struct totals *all, struct tenant *t)
{
	double part = tenant_share(t) / all->share;
	double lag = part * (double)w->busy_ns - (double)t->held_ns;
	double late = all->overruns - tenant_overrun(t) + all->longest_turn;
	double told = (double)clv_policy_lag_ns(w->policy, t->lease);

	if (is_beyond(&worst->debt, -lag, tenant_longest_turn(t)))
		world_fail(
			w, "a debt of %.0f ns, H is %.0f", -lag, tenant_longest_turn(t));
	if (is_beyond(&worst->credit, lag, tenant_longest_request(t) + part * late))
		world_fail(w, "a credit of %.0f ns, the bound is %.0f", lag,
			tenant_longest_request(t) + part * late);
	if (lag - told > ROUNDING_NS || told - lag > ROUNDING_NS)
		world_fail(w, "lag is %.0f ns, the policy says %.0f", lag, told);
}

static void check_wait(struct world *w, struct worst *worst, struct tenant *t,
	uint64_t waited_ns, double most)
{
	if (is_beyond(&worst->wait, (double)waited_ns, most))
		world_fail(w, "a share of %.6f waited %" PRIu64 " ns, the bound is %.0f",
			tenant_share(t), waited_ns, most);
}

static void random_tenant(struct tenant *t, uint64_t max_kernel_ns)
{
	*t = (struct tenant){
		.params.weight_ppm = (uint32_t)random_log(10000, 500000),
		.params.class = (enum clv_class)random_below(3),
		.max_kernel_ns = random_log(20 * CLV_NS_PER_US, max_kernel_ns),
		.max_burst_ns = FOREVER,
		.min_burst_ns = 20 * CLV_NS_PER_US,
		.min_nap_ns = 5 * CLV_NS_PER_US,
	};
	t->min_kernel_ns = random_below(2) ? t->max_kernel_ns : t->max_kernel_ns / 2 + 1;
}

static void report(const char *what, const struct worst *worst)
{
	printf("# %s: %" PRIu64 " turns, %" PRIu64 " preemptions, %" PRIu64
	       " times idle\n",
		what, worst->n_turns, worst->n_preemptions, worst->n_idle);
	printf("# at most %.2f of the debt, %.2f of the credit, %.2f of the wait, %.2f "
	       "of "
	       "the gain, %.2f of the cap's excess that the bounds allow\n",
		worst->debt, worst->credit, worst->wait, worst->gain, worst->cap);
}

static void finish(struct world *w, struct worst *worst)
{
	worst->n_turns += w->n_turns;
	worst->n_preemptions += w->n_preemptions;
	worst->n_idle += w->n_idle;
	world_done(w);
}

/* All always busy. In a long run every share is met within 0.1 point. */
static void run_steady(uint64_t seed, uint64_t turns, bool is_long, struct worst *worst)
{
	struct world w;
	struct totals all;

	world_init(&w, "steady", seed);
	for (int n = 2 + (int)random_below(MAX_TENANTS - 2); n > 0; n--) {
		struct tenant t;

		random_tenant(&t, kernels_ns[seed % 4]);
		world_add(&w, &t);
	}
	all = world_totals(&w);

	for (uint64_t i = 0; i < turns; i++) {
		uint64_t waited_ns;
		struct tenant *t = world_step(&w, &waited_ns);
		double late = all.overruns + all.longest_turn;

		if (!t)
			world_fail(&w, "idle");
		check_wait(&w, worst, t, waited_ns,
			(tenant_longest_turn(t) + tenant_longest_request(t)) * all.share /
					tenant_share(t) +
				late);
		for (int k = 0; k < w.n_tenants; k++)
			check_steady(&w, worst, &all, &w.tenants[k]);
	}
	for (int k = 0; k < w.n_tenants && is_long; k++) {
		double got = (double)w.tenants[k].held_ns / (double)w.busy_ns;
		double off = got - tenant_share(&w.tenants[k]) / all.share;

		if (off > 0.001 || off < -0.001)
			world_fail(&w, "tenant %d is off by %.3f points", k, off * 100);
	}
	finish(&w, worst);
}

/* The parameters of a changing world's bounds: the maximum over the tenants at any time.
 * A resized one may carry over the time of a class with longer requests. */
struct limits {
	uint64_t max_kernel_ns;
	bool sparse; /* no tenant is always busy */
	double claims_ns, overruns_ns, share;
};

static double most_debt(const struct limits *l, const struct tenant *t)
{
	return LONGEST_REQUEST_NS + (double)t->max_kernel_ns + l->claims_ns;
}

static double most_credit(const struct limits *l)
{
	return LONGEST_REQUEST_NS + 2 * (l->claims_ns + l->overruns_ns);
}

static void note_limits(struct limits *l, const struct world *w)
{
	struct totals all = world_totals(w);

	double claims = all.savings + w->n_tenants * (all.overruns + all.longest_turn);

	if (claims > l->claims_ns)
		l->claims_ns = claims;
	if (all.overruns + all.longest_turn > l->overruns_ns)
		l->overruns_ns = all.overruns + all.longest_turn;
	if (all.share > l->share)
		l->share = all.share;
}

static void forget(struct tenant *t)
{
	t->gain = t->least_gain = 0;
	t->over_cap_ns = t->least_over_cap_ns = 0;
}

/* Over no interval may a tenant have got more, for its share, than the first one, which
 * is always busy, except for what both may be ahead or behind: neither by any pattern of
 * sleep nor by long kernels. */
static void check_gain(
	struct world *w, struct worst *worst, const struct limits *l, struct tenant *t)
{
	const struct tenant *first = &w->tenants[0];
	double most = (most_debt(l, t) + most_credit(l)) / tenant_share(t) +
		      (most_debt(l, first) + most_credit(l)) / tenant_share(first);

	if (t->gain < t->least_gain)
		t->least_gain = t->gain;
	if (is_beyond(&worst->gain, t->gain - t->least_gain, most))
		world_fail(w, "a share of %.6f gained %.0f ns, the bound is %.0f",
			tenant_share(t), (t->gain - t->least_gain) * tenant_share(t),
			most * tenant_share(t));
}

/* In no interval more than the cap's part of it, except for the budgets of the two
 * periods at its ends, one overrun, and what it was due when it began: no more than the
 * budgets that are kept. */
static void check_cap(struct world *w, struct worst *worst, const struct limits *l,
	struct tenant *t, uint64_t passed_ns)
{
	double cap = (double)t->params.cap_ppm / CLV_PPM;
	double budget = cap * (double)CLV_CAP_PERIOD_NS;
	double most = 2 * budget + tenant_longest_turn(t) +
		      fmin(most_credit(l), CLV_CAP_KEPT_PERIODS * budget);

	if (t->params.cap_ppm == 0)
		return;
	t->over_cap_ns -= cap * (double)passed_ns;
	if (t->over_cap_ns < t->least_over_cap_ns)
		t->least_over_cap_ns = t->over_cap_ns;
	if (is_beyond(&worst->cap, t->over_cap_ns - t->least_over_cap_ns, most))
		world_fail(w, "a cap of %.3f was exceeded by %.0f ns, the bound is %.0f",
			cap, t->over_cap_ns - t->least_over_cap_ns, most);
}

static void check_changing(
	struct world *w, struct worst *worst, const struct limits *l, uint64_t passed_ns)
{
	for (int i = 0; i < w->n_tenants; i++) {
		struct tenant *t = &w->tenants[i];
		double lag = (double)clv_policy_lag_ns(w->policy, t->lease);

		if (is_beyond(&worst->debt, -lag, most_debt(l, t)))
			world_fail(w, "tenant %d has a debt of %.0f ns", i, -lag);
		if (is_beyond(&worst->credit, lag, most_credit(l)))
			world_fail(w, "tenant %d has a credit of %.0f ns", i, lag);
		check_cap(w, worst, l, t, passed_ns);
		if (i > 0 && !l->sparse)
			check_gain(w, worst, l, t);
	}
}

static void random_changing_tenant(struct tenant *t, const struct limits *l)
{
	random_tenant(t, l->max_kernel_ns);
	if (l->sparse || random_below(4) > 0) {
		t->max_burst_ns = random_log(CLV_NS_PER_MS, 2 * CLV_NS_PER_S);
		t->max_nap_ns = random_log(20 * CLV_NS_PER_US, CLV_NS_PER_S);
	}
	if (random_below(4) == 0)
		t->params.cap_ppm = (uint32_t)random_log(20000, 900000);
}

/* A tenant arrives, leaves or is resized; the first one stays as it is. */
static void change(struct world *w, const struct limits *l)
{
	int i = 1 + (int)random_below((uint64_t)w->n_tenants);
	struct tenant like;

	random_changing_tenant(&like, l);
	like.wake_at_ns = w->now_ns;
	if (i == w->n_tenants) {
		if (w->n_tenants < MAX_TENANTS)
			world_add(w, &like);
	} else if (random_below(2) == 0) {
		struct tenant *t = &w->tenants[i];

		t->params = like.params;
		t->ready_since_ns = FOREVER;
		forget(t);
		clv_policy_update(w->policy, t->lease, &t->params, w->now_ns);
	} else {
		world_remove(w, &w->tenants[i]);
	}
}

static void run_changing(uint64_t seed, uint64_t turns, bool sparse, struct worst *worst)
{
	struct limits limits = {
		.max_kernel_ns = kernels_ns[seed % 4],
		.sparse = sparse,
	};
	struct world w;
	struct tenant t;

	world_init(&w, sparse ? "sparse" : "changing", seed);
	w.lump = random_below(2) == 0;
	random_tenant(&t, limits.max_kernel_ns);
	t.params.weight_ppm = 300000;
	if (sparse)
		random_changing_tenant(&t, &limits);
	world_add(&w, &t);
	for (int i = 1; i < (sparse ? 4 : 8); i++) {
		random_changing_tenant(&t, &limits);
		world_add(&w, &t);
	}
	note_limits(&limits, &w);

	for (uint64_t i = 0; i < turns; i++) {
		uint64_t before_ns = w.now_ns, waited_ns;
		struct tenant *ran = world_step(&w, &waited_ns);

		if (ran)
			check_wait(&w, worst, ran, waited_ns,
				(most_debt(&limits, ran) + LONGEST_REQUEST_NS) *
						limits.share / tenant_share(ran) +
					most_credit(&limits));
		check_changing(&w, worst, &limits, w.now_ns - before_ns);
		if (random_below(500) == 0)
			change(&w, &limits);
		note_limits(&limits, &w);
	}
	finish(&w, worst);
}

/* The promise to sleeping and to busy leases: one of each, with the whole device between
 * them. */
static void run_pair(uint64_t seed, uint64_t turns, struct worst *worst)
{
	struct tenant hog, napper;
	struct world w;
	double share, most, excess = 0, least = 0;

	world_init(&w, "pair", seed);
	random_tenant(&hog, kernels_ns[seed % 4]);
	random_tenant(&napper, kernels_ns[seed / 4 % 4]);
	hog.params.weight_ppm = CLV_PPM - napper.params.weight_ppm;
	napper.max_burst_ns = random_log(100 * CLV_NS_PER_US, 2 * CLV_NS_PER_S);
	napper.max_nap_ns = random_log(20 * CLV_NS_PER_US, 200 * CLV_NS_PER_MS);
	world_add(&w, &hog);
	world_add(&w, &napper);
	share = tenant_share(&napper);
	most = tenant_savings(&napper) +
	       share * (2 * tenant_longest_turn(&hog) + tenant_overrun(&hog)) +
	       (1 - share) * tenant_longest_turn(&napper);

	for (uint64_t i = 0; i < turns; i++) {
		uint64_t waited_ns;

		world_step(&w, &waited_ns);
		excess = (double)w.tenants[1].held_ns - share * (double)w.now_ns;
		if (excess < least)
			least = excess;
		if (is_beyond(&worst->gain, excess - least, most))
			world_fail(&w, "%.0f ns more than its part, the bound is %.0f",
				excess - least, most);
	}
	finish(&w, worst);
}

int main(void)
{
	struct worst steady = {0}, changing = {0}, sparse = {0}, pair = {0};

	printf("1..5\n");
	for (uint64_t seed = 1; seed <= 160; seed++)
		run_steady(seed, 15000, false, &steady);
	for (uint64_t seed = 1001; seed <= 1004; seed++)
		run_steady(seed, 400000, true, &steady);
	report("all tenants always busy", &steady);
	printf("ok 1 - all tenants always busy\n");

	for (uint64_t seed = 1; seed <= 200; seed++)
		run_changing(seed, 25000, false, &changing);
	report("arrivals, sleep, caps and resizes", &changing);
	printf("ok 2 - arrivals, sleep, caps and resizes\n");

	for (uint64_t seed = 1; seed <= 100; seed++)
		run_changing(seed, 15000, true, &sparse);
	report("the same, and no tenant always busy", &sparse);
	printf("ok 3 - the same, and no tenant always busy\n");

	for (uint64_t seed = 1; seed <= 160; seed++)
		run_pair(seed, 10000, &pair);
	report("one that sleeps beside one that does not", &pair);
	printf("ok 4 - one that sleeps beside one that does not\n");

	if (steady.n_turns + changing.n_turns + sparse.n_turns < 10000000) {
		printf("not ok 5 - ten million turns\n");
		return 1;
	}
	printf("ok 5 - ten million turns\n");
	return 0;
}
