/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated device. It runs one turn at a time and jumps from event to event; the
 * tests judge fairness, not the device. */
#include "policy-world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDING_NS 1000

static uint64_t random_state;

uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % limit;
}

uint64_t random_log(uint64_t least, uint64_t most)
{
	uint64_t octaves = 0, at;

	while (least << (octaves + 1) <= most)
		octaves++;
	at = least << random_below(octaves + 1);
	at += random_below(at);
	return at < most ? at : most;
}

void world_fail(const struct world *w, const char *format, ...)
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

double tenant_share(const struct tenant *t)
{
	return (double)t->params.weight_ppm / CLV_PPM;
}

uint64_t tenant_slice(const struct tenant *t)
{
	return t->params.class == CLV_CLASS_LATENCY  ? CLV_NS_PER_MS
	       : t->params.class == CLV_CLASS_NORMAL ? 8 * CLV_NS_PER_MS
						     : 16 * CLV_NS_PER_MS;
}

double tenant_savings(const struct tenant *t)
{
	return t->params.class == CLV_CLASS_LATENCY ? LATENCY_SAVINGS_NS
						    : SAVINGS_NS * tenant_share(t);
}

double tenant_longest_request(const struct tenant *t)
{
	return (double)tenant_slice(t) * 5 / 4;
}

double tenant_longest_turn(const struct tenant *t)
{
	return tenant_longest_request(t) + (double)t->max_kernel_ns;
}

double tenant_overrun(const struct tenant *t)
{
	return (double)(MIN_TURN_NS + t->max_kernel_ns);
}

struct tenant *world_add(struct world *w, const struct tenant *like)
{
	struct tenant *t = &w->tenants[w->n_tenants++];

	*t = *like;
	t->asleep = true;
	t->burst_ns = t->max_burst_ns;
	t->ready_since_ns = FOREVER;
	if (clv_policy_add(w->policy, &t->params, w->now_ns, &t->lease) < 0)
		abort();
	return t;
}

void world_remove(struct world *w, struct tenant *t)
{
	clv_policy_remove(w->policy, t->lease, w->now_ns);
	*t = w->tenants[--w->n_tenants];
}

void world_init(struct world *w, const char *name, uint64_t seed)
{
	*w = (struct world){.name = name, .seed = seed, .policy = clv_policy_new()};
	if (!w->policy)
		abort();
	random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

void world_done(struct world *w)
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
	t->burst_ns = t->max_burst_ns == FOREVER
			      ? FOREVER
			      : random_log(t->min_burst_ns, t->max_burst_ns);
}

static void fall_asleep(struct world *w, struct tenant *t)
{
	clv_policy_sleep(w->policy, t->lease, w->now_ns);
	t->asleep = true;
	t->wake_at_ns = w->now_ns + random_log(t->min_nap_ns, t->max_nap_ns);
}

static void book(struct world *w, struct tenant *t, uint64_t from_ns, uint64_t to_ns)
{
	struct tenant *first = &w->tenants[0];
	uint64_t held_ns = to_ns - from_ns;

	clv_policy_charge(w->policy, t->lease, held_ns, to_ns);
	t->held_ns += held_ns;
	w->busy_ns += held_ns;
	t->over_cap_ns += (double)held_ns;
	t->gain += (double)held_ns / tenant_share(t);
	if (t != first)
		return;
	for (int i = 1; i < w->n_tenants; i++)
		w->tenants[i].gain -= (double)held_ns / tenant_share(first);
}

/* A waker with credit for a whole request must take the device from a holder without
 * credit, unless the runnable leases have more credit on average, for their shares. */
static bool must_take(struct world *w, const struct tenant *waker, const struct tenant *t)
{
	double credit_ns = (double)clv_policy_lag_ns(w->policy, waker->lease);
	double all_ns = 0, share = 0;

	for (int i = 0; i < w->n_tenants; i++) {
		if (!is_ready(w, &w->tenants[i]))
			continue;
		all_ns += (double)clv_policy_lag_ns(w->policy, w->tenants[i].lease);
		share += tenant_share(&w->tenants[i]);
	}
	return is_ready(w, waker) && clv_policy_lag_ns(w->policy, t->lease) <= 0 &&
	       credit_ns >= tenant_longest_request(waker) &&
	       credit_ns * share > (all_ns + ROUNDING_NS) * tenant_share(waker);
}

/* The shorter a kernel is, the more often there is one. */
static uint64_t next_kernel_ns(const struct tenant *t)
{
	uint64_t longest_ns = 0, sum = 0, at;
	int i = 0;

	for (int k = 0; k < t->n_kernels; k++) {
		if (t->kernels_ns[k] > longest_ns)
			longest_ns = t->kernels_ns[k];
	}
	for (int k = 0; k < t->n_kernels; k++)
		sum += longest_ns / t->kernels_ns[k];
	for (at = random_below(sum); at >= longest_ns / t->kernels_ns[i]; i++)
		at -= longest_ns / t->kernels_ns[i];
	return t->kernels_ns[i];
}

/* How long a turn takes whose kernels all begin within the slice. */
static uint64_t length_of_mixed_turn(const struct tenant *t, uint64_t slice_ns)
{
	uint64_t held_ns = 0;

	while (held_ns < slice_ns)
		held_ns += next_kernel_ns(t);
	return held_ns;
}

/* Runs whole kernels until the slice is over, the burst is done, or the turn is
 * preempted; the policy learns of wake-ups meanwhile at once. */
static void run_turn(struct world *w, struct tenant *t, uint64_t slice_ns)
{
	uint64_t kernel_ns =
		t->min_kernel_ns + random_below(t->max_kernel_ns - t->min_kernel_ns + 1);
	uint64_t start_ns = w->now_ns, booked_ns = w->now_ns;
	uint64_t held_ns = (slice_ns + kernel_ns - 1) / kernel_ns * kernel_ns;
	struct tenant *waker;
	bool takes;

	if (t->n_kernels > 0)
		held_ns = length_of_mixed_turn(t, slice_ns);
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
		takes = clv_policy_preempts(w->policy, waker->lease, t->lease, w->now_ns);
		if (t->burst_ns == FOREVER && !w->lump) {
			waker->n_wakes++;
			waker->n_taken += takes;
		}
		if (!takes && must_take(w, waker, t))
			world_fail(w, "a share of %.6f that saved waits for one of %.6f",
				tenant_share(waker), tenant_share(t));
		if (!takes)
			continue;
		if (waker->params.class != CLV_CLASS_LATENCY &&
			stop_ns < start_ns + MIN_TURN_NS)
			stop_ns = start_ns + MIN_TURN_NS;
		stop_ns = (stop_ns - start_ns + kernel_ns - 1) / kernel_ns * kernel_ns;
		if (stop_ns < held_ns) {
			held_ns = stop_ns;
			w->n_preemptions++;
		}
	}

	w->now_ns = start_ns + held_ns;
	book(w, t, booked_ns, w->now_ns);
	if (t->burst_ns != FOREVER)
		t->burst_ns -= held_ns;
	if (t->burst_ns == 0)
		fall_asleep(w, t);
}

/* The policy may choose no lease only if none can run. */
static void idle(struct world *w, uint64_t retry_at_ns)
{
	const struct tenant *waker = next_to_wake(w);
	uint64_t until_ns = retry_at_ns;

	for (int i = 0; i < w->n_tenants; i++) {
		if (is_ready(w, &w->tenants[i]))
			world_fail(w, "tenant %d can run and is left idle", i);
	}
	if (waker && waker->wake_at_ns < until_ns)
		until_ns = waker->wake_at_ns;
	if (until_ns == FOREVER || until_ns < w->now_ns)
		world_fail(w, "no time to try again");
	w->now_ns = until_ns;
	w->n_idle++;
}

static struct tenant *by_lease(struct world *w, uint32_t lease)
{
	for (int i = 0; i < w->n_tenants; i++) {
		if (w->tenants[i].lease == lease)
			return &w->tenants[i];
	}
	world_fail(w, "lease %" PRIu32 " was chosen and does not exist", lease);
}

/* Returns the tenant that ran, or NULL, and how long it had waited. */
struct tenant *world_step(struct world *w, uint64_t *ret_waited_ns)
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
		world_fail(w, "lease %" PRIu32 " was chosen and cannot run", d.lease);
	if (d.slice_ns == 0 || d.slice_ns > UNRIVALLED_SLICES * tenant_slice(t))
		world_fail(w, "a slice of %" PRIu64 " ns", d.slice_ns);
	*ret_waited_ns = w->now_ns - t->ready_since_ns;
	t->ready_since_ns = FOREVER;
	run_turn(w, t, d.slice_ns);
	w->n_turns++;
	return t;
}

struct totals world_totals(const struct world *w)
{
	struct totals all = {0};

	for (int i = 0; i < w->n_tenants; i++) {
		const struct tenant *t = &w->tenants[i];

		all.share += tenant_share(t);
		all.overruns += tenant_overrun(t);
		all.savings += tenant_savings(t);
		if (tenant_longest_turn(t) > all.longest_turn)
			all.longest_turn = tenant_longest_turn(t);
	}
	return all;
}
