/* SPDX-License-Identifier: Apache-2.0 */
/* EEVDF over held time.  Two times are kept in exact integers: V, the weighted mean of
 * the runnable leases' virtual times, decides who is eligible, and the clock, which is
 * where V would be if nobody had ever come or gone.  The clock advances by service /
 * (weight of all that compete); lag is kept against it, for were it kept against V, a
 * short sleep of another lease would forgive a debt.
 *
 * A lease competes while it is runnable, and after that, absent, until it has saved up
 * some credit: its part of what the others are served accrues to it
 * as if it had stayed.  So one that uses less than its share comes back with an earlier
 * deadline than whoever is always busy, a debt runs down no sooner by sleeping, and
 * claims never sum up to more than was served, be the shares what they may.  What is
 * outside keeps its savings and the rest of its request.  Why a lease is runnable or not
 * is not known here. */
#include "arbiter/policy/race.h"

#include "base/clock.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>

/* A turn below this costs more in handing over than it is worth. */
#define MIN_TURN_NS (500 * CLV_NS_PER_US)

#define UNRIVALLED_SLICES 4
/* Of a slice; less is not worth a turn. */
#define LEAST_REST_PART 4

#define SAVINGS_NS (2 * CLV_NS_PER_MS)
#define LATENCY_SAVINGS_NS (20 * CLV_NS_PER_MS)

/* Less was lost in rounding off the last turn, or is. */
#define LEAST_DEBT_NS (100 * CLV_NS_PER_US)

/* Thirteen days: more than any kernel holds a device, and far from any overflow. */
#define MAX_HELD_NS (UINT64_C(1) << 50)

/* When credit that those outside keep, or came back with, has left the mean of the
 * competing and the clock apart, the clock runs this part faster or slower until they
 * meet.  Slow against any debt that somebody still waits for, quick against the life of a
 * lease. */
#define DRIFT_PART 256

int clv_race_reserve(struct clv_race *race, uint32_t capacity)
{
	struct clv_runner *runners;

	for (int i = CLV_RACE_OUT + 1; i < _CLV_RACE_QUEUE_MAX; i++) {
		if (clv_heap_reserve(&race->queues[i], capacity) < 0)
			return -ENOMEM;
	}
	runners = realloc(race->runners, capacity * sizeof(*runners));
	if (!runners)
		return -ENOMEM;

	race->runners = runners;
	race->capacity = capacity;
	return 0;
}

void clv_race_done(struct clv_race *race)
{
	for (int i = 0; i < _CLV_RACE_QUEUE_MAX; i++)
		clv_heap_done(&race->queues[i]);
	free(race->runners);
	*race = (struct clv_race){0};
}

static uint32_t id_of(const struct clv_race *race, const struct clv_runner *runner)
{
	return (uint32_t)(runner - race->runners);
}

/* Most dividends fit a machine word, where division costs a tenth. */
static __int128 divide(__int128 dividend, uint64_t divisor)
{
	if (dividend >= 0 && dividend <= UINT64_MAX)
		return (uint64_t)dividend / divisor;
	return dividend / (__int128)divisor;
}

uint64_t clv_race_slice_ns(enum clv_class class)
{
	switch (class) {
	case CLV_CLASS_LATENCY:
		return 1 * CLV_NS_PER_MS;
	case CLV_CLASS_BATCH:
		return 16 * CLV_NS_PER_MS;
	default:
		return 8 * CLV_NS_PER_MS;
	}
}

uint64_t clv_race_request_ns(const struct clv_race *race, enum clv_class class)
{
	uint64_t slice_ns = clv_race_slice_ns(class);

	if (race->stretch_percent > 100 && class != CLV_CLASS_LATENCY)
		slice_ns = slice_ns / 100 * race->stretch_percent;
	return slice_ns;
}

static __int128 scaled_slice(const struct clv_race *race, const struct clv_runner *runner)
{
	return (__int128)clv_race_request_ns(race, runner->class) * CLV_PPM;
}

static __int128 virtual_slice(
	const struct clv_race *race, const struct clv_runner *runner)
{
	return divide(scaled_slice(race, runner), runner->weight_ppm);
}

/* What a lease may save up asleep: its part of 2 ms.  What all sleepers together may then
 * claim of one that used their time is 2 ms at most, however many they are.  The latency
 * class may save enough for a request of 20 ms as a whole, whatever its share: in a
 * second it gets two points more at most. */
static __int128 scaled_savings(const struct clv_runner *runner)
{
	if (runner->is_gone)
		return 0;
	if (runner->class == CLV_CLASS_LATENCY)
		return (__int128)LATENCY_SAVINGS_NS * CLV_PPM;
	return (__int128)SAVINGS_NS * runner->weight_ppm;
}

static __int128 virtual_savings(const struct clv_runner *runner)
{
	return divide(scaled_savings(runner), runner->weight_ppm);
}

static bool is_runnable(const struct clv_runner *runner)
{
	return runner->queue == CLV_RACE_ELIGIBLE || runner->queue == CLV_RACE_INELIGIBLE;
}

/* vtime <= V, without the division. */
static bool is_eligible(const struct clv_race *race, const struct clv_runner *runner)
{
	return runner->vtime * race->runnable.weight <= race->runnable.vtime;
}

static void sum_add(struct clv_race_sum *sum, const struct clv_runner *runner)
{
	sum->vtime += runner->vtime * runner->weight_ppm;
	sum->weight += runner->weight_ppm;
}

static void sum_subtract(struct clv_race_sum *sum, const struct clv_runner *runner)
{
	sum->vtime -= runner->vtime * runner->weight_ppm;
	sum->weight -= runner->weight_ppm;
}

static void begin_to_compete(struct clv_race *race, const struct clv_runner *runner)
{
	sum_add(&race->competing, runner);
	if (runner->carries)
		sum_add(&race->carrying, runner);
}

static void cease_to_compete(struct clv_race *race, const struct clv_runner *runner)
{
	sum_subtract(&race->competing, runner);
	if (runner->carries)
		sum_subtract(&race->carrying, runner);
}

static void set_carries(struct clv_race *race, struct clv_runner *runner, bool carries)
{
	cease_to_compete(race, runner);
	runner->carries = carries;
	begin_to_compete(race, runner);
}

/* Puts a lease that competes into the queue where it belongs, or corrects its place. */
static void enqueue(
	struct clv_race *race, struct clv_runner *runner, enum clv_race_queue queue)
{
	__int128 key = runner->vtime;
	uint32_t id = id_of(race, runner);

	if (queue == CLV_RACE_ELIGIBLE)
		key = runner->vdeadline;
	else if (queue == CLV_RACE_ABSENT)
		key = runner->vtime + virtual_savings(runner);
	if (runner->queue == queue) {
		clv_heap_update(&race->queues[queue], id, key);
		return;
	}
	if (runner->queue != CLV_RACE_OUT)
		clv_heap_remove(&race->queues[runner->queue], id);
	clv_heap_push(&race->queues[queue], id, key);
	runner->queue = queue;
}

static void enqueue_runnable(struct clv_race *race, struct clv_runner *runner)
{
	enqueue(race, runner,
		is_eligible(race, runner) ? CLV_RACE_ELIGIBLE : CLV_RACE_INELIGIBLE);
}

static void leave(struct clv_race *race, struct clv_runner *runner)
{
	__int128 behind = race->clock - runner->vtime;

	clv_heap_remove(&race->queues[runner->queue], id_of(race, runner));
	runner->queue = CLV_RACE_OUT;
	runner->credit = behind * runner->weight_ppm;
	runner->request = runner->vdeadline - runner->vtime;
	runner->left_at_served = race->served;
	cease_to_compete(race, runner);
	runner->carries = false;
}

/* Moves the clock by `scaled` service.  An absent lease leaves at the moment when it has
 * its savings, and what is left of the service moves the clock faster. */
static void move_clock(struct clv_race *race, __int128 scaled)
{
	const struct clv_heap *absent = &race->queues[CLV_RACE_ABSENT];

	scaled += race->clock_remainder;
	while (!clv_heap_is_empty(absent)) {
		const struct clv_heap_node *top = clv_heap_top(absent);
		__int128 ahead = top->key - race->clock;

		if (ahead > 0) {
			if (scaled < ahead * race->competing.weight)
				break;
			scaled -= ahead * race->competing.weight;
			race->clock = top->key;
		}
		leave(race, &race->runners[top->id]);
	}
	race->clock_remainder = 0;
	if (race->competing.weight > 0) {
		__int128 step = divide(scaled, race->competing.weight);

		race->clock += step;
		race->clock_remainder = scaled - step * race->competing.weight;
	}
}

/* How far their mean is ahead of the clock, in scaled service: what the competing owe
 * together, to those outside. */
static __int128 common_debt(const struct clv_race *race)
{
	return race->competing.vtime - race->clock * race->competing.weight -
	       race->clock_remainder;
}

/* Of that, what was brought along from leases that ended. */
static __int128 carried_debt(const struct clv_race *race)
{
	return race->carrying.vtime - race->clock * race->carrying.weight;
}

/* How far the clock may run ahead of what is served.  Debts that were brought along and
 * that nobody present has a claim on are no reason for the others to fall behind it. */
static __int128 most_drift(const struct clv_race *race, __int128 scaled)
{
	uint64_t others = race->competing.weight - race->carrying.weight;

	if (race->carrying.weight == 0 || others == 0)
		return divide(scaled, DRIFT_PART);
	return scaled / DRIFT_PART + divide(scaled * race->carrying.weight, others);
}

static void advance_clock(struct clv_race *race, __int128 scaled)
{
	__int128 apart = common_debt(race) - scaled;
	__int128 most = most_drift(race, scaled), least = -divide(scaled, DRIFT_PART);

	if (apart > most)
		apart = most;
	else if (apart < least)
		apart = least;
	move_clock(race, scaled + apart);
}

/* What nobody will ask for any more is no debt to those who compete: the clock goes on as
 * if it had been served, so that they do not find themselves behind all who come back. */
static void write_off(struct clv_race *race, __int128 scaled)
{
	__int128 debt = common_debt(race);

	if (scaled > debt)
		scaled = debt;
	if (scaled > 0)
		move_clock(race, scaled);
}

/* Brings the credit of one that is outside down to this. */
static void keep_credit(struct clv_race *race, struct clv_runner *runner, __int128 most)
{
	__int128 excess = runner->credit - most;

	if (excess <= 0)
		return;
	runner->credit = most;
	write_off(race, excess);
}

/* To a nanosecond, which is what going out and being resized may round off. */
static bool has_savings(const struct clv_runner *runner, __int128 credit)
{
	return credit + CLV_PPM >= scaled_savings(runner);
}

/* More than its savings a lease has only because it stood in line behind somebody's long
 * kernel: that it keeps, but no more than it came with or earned since, or short visits
 * would pile it up. */
static void keep_claim(struct clv_race *race, struct clv_runner *runner)
{
	__int128 earned = (race->clock - runner->came_at_clock) * runner->weight_ppm +
			  scaled_savings(runner);

	keep_credit(
		race, runner, earned > runner->came_with ? earned : runner->came_with);
}

/* One that is not runnable competes on until it has its savings. */
static void be_absent(struct clv_race *race, struct clv_runner *runner)
{
	if (has_savings(runner, (race->clock - runner->vtime) * runner->weight_ppm)) {
		leave(race, runner);
		keep_claim(race, runner);
	} else {
		enqueue(race, runner, CLV_RACE_ABSENT);
	}
}

/* Credit above the savings goes as others are served in its absence: who is back at once
 * has it still, and nobody comes back with old claims. */
static void lose_unused_credit(struct clv_race *race, struct clv_runner *runner)
{
	__int128 left = runner->credit - (race->served - runner->left_at_served);
	__int128 savings = scaled_savings(runner);

	runner->left_at_served = race->served;
	keep_credit(race, runner, left > savings ? left : savings);
}

/* One that never competed starts at the mean of the competing: neither has a claim on the
 * other then.  Where they owe to those outside, it takes over its part of that debt, and
 * the debt is no greater than before, or newcomers could raise it without end.  But what
 * a tenant owes from past leases is left to him alone. */
static void start_new(struct clv_race *race, struct clv_runner *runner)
{
	uint64_t weight =
		race->competing.weight - race->carrying.weight + runner->weight_ppm;
	__int128 debt = common_debt(race) - carried_debt(race), part = 0;

	if (debt > 0)
		part = divide(debt * runner->weight_ppm, weight);
	move_clock(race, part);
	runner->is_new = false;
	runner->vtime = race->clock + divide(part, runner->weight_ppm);
}

/* A lease that was outside competes again, from where the clock is. */
static void enter(struct clv_race *race, struct clv_runner *runner)
{
	if (runner->is_new) {
		start_new(race, runner);
	} else {
		lose_unused_credit(race, runner);
		runner->vtime = race->clock - divide(runner->credit, runner->weight_ppm);
	}
	runner->vdeadline = runner->vtime + runner->request;
	begin_to_compete(race, runner);
}

static void enter_absent(struct clv_race *race, struct clv_runner *runner)
{
	enter(race, runner);
	enqueue(race, runner, CLV_RACE_ABSENT);
}

static void start(struct clv_race *race, struct clv_runner *runner)
{
	if (runner->queue == CLV_RACE_OUT)
		enter(race, runner);
	runner->came_at_clock = race->clock;
	runner->came_with = (race->clock - runner->vtime) * runner->weight_ppm;
	sum_add(&race->runnable, runner);
	enqueue_runnable(race, runner);
}

static void stop(struct clv_race *race, struct clv_runner *runner)
{
	sum_subtract(&race->runnable, runner);
	be_absent(race, runner);
}

void clv_race_set_runnable(struct clv_race *race, uint32_t id, bool runnable)
{
	struct clv_runner *runner = &race->runners[id];

	if (runnable && !is_runnable(runner))
		start(race, runner);
	else if (!runnable && is_runnable(runner))
		stop(race, runner);
}

void clv_race_add(
	struct clv_race *race, uint32_t id, uint32_t weight_ppm, enum clv_class class)
{
	struct clv_runner *runner = &race->runners[id];

	*runner = (struct clv_runner){
		.weight_ppm = weight_ppm,
		.class = class,
		.is_new = true,
	};
	runner->request = virtual_slice(race, runner);
}

/* The others' claims on one that is gone, and its claims on them, are nobody's now: the
 * clock follows the mean of the competing, as if it had never been among them. */
static void settle_claims(struct clv_race *race, struct clv_runner *runner)
{
	__int128 mean = race->competing.vtime / race->competing.weight;
	__int128 claim = (mean - runner->vtime) * runner->weight_ppm;

	if (is_runnable(runner))
		sum_subtract(&race->runnable, runner);
	leave(race, runner);
	if (claim > 0)
		move_clock(race, claim);
	else if (race->competing.weight > 0)
		race->clock += claim / race->competing.weight;
}

void clv_race_remove(struct clv_race *race, uint32_t id)
{
	struct clv_runner *runner = &race->runners[id];

	if (runner->queue == CLV_RACE_OUT)
		write_off(race, runner->credit);
	else
		settle_claims(race, runner);
}

__int128 clv_race_debt(const struct clv_race *race, uint32_t id)
{
	const struct clv_runner *runner = &race->runners[id];
	__int128 debt;

	if (runner->queue == CLV_RACE_OUT)
		return 0;
	debt = (runner->vtime - race->clock) * runner->weight_ppm;
	return debt >= (__int128)LEAST_DEBT_NS * CLV_PPM ? debt : 0;
}

bool clv_race_retire(struct clv_race *race, uint32_t id)
{
	struct clv_runner *runner = &race->runners[id];

	if (clv_race_debt(race, id) == 0) {
		clv_race_remove(race, id);
		return false;
	}
	if (is_runnable(runner))
		sum_subtract(&race->runnable, runner);
	runner->is_gone = true;
	set_carries(race, runner, true);
	enqueue(race, runner, CLV_RACE_ABSENT);
	return true;
}

void clv_race_owe(struct clv_race *race, uint32_t id, __int128 scaled)
{
	struct clv_runner *runner = &race->runners[id];
	bool was_runnable = is_runnable(runner);
	__int128 step = divide(scaled, runner->weight_ppm);

	if (runner->queue == CLV_RACE_OUT) {
		runner->is_new = false;
		runner->left_at_served = race->served;
		enter_absent(race, runner);
	}
	cease_to_compete(race, runner);
	if (was_runnable)
		sum_subtract(&race->runnable, runner);
	runner->vtime += step;
	runner->vdeadline += step;
	runner->carries |= scaled > 0;
	begin_to_compete(race, runner);
	if (was_runnable) {
		sum_add(&race->runnable, runner);
		enqueue_runnable(race, runner);
	} else {
		be_absent(race, runner);
	}
}

void clv_race_move_debt(
	struct clv_race *race, uint32_t from, uint32_t to, __int128 scaled)
{
	clv_race_owe(race, from, -scaled);
	clv_race_owe(race, to, scaled);
}

static __int128 request_within_slice(
	const struct clv_race *race, const struct clv_runner *runner, __int128 scaled)
{
	__int128 most = scaled_slice(race, runner);

	return (scaled < most ? scaled : most) / runner->weight_ppm;
}

/* Takes the lease out of the sums while its weight changes, and keeps its lag and the
 * rest of its request in device time. */
static void resize(struct clv_race *race, struct clv_runner *runner, uint32_t weight_ppm,
	enum clv_class class)
{
	bool was_runnable = is_runnable(runner);
	__int128 lag = (race->clock - runner->vtime) * runner->weight_ppm;
	__int128 request = (runner->vdeadline - runner->vtime) * runner->weight_ppm;

	if (was_runnable)
		sum_subtract(&race->runnable, runner);
	cease_to_compete(race, runner);

	runner->weight_ppm = weight_ppm;
	runner->class = class;
	runner->vtime = race->clock - lag / weight_ppm;
	runner->vdeadline = runner->vtime + request_within_slice(race, runner, request);

	begin_to_compete(race, runner);
	if (was_runnable) {
		sum_add(&race->runnable, runner);
		enqueue(race, runner, runner->queue);
	} else {
		be_absent(race, runner);
	}
}

void clv_race_update(
	struct clv_race *race, uint32_t id, uint32_t weight_ppm, enum clv_class class)
{
	struct clv_runner *runner = &race->runners[id];
	__int128 request;

	if (runner->is_new) {
		clv_race_add(race, id, weight_ppm, class);
		return;
	}
	if (runner->queue != CLV_RACE_OUT) {
		resize(race, runner, weight_ppm, class);
		return;
	}
	/* By the class that it had. */
	lose_unused_credit(race, runner);
	request = runner->request * runner->weight_ppm;
	runner->weight_ppm = weight_ppm;
	runner->class = class;
	runner->request = request_within_slice(race, runner, request);
	if (has_savings(runner, runner->credit))
		keep_claim(race, runner);
	else
		enter_absent(race, runner);
}

/* One request follows the other, a slice of virtual time apart: what a turn overran by,
 * or left because no kernel fitted any more, is part of the next, which keeps its place
 * in the order.  Only where that would leave too little for a turn it starts anew. */
static void next_request(const struct clv_race *race, struct clv_runner *runner)
{
	__int128 slice = virtual_slice(race, runner), least = slice / LEAST_REST_PART;

	if (runner->vdeadline - runner->vtime > least)
		return;
	runner->vdeadline += slice;
	if (runner->vdeadline - runner->vtime <= least)
		runner->vdeadline = runner->vtime + slice;
}

/* Moves the lease's own virtual time. */
static void serve(struct clv_race *race, struct clv_runner *runner, __int128 scaled)
{
	__int128 total = scaled + runner->remainder;
	__int128 step = divide(total, runner->weight_ppm);
	__int128 moved = step * runner->weight_ppm;

	runner->remainder = (uint64_t)(total - moved);
	runner->vtime += step;
	race->competing.vtime += moved;
	if (runner->carries)
		race->carrying.vtime += moved;
	if (is_runnable(runner))
		race->runnable.vtime += moved;
	next_request(race, runner);
	if (runner->carries && runner->vtime <= race->clock)
		set_carries(race, runner, false);
}

void clv_race_charge(struct clv_race *race, uint32_t id, uint64_t held_ns)
{
	struct clv_runner *runner = &race->runners[id];
	__int128 scaled;

	if (held_ns > MAX_HELD_NS)
		held_ns = MAX_HELD_NS;
	scaled = (__int128)held_ns * CLV_PPM;

	/* Work of one that does not run is paid from its credit; what that does not
	 * cover makes it a debtor. */
	if (runner->queue == CLV_RACE_OUT)
		enter_absent(race, runner);
	race->served += scaled;
	serve(race, runner, scaled);
	if (is_runnable(runner))
		enqueue_runnable(race, runner);
	else
		enqueue(race, runner, CLV_RACE_ABSENT);
	advance_clock(race, scaled);
	if (runner->queue == CLV_RACE_ABSENT)
		be_absent(race, runner);
}

/* Sorts the top of the two queues by what V is now and returns the winner.  The least
 * virtual time is never above the mean, so there is one while anybody is runnable. */
uint32_t clv_race_find_next(struct clv_race *race)
{
	struct clv_heap *eligible = &race->queues[CLV_RACE_ELIGIBLE];
	struct clv_heap *ineligible = &race->queues[CLV_RACE_INELIGIBLE];
	struct clv_runner *runner;

	if (race->runnable.weight == 0)
		return CLV_RACE_NONE;
	while (!clv_heap_is_empty(ineligible)) {
		runner = &race->runners[clv_heap_top(ineligible)->id];
		if (!is_eligible(race, runner))
			break;
		enqueue(race, runner, CLV_RACE_ELIGIBLE);
	}
	for (;;) {
		runner = &race->runners[clv_heap_top(eligible)->id];
		if (is_eligible(race, runner))
			return id_of(race, runner);
		enqueue(race, runner, CLV_RACE_INELIGIBLE);
	}
}

/* Rounded up: after that much service the virtual time is there, not just short of it. */
static uint64_t scaled_to_ns(__int128 scaled)
{
	return (uint64_t)divide(scaled + CLV_PPM - 1, CLV_PPM);
}

/* How much service it takes until this one, ineligible now, is eligible. */
static uint64_t eligible_in_ns(const struct clv_race *race, const struct clv_runner *next)
{
	return scaled_to_ns(next->vtime * race->runnable.weight - race->runnable.vtime);
}

/* How long until the first ineligible lease, if it is of a quicker class and has the
 * earlier deadline, becomes eligible by this lease's own running; else UINT64_MAX. */
static uint64_t quicker_in_ns(
	const struct clv_race *race, const struct clv_runner *runner)
{
	const struct clv_heap *ineligible = &race->queues[CLV_RACE_INELIGIBLE];
	const struct clv_runner *next;

	if (clv_heap_is_empty(ineligible))
		return UINT64_MAX;
	next = &race->runners[clv_heap_top(ineligible)->id];
	if (next->class >= runner->class || next->vdeadline >= runner->vdeadline)
		return UINT64_MAX;
	return eligible_in_ns(race, next);
}

/* With nobody else eligible it would win one decision after the other: until somebody is,
 * or for so many slices. */
static uint64_t unrivalled_ns(
	const struct clv_race *race, const struct clv_runner *runner)
{
	const struct clv_heap *ineligible = &race->queues[CLV_RACE_INELIGIBLE];
	uint64_t most_ns = UNRIVALLED_SLICES * clv_race_slice_ns(runner->class);
	uint64_t until_ns;

	if (race->queues[CLV_RACE_ELIGIBLE].n_nodes > 1 || clv_heap_is_empty(ineligible))
		return 0;
	until_ns = eligible_in_ns(race, &race->runners[clv_heap_top(ineligible)->id]);
	return until_ns < most_ns ? until_ns : most_ns;
}

/* What is left of its request, or up to when a quicker one has a better claim; but no
 * turn that is not worth handing over, and no end where it would go on. */
uint64_t clv_race_turn_ns(const struct clv_race *race, uint32_t id)
{
	const struct clv_runner *runner = &race->runners[id];
	uint64_t quicker_ns = quicker_in_ns(race, runner);
	uint64_t unrivalled = unrivalled_ns(race, runner);
	uint64_t turn_ns =
		scaled_to_ns((runner->vdeadline - runner->vtime) * runner->weight_ppm);

	if (turn_ns > quicker_ns)
		turn_ns = quicker_ns;
	if (turn_ns < unrivalled)
		turn_ns = unrivalled;
	return turn_ns > MIN_TURN_NS ? turn_ns : MIN_TURN_NS;
}

bool clv_race_preempts(const struct clv_race *race, uint32_t waker, uint32_t holder)
{
	const struct clv_runner *w = &race->runners[waker], *h = &race->runners[holder];

	if (w == h || !is_runnable(w) || !is_eligible(race, w))
		return false;
	if (!is_runnable(h) || w->vdeadline < h->vdeadline)
		return true;
	/* Who uses less than its share need not wait for one that is ahead of its own. */
	return !is_eligible(race, h) &&
	       has_savings(w, (race->clock - w->vtime) * w->weight_ppm);
}

int64_t clv_race_lag_ns(const struct clv_race *race, uint32_t id)
{
	const struct clv_runner *runner = &race->runners[id];
	__int128 scaled;

	if (runner->queue == CLV_RACE_OUT)
		scaled = runner->credit;
	else
		scaled = (race->clock - runner->vtime) * runner->weight_ppm;
	return (int64_t)(scaled / CLV_PPM);
}
