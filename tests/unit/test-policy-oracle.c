/* SPDX-License-Identifier: Apache-2.0 */
/* The policy against an oracle, decision by decision, on random small cases. The oracle
 * follows the text of policy.h and nothing else: floating virtual times, no queues, no
 * running sums; each question scans all leases. Rounding may separate the two by a few
 * nanoseconds, so a choice that differs must be as good to within TOLERANCE, and the lags
 * must agree to that at every step. Only values that are exact in both (caps, throttling,
 * when to try again) are compared exactly. */
#include "arbiter/policy/policy.h"
#include "base/clock.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEASES 8
#define N_CASES 1500
#define N_STEPS 800
/* Rounding, and decisions that depend on it: whether a lease of a millionth, whose
 * savings are two nanoseconds, still competes when a newcomer takes over its part of a
 * debt. */
#define TOLERANCE_NS 1000.0L
#define MIN_TURN_NS 500000.0L
#define DRIFT 256
#define EDGE_NS 32

typedef long double real;

struct oracle_lease {
	bool used, awake, is_new, competes, was_runnable;
	uint32_t handle;
	struct clv_policy_params params;
	real vtime, vdeadline;   /* while it competes */
	real credit, request;    /* while it does not */
	real left_at;            /* of the total service */
	real came_at, came_with; /* of the clock; its credit then */
	int64_t budget_ns;
	uint64_t period_ns; /* start of the cap's period */
};

struct oracle {
	struct oracle_lease leases[MAX_LEASES];
	real clock, served;
};

static uint64_t random_state;
static int n_decisions, n_ties, n_other_turns;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % limit;
}

static void fail(const char *what, uint64_t seed, int step)
{
	printf("not ok 1 - %s (case %" PRIu64 ", step %d)\n", what, seed, step);
	exit(1);
}

static real share_of(const struct oracle_lease *l)
{
	return (real)l->params.weight_ppm / 1e6L;
}

static real slice_of(const struct oracle_lease *l)
{
	static const real slices_ns[] = {1e6L, 8e6L, 16e6L};

	return slices_ns[l->params.class];
}

static real savings_of(const struct oracle_lease *l)
{
	return l->params.class == CLV_CLASS_LATENCY ? 20e6L : 2e6L * share_of(l);
}

static int64_t cap_budget(const struct oracle_lease *l)
{
	return (int64_t)l->params.cap_ppm * 100;
}

/* A lease without work loses what is left of its budget; one with work has that of a
 * second at most. */
static void begin_period(struct oracle_lease *l)
{
	int64_t most_ns = cap_budget(l) * (l->awake ? 10 : 1);

	l->period_ns += 100000000;
	l->budget_ns += cap_budget(l);
	if (l->budget_ns > most_ns)
		l->budget_ns = most_ns;
}

/* A lease that gets the device may use more than a period's budget only for time that is
 * due to it.  That time is the policy's, so that budgets stay equal to the nanosecond. */
static void limit_budget(struct oracle_lease *l, int64_t due_ns)
{
	int64_t most_ns = cap_budget(l) + (due_ns > 0 ? due_ns : 0);

	if (l->params.cap_ppm > 0 && l->budget_ns > most_ns)
		l->budget_ns = most_ns;
}

static bool throttled(const struct oracle_lease *l)
{
	return l->params.cap_ppm > 0 && l->budget_ns <= 0;
}

static bool runnable(const struct oracle_lease *l)
{
	return l->used && l->awake && !throttled(l);
}

static real mean_of_runnable(const struct oracle *o)
{
	real weighted = 0, weights = 0;

	for (int i = 0; i < MAX_LEASES; i++) {
		const struct oracle_lease *l = &o->leases[i];

		if (!runnable(l) || !l->competes)
			continue;
		weighted += share_of(l) * (l->vtime - o->clock);
		weights += share_of(l);
	}
	return weights > 0 ? o->clock + weighted / weights : -INFINITY;
}

static real competing_share(const struct oracle *o)
{
	real weights = 0;

	for (int i = 0; i < MAX_LEASES; i++) {
		if (o->leases[i].used && o->leases[i].competes)
			weights += share_of(&o->leases[i]);
	}
	return weights;
}

static real competing_lag(const struct oracle *o)
{
	real lag = 0;

	for (int i = 0; i < MAX_LEASES; i++) {
		const struct oracle_lease *l = &o->leases[i];

		if (l->used && l->competes)
			lag += share_of(l) * (o->clock - l->vtime);
	}
	return lag;
}

static void go_out(struct oracle *o, struct oracle_lease *l)
{
	l->credit = share_of(l) * (o->clock - l->vtime);
	l->request = l->vdeadline - l->vtime;
	l->left_at = o->served;
	l->competes = false;
}

/* The time at which a lease that does not run has its savings. */
static real full_at(const struct oracle_lease *l)
{
	return l->vtime + savings_of(l) / share_of(l);
}

/* Moves the clock, stopping where a sleeping or throttled lease reaches its savings. */
static void move_clock(struct oracle *o, real left)
{
	for (;;) {
		struct oracle_lease *next = NULL;
		real need;

		for (int i = 0; i < MAX_LEASES; i++) {
			struct oracle_lease *l = &o->leases[i];

			if (l->used && l->competes && !runnable(l) &&
				(!next || full_at(l) < full_at(next)))
				next = l;
		}
		if (!next)
			break;
		need = fmaxl(0, full_at(next) - o->clock) * competing_share(o);
		if (left < need)
			break;
		left -= need;
		if (full_at(next) > o->clock)
			o->clock = full_at(next);
		go_out(o, next);
	}
	if (competing_share(o) > 0)
		o->clock += left / competing_share(o);
}

/* A write-off counts as service, but must not turn the remaining leases into
 * creditors. */
static void write_off(struct oracle *o, real lost)
{
	lost = fminl(lost, -competing_lag(o));
	if (lost > 0)
		move_clock(o, lost);
}

static void give_up(struct oracle *o, struct oracle_lease *l, real excess)
{
	if (excess <= 0)
		return;
	l->credit -= excess;
	write_off(o, excess);
}

/* An absent lease loses the service of the others from its credit above the savings. */
static void lose_in_absence(struct oracle *o, struct oracle_lease *l)
{
	real missed = o->served - l->left_at;

	give_up(o, l, fminl(missed, l->credit - savings_of(l)));
}

/* A newcomer takes over its part of the others' debt. */
static void come_in(struct oracle *o, struct oracle_lease *l)
{
	real debt = fmaxl(0, -competing_lag(o));
	real part = debt * share_of(l) / (competing_share(o) + share_of(l));

	if (l->is_new) {
		move_clock(o, part);
		l->credit = -part;
	} else {
		lose_in_absence(o, l);
	}
	l->is_new = false;
	l->vtime = o->clock - l->credit / share_of(l);
	l->vdeadline = l->vtime + l->request;
	l->competes = true;
}

/* A lease that does not run and has its savings also keeps what it earned since it came,
 * or what it came with. */
static void stay_out(struct oracle *o, struct oracle_lease *l)
{
	real earned;

	if (!l->competes || full_at(l) > o->clock + 1 / share_of(l))
		return;
	go_out(o, l);
	earned = savings_of(l) + share_of(l) * (o->clock - l->came_at);
	give_up(o, l, l->credit - fmaxl(earned, l->came_with));
}

/* Derives the competing leases from who is runnable and who has its savings. */
static void settle(struct oracle *o)
{
	for (int i = 0; i < MAX_LEASES; i++) {
		struct oracle_lease *l = &o->leases[i];

		if (!l->used)
			continue;
		if (runnable(l) && !l->competes)
			come_in(o, l);
		else if (!runnable(l))
			stay_out(o, l);
		if (runnable(l) && !l->was_runnable) {
			l->came_at = o->clock;
			l->came_with = share_of(l) * (o->clock - l->vtime);
		}
		l->was_runnable = runnable(l);
	}
}

/* Steps through the periods one by one; then leases that are no longer throttled enter in
 * the order of the times at which they became free, as a caller at those times would have
 * seen. */
static void pass_time(struct oracle *o, uint64_t now_ns)
{
	for (;;) {
		struct oracle_lease *first = NULL;

		for (int i = 0; i < MAX_LEASES; i++) {
			struct oracle_lease *l = &o->leases[i];

			if (!l->used || l->params.cap_ppm == 0 ||
				l->period_ns + 100000000 > now_ns)
				continue;
			if (!first || l->period_ns < first->period_ns ||
				(l->period_ns == first->period_ns &&
					l->handle < first->handle))
				first = l;
		}
		if (!first)
			return;
		begin_period(first);
		settle(o);
	}
}

/* One request after the other, each a slice long, but none shorter than a quarter. */
static real next_deadline(real deadline, real vtime, real slice)
{
	if (deadline > vtime + slice / 4)
		return deadline;
	return deadline + slice > vtime + slice / 4 ? deadline + slice : vtime + slice;
}

static void oracle_charge(
	struct oracle *o, struct oracle_lease *l, uint64_t held_ns, uint64_t now_ns)
{
	real left = (real)held_ns, apart;

	if (!l->competes)
		come_in(o, l);
	o->served += left;
	l->vtime += left / share_of(l);
	l->vdeadline = next_deadline(l->vdeadline, l->vtime, slice_of(l) / share_of(l));
	apart = -competing_lag(o) - left;
	left += fmaxl(-left / DRIFT, fminl(left / DRIFT, apart));

	move_clock(o, left);
	l->budget_ns -= l->params.cap_ppm ? (int64_t)held_ns : 0;
	while (l->params.cap_ppm && l->period_ns + 100000000 <= now_ns)
		begin_period(l);
	settle(o);
}

static void oracle_remove(struct oracle *o, struct oracle_lease *l)
{
	real claim = -share_of(l) * competing_lag(o) / competing_share(o) +
		     share_of(l) * (o->clock - l->vtime);

	l->used = false;
	if (!l->competes)
		write_off(o, l->credit);
	else if (claim > 0)
		move_clock(o, claim);
	else if (competing_share(o) > 0)
		o->clock += claim / competing_share(o);
	settle(o);
}

static real oracle_lag(const struct oracle *o, const struct oracle_lease *l)
{
	return l->competes ? share_of(l) * (o->clock - l->vtime) : l->credit;
}

static void oracle_update(struct oracle *o, struct oracle_lease *l,
	const struct clv_policy_params *params, uint64_t now_ns)
{
	real lag;
	real request = share_of(l) * (l->competes ? l->vdeadline - l->vtime : l->request);
	int64_t used_ns = cap_budget(l) - l->budget_ns;
	bool was_runnable = runnable(l);

	if (l->params.cap_ppm == 0 || params->cap_ppm == 0) {
		used_ns = 0;
		l->period_ns = now_ns;
	}
	if (l->is_new)
		request = INFINITY;
	else if (!l->competes)
		come_in(o, l);
	lag = oracle_lag(o, l);
	l->params = *params;
	l->budget_ns = cap_budget(l) - used_ns;
	l->request = fminl(request, slice_of(l)) / share_of(l);
	l->vtime = o->clock - lag / share_of(l);
	l->vdeadline = l->vtime + l->request;
	if (!was_runnable)
		stay_out(o, l);
	settle(o);
}

static struct oracle_lease *oracle_pick(struct oracle *o)
{
	real mean = mean_of_runnable(o);
	struct oracle_lease *best = NULL;

	for (int i = 0; i < MAX_LEASES; i++) {
		struct oracle_lease *l = &o->leases[i];

		if (!runnable(l) || l->vtime > mean + 1e-3L)
			continue;
		if (!best || l->vdeadline < best->vdeadline ||
			(l->vdeadline == best->vdeadline && l->handle < best->handle))
			best = l;
	}
	return best;
}

static real bounded_turn(const struct oracle_lease *l, real slice)
{
	slice = fmaxl(slice, MIN_TURN_NS);
	return l->params.cap_ppm ? fminl(slice, (real)l->budget_ns) : slice;
}

/* The length of the turn if `next` ends it by becoming eligible; NULL: no lease does. */
static real turn_until(const struct oracle *o, const struct oracle_lease *l,
	const struct oracle_lease *next)
{
	real mean = mean_of_runnable(o), weights = 0;
	real slice = (l->vdeadline - l->vtime) * share_of(l);

	for (int i = 0; i < MAX_LEASES; i++)
		weights += runnable(&o->leases[i]) ? share_of(&o->leases[i]) : 0;
	if (next)
		slice = fminl(slice, (next->vtime - mean) * weights);
	return bounded_turn(l, slice);
}

/* A turn continues while no other lease is eligible: `first` becomes eligible next. */
static real unrivalled_turn(const struct oracle *o, const struct oracle_lease *l,
	const struct oracle_lease *first)
{
	real weights = 0, until;

	for (int i = 0; i < MAX_LEASES; i++)
		weights += runnable(&o->leases[i]) ? share_of(&o->leases[i]) : 0;
	until = (first->vtime - mean_of_runnable(o)) * weights;
	return bounded_turn(l, fminl(until, 4 * slice_of(l)));
}

static bool is_unrivalled(const struct oracle *o, const struct oracle_lease *l)
{
	real mean = mean_of_runnable(o);

	for (int i = 0; i < MAX_LEASES; i++) {
		const struct oracle_lease *other = &o->leases[i];

		if (other != l && runnable(other) && other->vtime <= mean)
			return false;
	}
	return true;
}

/* A turn ends when the first ineligible lease becomes eligible, if that is of a quicker
 * class and has an earlier deadline. The policy may take a later one for the first if V
 * has just decreased: such a turn also ends with a lease of that kind, and is counted. */
static bool is_good_turn(const struct oracle *o, const struct oracle_lease *l, real slice)
{
	real mean = mean_of_runnable(o);
	const struct oracle_lease *first = NULL, *earliest;
	bool good = fabsl(slice - turn_until(o, l, NULL)) <= TOLERANCE_NS;

	for (int i = 0; i < MAX_LEASES; i++) {
		const struct oracle_lease *other = &o->leases[i];

		if (!runnable(other) || other->vtime <= mean)
			continue;
		if (!first || other->vtime < first->vtime)
			first = other;
		/* Rounding makes one of two equal leases the earlier. */
		if (other->params.class < l->params.class &&
			other->vdeadline <
				l->vdeadline + TOLERANCE_NS / share_of(other) &&
			fabsl(slice - turn_until(o, l, other)) <= TOLERANCE_NS)
			good = true;
	}
	earliest = first;
	if (first && (first->params.class >= l->params.class ||
			     first->vdeadline >= l->vdeadline))
		first = NULL;
	/* A nanosecond of a small share is a long virtual time. */
	if (earliest && is_unrivalled(o, l) &&
		fabsl(slice - unrivalled_turn(o, l, earliest)) <=
			TOLERANCE_NS * (1 + share_of(l) / share_of(earliest)))
		return true;
	n_other_turns += fabsl(slice - turn_until(o, l, first)) > TOLERANCE_NS;
	return good;
}

/* The decisions that rounding could change: whether the request is complete, and which
 * lease stops competing. */
static uint32_t changes_by(
	const struct oracle *o, int i, uint64_t held_ns, uint64_t now_ns)
{
	struct oracle after = *o;
	struct oracle_lease *l = &after.leases[i];
	uint32_t changes;
	real vdeadline;

	if (!l->competes)
		come_in(&after, l);
	vdeadline = l->vdeadline;
	oracle_charge(&after, l, held_ns, now_ns + held_ns);
	changes = l->vdeadline != vdeadline;
	for (i = 0; i < MAX_LEASES; i++)
		changes = changes << 1 | after.leases[i].competes;
	return changes;
}

static uint64_t off_the_edge(const struct oracle *o, const struct oracle_lease *l,
	uint64_t held_ns, uint64_t now_ns)
{
	int i = (int)(l - o->leases);

	while (changes_by(o, i, held_ns, now_ns) !=
		changes_by(o, i, held_ns + 2 * EDGE_NS, now_ns))
		held_ns += EDGE_NS;
	return held_ns + EDGE_NS;
}

static struct clv_policy_params random_params(void)
{
	static const uint32_t weights[] = {
		1, 500, 70000, 130000, 333333, 500000, 1000000};
	struct clv_policy_params params = {
		.weight_ppm = weights[random_below(7)],
		.class = (enum clv_class)random_below(3),
	};

	if (random_below(4) == 0)
		params.weight_ppm = 1 + (uint32_t)random_below(1000000);
	if (random_below(4) == 0)
		params.cap_ppm = 1000 + (uint32_t)random_below(600000);
	return params;
}

static uint64_t random_held_ns(uint64_t slice_ns)
{
	switch (random_below(8)) {
	case 0:
		return random_below(200) * CLV_NS_PER_MS;
	case 1:
		return random_below(slice_ns + 1);
	case 2:
		return random_below(3);
	default:
		return slice_ns + random_below(100) * CLV_NS_PER_US;
	}
}

static void check_all(struct clv_policy *policy, struct oracle *o, uint64_t now_ns,
	uint64_t seed, int step)
{
	/* First, because this question tells the policy the time, and a lease that is no
	 * longer throttled may then give up credit. */
	for (int i = 0; i < MAX_LEASES; i++) {
		const struct oracle_lease *l = &o->leases[i];

		if (l->used && clv_policy_is_throttled(policy, l->handle, now_ns) !=
				       throttled(l))
			fail("the throttled leases agree", seed, step);
	}
	for (int i = 0; i < MAX_LEASES; i++) {
		const struct oracle_lease *l = &o->leases[i];
		real lag;

		if (!l->used)
			continue;
		lag = (real)clv_policy_lag_ns(policy, l->handle);
		if (fabsl(lag - oracle_lag(o, l)) > TOLERANCE_NS) {
			printf("# lease %d: lag %.0Lf, oracle %.0Lf\n", i, lag,
				oracle_lag(o, l));
			fail("lags agree", seed, step);
		}
		if (clv_policy_is_awake(policy, l->handle) != l->awake)
			fail("the awake leases agree", seed, step);
	}
}

static struct oracle_lease *by_handle(struct oracle *o, uint32_t handle)
{
	for (int i = 0; i < MAX_LEASES; i++) {
		if (o->leases[i].used && o->leases[i].handle == handle)
			return &o->leases[i];
	}
	return NULL;
}

static uint64_t oracle_retry_at(const struct oracle *o)
{
	uint64_t first_ns = UINT64_MAX;

	for (int i = 0; i < MAX_LEASES; i++) {
		const struct oracle_lease *l = &o->leases[i];
		uint64_t at_ns = l->period_ns;
		int64_t budget_ns = l->budget_ns;

		if (!l->used || !l->awake)
			continue;
		for (; budget_ns <= 0; at_ns += 100000000)
			budget_ns += cap_budget(l);
		if (at_ns < first_ns)
			first_ns = at_ns;
	}
	return first_ns;
}

/* One decision, and the turn that follows from it. */
static void step_turn(struct clv_policy *policy, struct oracle *o, uint64_t *now_ns,
	uint64_t seed, int step)
{
	struct clv_policy_decision d = clv_policy_pick(policy, *now_ns);
	struct clv_policy_decision again = clv_policy_pick(policy, *now_ns);
	struct oracle_lease *best, *chosen;
	real virtual_tolerance;
	uint64_t held_ns;

	pass_time(o, *now_ns);
	best = oracle_pick(o);
	n_decisions++;
	if (again.lease != d.lease || again.slice_ns != d.slice_ns)
		fail("a second pick answers the same", seed, step);
	if (d.lease == CLV_POLICY_NONE || !best) {
		if (d.lease != CLV_POLICY_NONE || best)
			fail("no lease runs only when none can", seed, step);
		if (d.retry_at_ns != oracle_retry_at(o))
			fail("the time to try again agrees", seed, step);
		*now_ns += random_below(30) * CLV_NS_PER_MS;
		return;
	}
	chosen = by_handle(o, d.lease);
	if (!chosen || !runnable(chosen))
		fail("the chosen can run", seed, step);
	limit_budget(chosen, clv_policy_lag_ns(policy, d.lease));
	virtual_tolerance = TOLERANCE_NS / share_of(chosen) + TOLERANCE_NS;
	if (chosen != best) {
		n_ties++;
		if (chosen->vtime > mean_of_runnable(o) + virtual_tolerance)
			fail("the chosen is eligible", seed, step);
		if (best->vtime < mean_of_runnable(o) - TOLERANCE_NS / share_of(best) &&
			chosen->vdeadline > best->vdeadline + virtual_tolerance +
						    TOLERANCE_NS / share_of(best))
			fail("the earliest deadline wins", seed, step);
	}
	if (chosen == best && !is_good_turn(o, chosen, (real)d.slice_ns))
		fail("the turn's length agrees", seed, step);

	held_ns = off_the_edge(o, chosen, random_held_ns(d.slice_ns), *now_ns);
	*now_ns += held_ns;
	clv_policy_charge(policy, d.lease, held_ns, *now_ns);
	oracle_charge(o, chosen, held_ns, *now_ns);
}

static void step_add(struct clv_policy *policy, struct oracle_lease *l, uint64_t now_ns)
{
	memset(l, 0, sizeof(*l));
	l->used = l->is_new = true;
	l->params = random_params();
	l->request = slice_of(l) / share_of(l);
	l->budget_ns = cap_budget(l);
	l->period_ns = now_ns;
	if (clv_policy_add(policy, &l->params, now_ns, &l->handle) < 0)
		abort();
}

static void step_change(struct clv_policy *policy, struct oracle *o, uint64_t now_ns)
{
	struct oracle_lease *l = &o->leases[random_below(MAX_LEASES)];
	struct clv_policy_params params = random_params();
	uint64_t held_ns = random_held_ns(1000000);

	if (!l->used) {
		step_add(policy, l, now_ns);
		return;
	}
	switch (random_below(12)) {
	case 0:
		clv_policy_remove(policy, l->handle, now_ns);
		oracle_remove(o, l);
		break;
	case 1:
		clv_policy_update(policy, l->handle, &params, now_ns);
		oracle_update(o, l, &params, now_ns);
		break;
	case 2: /* work that ran while the phase was closed */
		held_ns = off_the_edge(o, l, held_ns, now_ns);
		clv_policy_charge(policy, l->handle, held_ns, now_ns);
		oracle_charge(o, l, held_ns, now_ns);
		break;
	case 3:
	case 4:
	case 5:
		clv_policy_sleep(policy, l->handle, now_ns);
		l->awake = false;
		settle(o);
		break;
	default:
		clv_policy_wake(policy, l->handle, now_ns);
		l->awake = true;
		settle(o);
	}
}

static void run_case(uint64_t seed)
{
	struct clv_policy *policy = clv_policy_new();
	struct oracle o = {.clock = 0};
	uint64_t now_ns = 0;

	if (!policy)
		abort();
	random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	now_ns = random_below(CLV_NS_PER_S);
	for (int step = 0; step < N_STEPS; step++) {
		pass_time(&o, now_ns);
		if (random_below(3) == 0)
			step_change(policy, &o, now_ns);
		else
			step_turn(policy, &o, &now_ns, seed, step);
		pass_time(&o, now_ns);
		check_all(policy, &o, now_ns, seed, step);
	}
	clv_policy_free(policy);
}

int main(void)
{
	printf("1..1\n");
	for (uint64_t seed = 1; seed <= N_CASES; seed++)
		run_case(seed);
	printf("# %d decisions, %d ties, %d turns that another lease ends\n", n_decisions,
		n_ties, n_other_turns);
	if (n_ties > n_decisions / 50)
		fail("the choice is seldom a matter of rounding", 0, 0);
	if (n_other_turns > n_decisions / 50)
		fail("turns seldom depend on where V has been", 0, 0);
	printf("ok 1 - policy and oracle agree\n");
	return 0;
}
