/* SPDX-License-Identifier: Apache-2.0 */
/* EEVDF over held time.  Two times are kept in exact integers: V, the weighted mean of
 * the runnable leases' virtual times, decides who is eligible, and the clock, which is
 * where V would be if nobody had ever come or gone.  The clock advances by service /
 * (weight of all that compete), and no wake or sleep shifts it, so that lag is kept
 * against it: were it kept against V, a neighbour's short nap would forgive a debt.
 *
 * A lease competes while it is runnable, and after that until its debt has run down:
 * without its weight in the clock a debtor that sleeps would be quit sooner than one that
 * stays.  What is outside keeps its credit (one slice at most) and the rest of its
 * request.
 *
 * It does not know turns, holders or minimum turns: those are the arbiter's. */
#include "arbiter/policy.h"

#include "arbiter/cap.h"
#include "arbiter/heap.h"
#include "base/clock.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* A turn below this costs more in handing over than it is worth. */
#define MIN_TURN_NS (500 * CLV_NS_PER_US)

/* Thirteen days: more than any kernel holds a device, and far from any overflow. */
#define MAX_HELD_NS (UINT64_C(1) << 50)

/* When credit that was cut off by sleeping, or a departed lease, has left V and the clock
 * apart, the clock runs this part faster or slower until they meet.  Slow against any
 * debt that somebody still waits for, quick against the life of a lease. */
#define DRIFT_PART 256

enum queue {
	QUEUE_NONE,       /* does not compete */
	QUEUE_ELIGIBLE,   /* runnable, by virtual deadline; looked at again by pick */
	QUEUE_INELIGIBLE, /* runnable, by virtual time */
	QUEUE_DEBTOR,     /* not runnable but in debt, by virtual time */
	N_QUEUES,
};

/* Virtual times are in nanoseconds of a share of 1; share x virtual time is "scaled"
 * service: nanoseconds x CLV_PPM. */
struct lease {
	struct clv_policy_params params;
	bool used;
	bool awake;
	bool is_new; /* has never competed */
	enum queue queue;
	__int128 vtime; /* while it competes */
	__int128 vdeadline;
	__int128 credit;    /* scaled, while it does not compete */
	__int128 request;   /* what is left of its request in virtual time, likewise */
	uint64_t remainder; /* scaled service, too little to move vtime */
	struct clv_cap cap;
	uint32_t next_free;
};

struct sum {
	__int128 vtime; /* weight x virtual time */
	uint64_t weight;
};

struct clv_policy {
	struct lease *leases;
	uint32_t n_leases; /* used or on the free list */
	uint32_t capacity;
	uint32_t first_free;
	__int128 clock;
	__int128 clock_remainder; /* scaled service that has not moved the clock yet */
	struct sum runnable;
	struct sum competing;             /* runnable and debtors */
	struct clv_heap queues[N_QUEUES]; /* the first stays empty */
	struct clv_heap throttled;        /* awake ones, by the time that ends it */
};

struct clv_policy *clv_policy_new(void)
{
	struct clv_policy *policy = calloc(1, sizeof(*policy));

	if (policy)
		policy->first_free = CLV_POLICY_NONE;
	return policy;
}

struct clv_policy *clv_policy_free(struct clv_policy *policy)
{
	if (!policy)
		return NULL;
	for (int i = 0; i < N_QUEUES; i++)
		clv_heap_done(&policy->queues[i]);
	clv_heap_done(&policy->throttled);
	free(policy->leases);
	free(policy);
	return NULL;
}

uint64_t clv_policy_slice_ns(enum clv_class class)
{
	switch (class) {
	case CLV_CLASS_LATENCY:
		return 1 * CLV_NS_PER_MS;
	case CLV_CLASS_BATCH:
		return 8 * CLV_NS_PER_MS;
	default:
		return 4 * CLV_NS_PER_MS;
	}
}

static struct lease *lease_of(const struct clv_policy *policy, uint32_t id)
{
	assert(id < policy->n_leases && policy->leases[id].used);
	return &policy->leases[id];
}

static uint32_t id_of(const struct clv_policy *policy, const struct lease *lease)
{
	return (uint32_t)(lease - policy->leases);
}

/* Most dividends fit a machine word, where division costs a tenth. */
static __int128 divide(__int128 dividend, uint64_t divisor)
{
	if (dividend >= 0 && dividend <= UINT64_MAX)
		return (uint64_t)dividend / divisor;
	return dividend / (__int128)divisor;
}

static __int128 scaled_slice(const struct lease *lease)
{
	return (__int128)clv_policy_slice_ns(lease->params.class) * CLV_PPM;
}

static __int128 virtual_slice(const struct lease *lease)
{
	return divide(scaled_slice(lease), lease->params.weight_ppm);
}

static bool is_runnable(const struct lease *lease)
{
	return lease->queue == QUEUE_ELIGIBLE || lease->queue == QUEUE_INELIGIBLE;
}

/* vtime <= V, without the division. */
static bool is_eligible(const struct clv_policy *policy, const struct lease *lease)
{
	return lease->vtime * policy->runnable.weight <= policy->runnable.vtime;
}

static void sum_add(struct sum *sum, const struct lease *lease)
{
	sum->vtime += lease->vtime * lease->params.weight_ppm;
	sum->weight += lease->params.weight_ppm;
}

static void sum_subtract(struct sum *sum, const struct lease *lease)
{
	sum->vtime -= lease->vtime * lease->params.weight_ppm;
	sum->weight -= lease->params.weight_ppm;
}

/* Puts a lease that competes into the queue where it belongs, or corrects its place. */
static void enqueue(struct clv_policy *policy, struct lease *lease, enum queue queue)
{
	__int128 key = queue == QUEUE_ELIGIBLE ? lease->vdeadline : lease->vtime;
	uint32_t id = id_of(policy, lease);

	if (lease->queue == queue) {
		clv_heap_update(&policy->queues[queue], id, key);
		return;
	}
	if (lease->queue != QUEUE_NONE)
		clv_heap_remove(&policy->queues[lease->queue], id);
	clv_heap_push(&policy->queues[queue], id, key);
	lease->queue = queue;
}

static void enqueue_runnable(struct clv_policy *policy, struct lease *lease)
{
	enqueue(policy, lease,
		is_eligible(policy, lease) ? QUEUE_ELIGIBLE : QUEUE_INELIGIBLE);
}

static void leave(struct clv_policy *policy, struct lease *lease)
{
	__int128 behind = policy->clock - lease->vtime;

	clv_heap_remove(&policy->queues[lease->queue], id_of(policy, lease));
	lease->queue = QUEUE_NONE;
	lease->credit = behind * lease->params.weight_ppm;
	lease->request = lease->vdeadline - lease->vtime;
	sum_subtract(&policy->competing, lease);
}

/* Moves the clock by `scaled` service.  A debtor leaves at the moment when the clock
 * meets its virtual time, and what is left of the service moves the clock faster. */
static void move_clock(struct clv_policy *policy, __int128 scaled)
{
	const struct clv_heap *debtors = &policy->queues[QUEUE_DEBTOR];

	scaled += policy->clock_remainder;
	while (!clv_heap_is_empty(debtors)) {
		struct lease *debtor = &policy->leases[clv_heap_top(debtors)->id];
		__int128 ahead = debtor->vtime - policy->clock;

		if (ahead > 0) {
			if (scaled < ahead * policy->competing.weight)
				break;
			scaled -= ahead * policy->competing.weight;
			policy->clock = debtor->vtime;
		}
		leave(policy, debtor);
	}
	policy->clock_remainder = 0;
	if (policy->competing.weight > 0) {
		__int128 step = divide(scaled, policy->competing.weight);

		policy->clock += step;
		policy->clock_remainder = scaled - step * policy->competing.weight;
	}
}

/* How far V is ahead of the clock, in scaled service: what the competing owe together. */
static __int128 common_debt(const struct clv_policy *policy)
{
	return policy->competing.vtime - policy->clock * policy->competing.weight -
	       policy->clock_remainder;
}

static void advance_clock(struct clv_policy *policy, __int128 scaled)
{
	__int128 apart = common_debt(policy) - scaled, most = divide(scaled, DRIFT_PART);

	if (apart > most)
		apart = most;
	else if (apart < -most)
		apart = -most;
	move_clock(policy, scaled + apart);
}

/* What nobody will ask for any more is no debt to those who compete: the clock goes on as
 * if it had been served, so that they do not find themselves behind all who come back. */
static void write_off(struct clv_policy *policy, __int128 scaled)
{
	__int128 debt = common_debt(policy);

	if (scaled > debt)
		scaled = debt;
	if (scaled > 0)
		move_clock(policy, scaled);
}

/* One that does not compete keeps one slice of its credit. */
static void forfeit(struct clv_policy *policy, struct lease *lease)
{
	__int128 excess = lease->credit - scaled_slice(lease);

	if (lease->queue != QUEUE_NONE || excess <= 0)
		return;
	lease->credit -= excess;
	write_off(policy, excess);
}

/* Where one that never competed starts: without lag, that is, at V.  Behind V it would
 * run alone until it met the others.  But where V is ahead of the clock, that is the
 * others' debt, and the newcomer takes over no more of it than they have together. */
static __int128 newcomer_vtime(const struct clv_policy *policy, uint32_t weight_ppm)
{
	const struct sum *others = &policy->runnable;
	__int128 debt = others->vtime - policy->clock * others->weight;
	uint64_t weight = weight_ppm > others->weight ? weight_ppm : others->weight;

	return policy->clock + (debt > 0 ? divide(debt, weight) : 0);
}

/* A lease that was outside competes again, from where the clock is. */
static void enter(struct clv_policy *policy, struct lease *lease)
{
	uint32_t weight_ppm = lease->params.weight_ppm;

	if (lease->is_new)
		lease->vtime = newcomer_vtime(policy, weight_ppm);
	else
		lease->vtime = policy->clock - divide(lease->credit, weight_ppm);
	lease->is_new = false;
	lease->vdeadline = lease->vtime + lease->request;
	sum_add(&policy->competing, lease);
}

static void make_runnable(struct clv_policy *policy, struct lease *lease)
{
	if (lease->queue == QUEUE_NONE)
		enter(policy, lease);
	sum_add(&policy->runnable, lease);
	enqueue_runnable(policy, lease);
}

static void make_unrunnable(struct clv_policy *policy, struct lease *lease)
{
	sum_subtract(&policy->runnable, lease);
	if (lease->vtime > policy->clock)
		enqueue(policy, lease, QUEUE_DEBTOR);
	else
		leave(policy, lease);
	forfeit(policy, lease);
}

static bool is_in_throttled(const struct clv_policy *policy, uint32_t id)
{
	return policy->throttled.places[id] != CLV_HEAP_NOWHERE;
}

/* Makes its place among the runnable or the throttled follow from what is true of it. */
static void place(struct clv_policy *policy, uint32_t id)
{
	struct lease *lease = lease_of(policy, id);
	bool throttled = lease->awake && clv_cap_is_overdrawn(&lease->cap);

	if (is_in_throttled(policy, id))
		clv_heap_remove(&policy->throttled, id);
	if (throttled)
		clv_heap_push(
			&policy->throttled, id, clv_cap_overdrawn_until_ns(&lease->cap));

	if (lease->awake && !throttled) {
		if (!is_runnable(lease))
			make_runnable(policy, lease);
	} else if (is_runnable(lease)) {
		make_unrunnable(policy, lease);
	}
}

/* Ends the throttling of all whose time has come. */
static void release_throttled(struct clv_policy *policy, uint64_t now_ns)
{
	while (!clv_heap_is_empty(&policy->throttled)) {
		const struct clv_heap_node *top = clv_heap_top(&policy->throttled);
		uint32_t id = top->id;

		if (top->key > (__int128)now_ns)
			return;
		clv_cap_refill(&policy->leases[id].cap, now_ns);
		place(policy, id);
	}
}

static int reserve(struct clv_policy *policy, uint32_t capacity)
{
	struct lease *leases;

	for (int i = 0; i < N_QUEUES; i++) {
		if (i != QUEUE_NONE && clv_heap_reserve(&policy->queues[i], capacity) < 0)
			return -ENOMEM;
	}
	if (clv_heap_reserve(&policy->throttled, capacity) < 0)
		return -ENOMEM;
	leases = realloc(policy->leases, capacity * sizeof(*leases));
	if (!leases)
		return -ENOMEM;

	policy->leases = leases;
	policy->capacity = capacity;
	return 0;
}

int clv_policy_add(struct clv_policy *policy, const struct clv_policy_params *params,
	uint64_t now_ns, uint32_t *ret_lease)
{
	uint32_t id = policy->first_free;
	struct lease *lease;

	assert(params->weight_ppm > 0 && params->weight_ppm <= CLV_PPM);
	if (id != CLV_POLICY_NONE) {
		policy->first_free = policy->leases[id].next_free;
	} else {
		if (policy->n_leases == policy->capacity &&
			reserve(policy, policy->capacity ? policy->capacity * 2 : 16) < 0)
			return -ENOMEM;
		id = policy->n_leases++;
	}

	lease = &policy->leases[id];
	*lease = (struct lease){
		.params = *params,
		.used = true,
		.is_new = true,
	};
	lease->request = virtual_slice(lease);
	clv_cap_init(&lease->cap, params->cap_ppm, now_ns);
	*ret_lease = id;
	return 0;
}

/* The others' claims on one that is gone, and its claims on them, are nobody's now: the
 * clock follows the mean of the competing, as if it had never been among them. */
static void settle_claims(struct clv_policy *policy, struct lease *lease)
{
	__int128 mean = policy->competing.vtime / policy->competing.weight;
	__int128 claim = (mean - lease->vtime) * lease->params.weight_ppm;

	if (is_runnable(lease))
		sum_subtract(&policy->runnable, lease);
	leave(policy, lease);
	if (claim > 0)
		move_clock(policy, claim);
	else if (policy->competing.weight > 0)
		policy->clock += claim / policy->competing.weight;
}

void clv_policy_remove(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	if (is_in_throttled(policy, id))
		clv_heap_remove(&policy->throttled, id);
	if (lease->queue == QUEUE_NONE)
		write_off(policy, lease->credit);
	else
		settle_claims(policy, lease);

	lease->used = false;
	lease->next_free = policy->first_free;
	policy->first_free = id;
}

static __int128 request_within_slice(const struct lease *lease, __int128 scaled)
{
	__int128 most = scaled_slice(lease);

	return (scaled < most ? scaled : most) / lease->params.weight_ppm;
}

/* Takes the lease out of the sums while its weight changes, and keeps its lag and the
 * rest of its request in device time. */
static void resize(struct clv_policy *policy, struct lease *lease,
	const struct clv_policy_params *params)
{
	bool was_runnable = is_runnable(lease);
	__int128 lag = (policy->clock - lease->vtime) * lease->params.weight_ppm;
	__int128 request = (lease->vdeadline - lease->vtime) * lease->params.weight_ppm;

	if (was_runnable)
		sum_subtract(&policy->runnable, lease);
	sum_subtract(&policy->competing, lease);

	lease->params = *params;
	lease->vtime = policy->clock - lag / params->weight_ppm;
	lease->vdeadline = lease->vtime + request_within_slice(lease, request);

	sum_add(&policy->competing, lease);
	if (was_runnable)
		sum_add(&policy->runnable, lease);
	enqueue(policy, lease, lease->queue);
}

void clv_policy_update(struct clv_policy *policy, uint32_t id,
	const struct clv_policy_params *params, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	assert(params->weight_ppm > 0 && params->weight_ppm <= CLV_PPM);
	release_throttled(policy, now_ns);
	if (lease->queue != QUEUE_NONE) {
		resize(policy, lease, params);
	} else {
		__int128 request = lease->request * lease->params.weight_ppm;

		lease->params = *params;
		lease->request = request_within_slice(lease, request);
		forfeit(policy, lease);
	}
	if (params->cap_ppm != lease->cap.cap_ppm) {
		clv_cap_resize(&lease->cap, params->cap_ppm, now_ns);
		place(policy, id);
	}
}

void clv_policy_wake(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	if (lease->awake)
		return;
	lease->awake = true;
	clv_cap_refill(&lease->cap, now_ns);
	place(policy, id);
}

void clv_policy_sleep(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	if (!lease->awake)
		return;
	lease->awake = false;
	place(policy, id);
}

bool clv_policy_is_awake(const struct clv_policy *policy, uint32_t id)
{
	return lease_of(policy, id)->awake;
}

/* Moves the lease's own virtual time; a request that is served is followed by the next.
 */
static void serve(struct clv_policy *policy, struct lease *lease, __int128 scaled)
{
	__int128 total = scaled + lease->remainder;
	__int128 step = divide(total, lease->params.weight_ppm);
	__int128 moved = step * lease->params.weight_ppm;

	lease->remainder = (uint64_t)(total - moved);
	lease->vtime += step;
	policy->competing.vtime += moved;
	if (is_runnable(lease))
		policy->runnable.vtime += moved;
	if (lease->vtime >= lease->vdeadline)
		lease->vdeadline = lease->vtime + virtual_slice(lease);
}

void clv_policy_charge(
	struct clv_policy *policy, uint32_t id, uint64_t held_ns, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);
	__int128 scaled;

	if (held_ns > MAX_HELD_NS)
		held_ns = MAX_HELD_NS;
	scaled = (__int128)held_ns * CLV_PPM;

	/* Work of one that does not run is paid from its credit; what that does not
	 * cover makes it a debtor, and the clock sends the rest away again. */
	if (lease->queue == QUEUE_NONE) {
		enter(policy, lease);
		enqueue(policy, lease, QUEUE_DEBTOR);
	}
	serve(policy, lease, scaled);
	if (is_runnable(lease))
		enqueue_runnable(policy, lease);
	else
		enqueue(policy, lease, QUEUE_DEBTOR);
	advance_clock(policy, scaled);

	if (lease->params.cap_ppm > 0) {
		clv_cap_charge(&lease->cap, held_ns, now_ns);
		place(policy, id);
	}
}

/* Sorts the top of the two queues by what V is now and returns the winner.  The least
 * virtual time is never above the mean, so there is one while anybody is runnable. */
static struct lease *find_next(struct clv_policy *policy)
{
	struct clv_heap *eligible = &policy->queues[QUEUE_ELIGIBLE];
	struct clv_heap *ineligible = &policy->queues[QUEUE_INELIGIBLE];
	struct lease *lease;

	while (!clv_heap_is_empty(ineligible)) {
		lease = &policy->leases[clv_heap_top(ineligible)->id];
		if (!is_eligible(policy, lease))
			break;
		enqueue(policy, lease, QUEUE_ELIGIBLE);
	}
	for (;;) {
		lease = &policy->leases[clv_heap_top(eligible)->id];
		if (is_eligible(policy, lease))
			return lease;
		enqueue(policy, lease, QUEUE_INELIGIBLE);
	}
}

/* Rounded up: after that much service the virtual time is there, not just short of it. */
static uint64_t scaled_to_ns(__int128 scaled)
{
	return (uint64_t)divide(scaled + CLV_PPM - 1, CLV_PPM);
}

/* How long until the first ineligible lease, if it is of a quicker class and has the
 * earlier deadline, becomes eligible by this lease's own running; else UINT64_MAX. */
static uint64_t quicker_in_ns(const struct clv_policy *policy, const struct lease *lease)
{
	const struct clv_heap *ineligible = &policy->queues[QUEUE_INELIGIBLE];
	const struct lease *next;

	if (clv_heap_is_empty(ineligible))
		return UINT64_MAX;
	next = &policy->leases[clv_heap_top(ineligible)->id];
	if (next->params.class >= lease->params.class ||
		next->vdeadline >= lease->vdeadline)
		return UINT64_MAX;
	return scaled_to_ns(
		next->vtime * policy->runnable.weight - policy->runnable.vtime);
}

/* What is left of its request, or up to when a quicker one has a better claim; but no
 * turn that is not worth handing over, and nothing that a cap does not leave. */
static uint64_t turn_of(const struct clv_policy *policy, const struct lease *lease)
{
	uint64_t quicker_ns = quicker_in_ns(policy, lease);
	uint64_t turn_ns = scaled_to_ns(
		(lease->vdeadline - lease->vtime) * lease->params.weight_ppm);

	if (turn_ns > quicker_ns)
		turn_ns = quicker_ns;
	if (turn_ns < MIN_TURN_NS)
		turn_ns = MIN_TURN_NS;
	if (lease->params.cap_ppm > 0 && turn_ns > (uint64_t)lease->cap.budget_ns)
		turn_ns = (uint64_t)lease->cap.budget_ns;
	return turn_ns;
}

struct clv_policy_decision clv_policy_pick(struct clv_policy *policy, uint64_t now_ns)
{
	struct clv_policy_decision none = {
		.lease = CLV_POLICY_NONE,
		.retry_at_ns = UINT64_MAX,
	};
	struct lease *lease;

	release_throttled(policy, now_ns);
	if (policy->runnable.weight == 0) {
		if (!clv_heap_is_empty(&policy->throttled))
			none.retry_at_ns =
				(uint64_t)clv_heap_top(&policy->throttled)->key;
		return none;
	}

	lease = find_next(policy);
	clv_cap_refill(&lease->cap, now_ns);
	return (struct clv_policy_decision){
		.lease = id_of(policy, lease),
		.slice_ns = turn_of(policy, lease),
		.retry_at_ns = UINT64_MAX,
	};
}

bool clv_policy_preempts(
	struct clv_policy *policy, uint32_t waker, uint32_t holder, uint64_t now_ns)
{
	const struct lease *w = lease_of(policy, waker), *h = lease_of(policy, holder);

	release_throttled(policy, now_ns);
	if (w == h || !is_runnable(w) || !is_eligible(policy, w))
		return false;
	return !is_runnable(h) || w->vdeadline < h->vdeadline;
}

int64_t clv_policy_lag_ns(const struct clv_policy *policy, uint32_t id)
{
	const struct lease *lease = lease_of(policy, id);
	__int128 scaled;

	if (lease->queue == QUEUE_NONE)
		scaled = lease->credit;
	else
		scaled = (policy->clock - lease->vtime) * lease->params.weight_ppm;
	return (int64_t)(scaled / CLV_PPM);
}

bool clv_policy_is_throttled(struct clv_policy *policy, uint32_t id, uint64_t now_ns)
{
	struct lease *lease = lease_of(policy, id);

	release_throttled(policy, now_ns);
	clv_cap_refill(&lease->cap, now_ns);
	return clv_cap_is_overdrawn(&lease->cap);
}
