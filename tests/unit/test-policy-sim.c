/* SPDX-License-Identifier: Apache-2.0 */
/* Ten million turns under simulated time.  Tenants here are random programs: kernels of
 * 20 us to 200 ms that run to their end whatever the slice, bursts and naps of any
 * length, caps, resizes, arrivals and departures.  Every check is made on the tenants'
 * own ledgers, which count what they held; the policy's word is only compared with them.
 *
 * Bounds.  H is the longest turn of a tenant (slice + kernel), o the most that a turn
 * overruns its request (the least turn + kernel), w its share, W the sum of shares.
 *
 * Everybody busy for ever ("steady"):
 *   lag >= -H: a turn begins with v <= V, that is lag >= 0, and takes at most H.
 *   lag <= slice + w/W x (sum of the others' o + greatest H).  Take a request of k that
 * is not served at its deadline d, and the last turn before that, begun at V0, of a
 * request with a later deadline.  It was chosen, so every request with a deadline up to d
 * was ineligible, and starts after V0.  What is served until V reaches d is therefore, of
 * each tenant, at most w x (d - V0) plus one overrun, and the device serves W x (d - V0)
 * in that time: what is left at d is at most that one turn and the overruns.  While it is
 * served, k's lag grows by w/W of it, and at d it is one slice at most.
 *   Hence between two turns k waits at most until V has made up for the turn before and
 * for the request (H + slice) x W/w of service, and for that rest.
 *
 * With arrivals and sleep the clock, against which lag is kept, no longer is V.  They
 * part by credit that was cut off, which takes lateness as above, and by credit that
 * sleepers hold, one slice each: in device time by at most E = sum of all (slice + o) +
 * greatest H.  A turn begins at most that far ahead of the clock: lag >= -H - E.  The
 * lateness of the argument above now includes the credit that sleepers come back with:
 * lag <= slice + E. */
#include "arbiter/policy.h"
#include "base/clock.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TENANTS 16
#define MIN_TURN_NS (500 * CLV_NS_PER_US)
#define LONGEST_SLICE_NS 8e6
#define ROUNDING_NS 1000
#define FOREVER UINT64_MAX

struct tenant {
	uint32_t lease;
	struct clv_policy_params params;
	uint64_t max_kernel_ns, min_kernel_ns;
	uint64_t max_burst_ns, max_nap_ns; /* bursts of FOREVER: always busy */
	uint64_t burst_ns;                 /* what is left of the present one */
	uint64_t wake_at_ns;
	bool asleep;
	uint64_t ready_since_ns; /* can run since, and has not */
	uint64_t held_ns;
	/* Since it came or was resized, against the first tenant: */
	double gain, least_gain;
	double over_cap_ns, least_over_cap_ns;
};

struct world {
	const char *name;
	uint64_t seed;
	struct clv_policy *policy;
	struct tenant tenants[MAX_TENANTS];
	int n_tenants;
	uint64_t now_ns, busy_ns;
	bool lump; /* the caller books a turn at its end, not at every event */
	/* Seen, as a part of what is allowed: */
	double worst_debt, worst_credit, worst_wait, worst_gain, worst_cap;
};

static uint64_t random_state;
static uint64_t n_turns, n_preemptions, n_idle;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % limit;
}

/* As many short ones as long ones. */
static uint64_t random_log(uint64_t least, uint64_t most)
{
	uint64_t octaves = 0, at;

	while (least << (octaves + 1) <= most)
		octaves++;
	at = least << random_below(octaves + 1);
	at += random_below(at);
	return at < most ? at : most;
}

static void __attribute__((format(printf, 2, 3), noreturn))
fail(const struct world *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("not ok - %s, seed %" PRIu64 ", at %.6f s: ", w->name, w->seed,
		(double)w->now_ns / 1e9);
	vprintf(format, args);
	printf("\n");
	va_end(args);
	exit(1);
}

static double share_of(const struct tenant *t)
{
	return (double)t->params.weight_ppm / CLV_PPM;
}

static uint64_t slice_of(const struct tenant *t)
{
	return t->params.class == CLV_CLASS_LATENCY  ? CLV_NS_PER_MS
	       : t->params.class == CLV_CLASS_NORMAL ? 4 * CLV_NS_PER_MS
						     : 8 * CLV_NS_PER_MS;
}

static double longest_turn(const struct tenant *t)
{
	return (double)(slice_of(t) + t->max_kernel_ns);
}

static double overrun(const struct tenant *t)
{
	return (double)(MIN_TURN_NS + t->max_kernel_ns);
}

static double note_worst(double *worst, double seen, double allowed)
{
	if (seen / allowed > *worst)
		*worst = seen / allowed;
	return seen / allowed;
}

static void world_add(struct world *w, const struct tenant *like)
{
	struct tenant *t = &w->tenants[w->n_tenants++];

	*t = *like;
	t->asleep = true;
	t->burst_ns = t->max_burst_ns;
	t->ready_since_ns = FOREVER;
	if (clv_policy_add(w->policy, &t->params, w->now_ns, &t->lease) < 0)
		abort();
}

static void world_init(struct world *w, const char *name, uint64_t seed)
{
	*w = (struct world){.name = name, .seed = seed, .policy = clv_policy_new()};
	if (!w->policy)
		abort();
	random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static void world_done(struct world *w)
{
	clv_policy_free(w->policy);
}

static bool is_ready(const struct world *w, const struct tenant *t)
{
	return !t->asleep && !clv_policy_is_throttled(w->policy, t->lease, w->now_ns);
}

static struct tenant *next_to_wake(struct world *w)
{
	struct tenant *next = NULL;

	for (int i = 0; i < w->n_tenants; i++) {
		struct tenant *t = &w->tenants[i];

		if (t->asleep && (!next || t->wake_at_ns < next->wake_at_ns))
			next = t;
	}
	return next;
}

static void wake(struct world *w, struct tenant *t)
{
	clv_policy_wake(w->policy, t->lease, w->now_ns);
	t->asleep = false;
	if (t->max_burst_ns != FOREVER)
		t->burst_ns = random_log(20 * CLV_NS_PER_US, t->max_burst_ns);
}

static void fall_asleep(struct world *w, struct tenant *t)
{
	clv_policy_sleep(w->policy, t->lease, w->now_ns);
	t->asleep = true;
	t->wake_at_ns = w->now_ns + random_log(5 * CLV_NS_PER_US, t->max_nap_ns);
}

static void book(struct world *w, struct tenant *t, uint64_t from_ns, uint64_t to_ns)
{
	struct tenant *first = &w->tenants[0];
	uint64_t held_ns = to_ns - from_ns;

	clv_policy_charge(w->policy, t->lease, held_ns, to_ns);
	t->held_ns += held_ns;
	w->busy_ns += held_ns;
	t->over_cap_ns += (double)held_ns;
	t->gain += (double)held_ns / share_of(t);
	if (t != first)
		return;
	for (int i = 1; i < w->n_tenants; i++)
		w->tenants[i].gain -= (double)held_ns / share_of(first);
}

/* Runs whole kernels until the slice is over, the burst is done, or the turn is taken
 * away; who wakes meanwhile is told to the policy at once. */
static void run_turn(struct world *w, struct tenant *t, uint64_t slice_ns)
{
	uint64_t kernel_ns =
		t->min_kernel_ns + random_below(t->max_kernel_ns - t->min_kernel_ns + 1);
	uint64_t start_ns = w->now_ns, booked_ns = w->now_ns;
	uint64_t held_ns = (slice_ns + kernel_ns - 1) / kernel_ns * kernel_ns;
	struct tenant *waker;

	if (held_ns > t->burst_ns)
		held_ns = t->burst_ns;
	while ((waker = next_to_wake(w)) && waker->wake_at_ns < start_ns + held_ns) {
		uint64_t stop_ns = waker->wake_at_ns;

		if (stop_ns > w->now_ns)
			w->now_ns = stop_ns;
		if (!w->lump) {
			book(w, t, booked_ns, w->now_ns);
			booked_ns = w->now_ns;
		}
		wake(w, waker);
		if (!clv_policy_preempts(w->policy, waker->lease, t->lease, w->now_ns))
			continue;
		if (waker->params.class != CLV_CLASS_LATENCY &&
			stop_ns < start_ns + MIN_TURN_NS)
			stop_ns = start_ns + MIN_TURN_NS;
		stop_ns = (stop_ns - start_ns + kernel_ns - 1) / kernel_ns * kernel_ns;
		if (stop_ns < held_ns) {
			held_ns = stop_ns;
			n_preemptions++;
		}
	}

	w->now_ns = start_ns + held_ns;
	book(w, t, booked_ns, w->now_ns);
	if (t->burst_ns != FOREVER)
		t->burst_ns -= held_ns;
	if (t->burst_ns == 0)
		fall_asleep(w, t);
}

/* Nobody may run: only if nobody can. */
static void idle(struct world *w, uint64_t retry_at_ns)
{
	const struct tenant *waker = next_to_wake(w);
	uint64_t until_ns = retry_at_ns;

	for (int i = 0; i < w->n_tenants; i++) {
		if (is_ready(w, &w->tenants[i]))
			fail(w, "tenant %d can run and is left idle", i);
	}
	if (waker && waker->wake_at_ns < until_ns)
		until_ns = waker->wake_at_ns;
	if (until_ns == FOREVER || until_ns < w->now_ns)
		fail(w, "no time to try again");
	w->now_ns = until_ns;
	n_idle++;
}

static struct tenant *by_lease(struct world *w, uint32_t lease)
{
	for (int i = 0; i < w->n_tenants; i++) {
		if (w->tenants[i].lease == lease)
			return &w->tenants[i];
	}
	fail(w, "lease %" PRIu32 " was chosen and does not exist", lease);
}

/* Returns who ran, or NULL, and how long it had waited for it. */
static struct tenant *world_step(struct world *w, uint64_t *ret_waited_ns)
{
	struct clv_policy_decision d;
	struct tenant *t;

	while ((t = next_to_wake(w)) && t->wake_at_ns <= w->now_ns)
		wake(w, t);
	for (int i = 0; i < w->n_tenants; i++) {
		t = &w->tenants[i];
		if (!is_ready(w, t))
			t->ready_since_ns = FOREVER;
		else if (t->ready_since_ns == FOREVER)
			t->ready_since_ns = w->now_ns;
	}

	d = clv_policy_pick(w->policy, w->now_ns);
	if (d.lease == CLV_POLICY_NONE) {
		idle(w, d.retry_at_ns);
		return NULL;
	}
	t = by_lease(w, d.lease);
	if (!is_ready(w, t))
		fail(w, "lease %" PRIu32 " was chosen and cannot run", d.lease);
	if (d.slice_ns == 0 || d.slice_ns > slice_of(t))
		fail(w, "a slice of %" PRIu64 " ns", d.slice_ns);
	*ret_waited_ns = w->now_ns - t->ready_since_ns;
	t->ready_since_ns = FOREVER;
	run_turn(w, t, d.slice_ns);
	n_turns++;
	return t;
}

struct totals {
	double share, overruns, slices, longest_turn;
};

static struct totals totals_of(const struct world *w)
{
	struct totals all = {0};

	for (int i = 0; i < w->n_tenants; i++) {
		const struct tenant *t = &w->tenants[i];

		all.share += share_of(t);
		all.overruns += overrun(t);
		all.slices += (double)slice_of(t);
		if (longest_turn(t) > all.longest_turn)
			all.longest_turn = longest_turn(t);
	}
	return all;
}

/* One tenant of the steady world: lag from its ledger, within the bounds above, and the
 * same as the policy's. */
static void check_steady(struct world *w, const struct totals *all, struct tenant *t)
{
	double part = share_of(t) / all->share;
	double lag = part * (double)w->busy_ns - (double)t->held_ns;
	double late = all->overruns - overrun(t) + all->longest_turn;
	double told = (double)clv_policy_lag_ns(w->policy, t->lease);

	if (note_worst(&w->worst_debt, -lag, longest_turn(t)) > 1)
		fail(w, "a debt of %.0f ns, H is %.0f", -lag, longest_turn(t));
	if (note_worst(&w->worst_credit, lag, (double)slice_of(t) + part * late) > 1)
		fail(w, "a credit of %.0f ns, the bound is %.0f", lag,
			(double)slice_of(t) + part * late);
	if (lag - told > ROUNDING_NS || told - lag > ROUNDING_NS)
		fail(w, "lag is %.0f ns, the policy says %.0f", lag, told);
}

static void check_wait(struct world *w, struct tenant *t, uint64_t waited_ns, double most)
{
	if (note_worst(&w->worst_wait, (double)waited_ns, most) > 1)
		fail(w, "a share of %.6f waited %" PRIu64 " ns, the bound is %.0f",
			share_of(t), waited_ns, most);
}

static void random_tenant(struct tenant *t, uint64_t max_kernel_ns)
{
	*t = (struct tenant){
		.params.weight_ppm = (uint32_t)random_log(10000, 500000),
		.params.class = (enum clv_class)random_below(3),
		.max_kernel_ns = random_log(20 * CLV_NS_PER_US, max_kernel_ns),
		.max_burst_ns = FOREVER,
	};
	t->min_kernel_ns = random_below(2) ? t->max_kernel_ns : t->max_kernel_ns / 2 + 1;
}

static void report(const struct world *w, const char *what)
{
	printf("# %s: at most %.2f of the debt, %.2f of the credit, %.2f of the wait, "
	       "%.2f of the gain and %.2f of the cap's excess that the bounds allow\n",
		what, w->worst_debt, w->worst_credit, w->worst_wait, w->worst_gain,
		w->worst_cap);
}

static void keep_worst(struct world *worst, const struct world *w)
{
	note_worst(&worst->worst_debt, w->worst_debt, 1);
	note_worst(&worst->worst_credit, w->worst_credit, 1);
	note_worst(&worst->worst_wait, w->worst_wait, 1);
	note_worst(&worst->worst_gain, w->worst_gain, 1);
	note_worst(&worst->worst_cap, w->worst_cap, 1);
}

/* All always busy.  In a long run every share is met within 0.1 point. */
static void run_steady(uint64_t seed, uint64_t turns, uint64_t max_kernel_ns,
	bool is_long, struct world *worst)
{
	struct world w;
	struct totals all;

	world_init(&w, "steady", seed);
	for (int n = 2 + (int)random_below(MAX_TENANTS - 2); n > 0; n--) {
		struct tenant t;

		random_tenant(&t, max_kernel_ns);
		world_add(&w, &t);
	}
	all = totals_of(&w);

	for (uint64_t i = 0; i < turns; i++) {
		uint64_t waited_ns;
		struct tenant *t = world_step(&w, &waited_ns);
		double late = all.overruns + all.longest_turn;

		if (!t)
			fail(&w, "idle");
		check_wait(&w, t, waited_ns,
			(longest_turn(t) + (double)slice_of(t)) * all.share /
					share_of(t) +
				late);
		for (int k = 0; k < w.n_tenants; k++)
			check_steady(&w, &all, &w.tenants[k]);
	}
	for (int k = 0; k < w.n_tenants && is_long; k++) {
		double got = (double)w.tenants[k].held_ns / (double)w.busy_ns;
		double off = got - share_of(&w.tenants[k]) / all.share;

		if (off > 0.001 || off < -0.001)
			fail(&w, "tenant %d is off by %.3f points", k, off * 100);
	}
	keep_worst(worst, &w);
	world_done(&w);
}

/* What the bounds of a changing world are made of: the most that the tenants of any time
 * had together.  A resized one may carry what it got in a class of longer slices. */
struct limits {
	uint64_t max_kernel_ns;
	double slices_ns, overruns_ns, share;
};

static double most_debt(const struct limits *l, const struct tenant *t)
{
	return LONGEST_SLICE_NS + (double)t->max_kernel_ns + l->slices_ns;
}

static double most_credit(const struct limits *l)
{
	return LONGEST_SLICE_NS + 2 * (l->slices_ns + l->overruns_ns);
}

static void note_limits(struct limits *l, const struct world *w)
{
	struct totals all = totals_of(w);

	if (all.slices > l->slices_ns)
		l->slices_ns = all.slices;
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
 * is always busy, but for what both may be ahead or behind: neither by sleeping in
 * whatever pattern nor by long kernels. */
static void check_gain(struct world *w, const struct limits *l, struct tenant *t)
{
	const struct tenant *first = &w->tenants[0];
	double most = (most_debt(l, t) + most_credit(l)) / share_of(t) +
		      (most_debt(l, first) + most_credit(l)) / share_of(first);

	if (t->gain < t->least_gain)
		t->least_gain = t->gain;
	if (note_worst(&w->worst_gain, t->gain - t->least_gain, most) > 1)
		fail(w, "a share of %.6f gained %.0f ns, the bound is %.0f", share_of(t),
			(t->gain - t->least_gain) * share_of(t), most * share_of(t));
}

/* In no interval more than the cap's part of it, but for the budgets of the two periods
 * at its ends and one overrun. */
static void check_cap(struct world *w, struct tenant *t, uint64_t passed_ns)
{
	double cap = (double)t->params.cap_ppm / CLV_PPM;
	double most = 2 * cap * (double)CLV_POLICY_CAP_PERIOD_NS + longest_turn(t);

	if (t->params.cap_ppm == 0)
		return;
	t->over_cap_ns -= cap * (double)passed_ns;
	if (t->over_cap_ns < t->least_over_cap_ns)
		t->least_over_cap_ns = t->over_cap_ns;
	if (note_worst(&w->worst_cap, t->over_cap_ns - t->least_over_cap_ns, most) > 1)
		fail(w, "a cap of %.3f was exceeded by %.0f ns, the bound is %.0f", cap,
			t->over_cap_ns - t->least_over_cap_ns, most);
}

static void check_changing(struct world *w, const struct limits *l, uint64_t passed_ns)
{
	for (int i = 0; i < w->n_tenants; i++) {
		struct tenant *t = &w->tenants[i];
		double lag = (double)clv_policy_lag_ns(w->policy, t->lease);

		if (note_worst(&w->worst_debt, -lag, most_debt(l, t)) > 1)
			fail(w, "tenant %d has a debt of %.0f ns", i, -lag);
		if (note_worst(&w->worst_credit, lag, most_credit(l)) > 1)
			fail(w, "tenant %d has a credit of %.0f ns", i, lag);
		check_cap(w, t, passed_ns);
		if (i > 0)
			check_gain(w, l, t);
	}
}

static void random_changing_tenant(struct tenant *t, const struct limits *l)
{
	random_tenant(t, l->max_kernel_ns);
	if (random_below(4) > 0) {
		t->max_burst_ns = random_log(CLV_NS_PER_MS, 2 * CLV_NS_PER_S);
		t->max_nap_ns = random_log(20 * CLV_NS_PER_US, CLV_NS_PER_S);
	}
	if (random_below(4) == 0)
		t->params.cap_ppm = (uint32_t)random_log(20000, 900000);
}

/* One comes, goes or is resized; the first one stays as it is. */
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
		clv_policy_remove(w->policy, w->tenants[i].lease, w->now_ns);
		w->tenants[i] = w->tenants[--w->n_tenants];
	}
}

static void run_changing(
	uint64_t seed, uint64_t turns, uint64_t max_kernel_ns, struct world *worst)
{
	struct limits limits = {.max_kernel_ns = max_kernel_ns};
	struct world w;
	struct tenant t;

	world_init(&w, "changing", seed);
	w.lump = random_below(2) == 0;
	random_tenant(&t, max_kernel_ns);
	t.params.weight_ppm = 300000;
	world_add(&w, &t);
	for (int i = 1; i < 8; i++) {
		random_changing_tenant(&t, &limits);
		world_add(&w, &t);
	}
	note_limits(&limits, &w);

	for (uint64_t i = 0; i < turns; i++) {
		uint64_t before_ns = w.now_ns, waited_ns;
		struct tenant *ran = world_step(&w, &waited_ns);

		if (ran)
			check_wait(&w, ran, waited_ns,
				(most_debt(&limits, ran) + LONGEST_SLICE_NS) *
						limits.share / share_of(ran) +
					most_credit(&limits));
		check_changing(&w, &limits, w.now_ns - before_ns);
		if (random_below(500) == 0)
			change(&w, &limits);
		note_limits(&limits, &w);
	}
	keep_worst(worst, &w);
	world_done(&w);
}

int main(void)
{
	static const uint64_t kernels_ns[] = {100 * CLV_NS_PER_US, CLV_NS_PER_MS,
		20 * CLV_NS_PER_MS, 200 * CLV_NS_PER_MS};
	struct world worst;

	printf("1..2\n");
	memset(&worst, 0, sizeof(worst));
	for (uint64_t seed = 1; seed <= 160; seed++)
		run_steady(seed, 20000, kernels_ns[seed % 4], false, &worst);
	for (uint64_t seed = 1001; seed <= 1004; seed++)
		run_steady(seed, 400000, kernels_ns[seed % 4], true, &worst);
	report(&worst, "steady");
	printf("ok 1 - steady\n");

	memset(&worst, 0, sizeof(worst));
	for (uint64_t seed = 1; seed <= 240; seed++) {
		struct world w = {0};
		run_changing(seed, 25000, kernels_ns[seed % 4], &w);
		if (seed <= 8)
			report(&w, "changing");
		keep_worst(&worst, &w);
	}
	report(&worst, "changing");
	printf("# %" PRIu64 " turns, %" PRIu64 " preemptions, %" PRIu64 " idle\n",
		n_turns, n_preemptions, n_idle);
	printf("ok 2 - changing\n");
	return 0;
}
