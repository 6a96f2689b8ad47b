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
#include "arbiter/policy/eevdf.h"

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

int clv_eevdf_reserve(struct clv_eevdf *eevdf, uint32_t capacity)
{
	struct clv_eevdf_entity *entities;

	for (int i = CLV_EEVDF_OUT + 1; i < _CLV_EEVDF_QUEUE_MAX; i++) {
		if (clv_heap_reserve(&eevdf->queues[i], capacity) < 0)
			return -ENOMEM;
	}
	entities = realloc(eevdf->entities, capacity * sizeof(*entities));
	if (!entities)
		return -ENOMEM;

	eevdf->entities = entities;
	eevdf->capacity = capacity;
	return 0;
}

void clv_eevdf_done(struct clv_eevdf *eevdf)
{
	for (int i = 0; i < _CLV_EEVDF_QUEUE_MAX; i++)
		clv_heap_done(&eevdf->queues[i]);
	free(eevdf->entities);
	*eevdf = (struct clv_eevdf){0};
}

static uint32_t id_of(
	const struct clv_eevdf *eevdf, const struct clv_eevdf_entity *entity)
{
	return (uint32_t)(entity - eevdf->entities);
}

/* Most dividends fit a machine word, where division costs a tenth. */
static __int128 divide(__int128 dividend, uint64_t divisor)
{
	if (dividend >= 0 && dividend <= UINT64_MAX)
		return (uint64_t)dividend / divisor;
	return dividend / (__int128)divisor;
}

uint64_t clv_eevdf_slice_ns(enum clv_class class)
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

uint64_t clv_eevdf_request_ns(const struct clv_eevdf *eevdf, enum clv_class class)
{
	uint64_t slice_ns = clv_eevdf_slice_ns(class);

	if (eevdf->stretch_percent > 100 && class != CLV_CLASS_LATENCY)
		slice_ns = slice_ns / 100 * eevdf->stretch_percent;
	return slice_ns;
}

static __int128 scaled_slice(
	const struct clv_eevdf *eevdf, const struct clv_eevdf_entity *entity)
{
	return (__int128)clv_eevdf_request_ns(eevdf, entity->class) * CLV_PPM;
}

static __int128 virtual_slice(
	const struct clv_eevdf *eevdf, const struct clv_eevdf_entity *entity)
{
	return divide(scaled_slice(eevdf, entity), entity->weight_ppm);
}

/* What a lease may save up asleep: its part of 2 ms.  What all sleepers together may then
 * claim of one that used their time is 2 ms at most, however many they are.  The latency
 * class may save enough for a request of 20 ms as a whole, whatever its share: in a
 * second it gets two points more at most. */
static __int128 scaled_savings(const struct clv_eevdf_entity *entity)
{
	if (entity->is_gone)
		return 0;
	if (entity->class == CLV_CLASS_LATENCY)
		return (__int128)LATENCY_SAVINGS_NS * CLV_PPM;
	return (__int128)SAVINGS_NS * entity->weight_ppm;
}

static __int128 virtual_savings(const struct clv_eevdf_entity *entity)
{
	return divide(scaled_savings(entity), entity->weight_ppm);
}

static bool is_runnable(const struct clv_eevdf_entity *entity)
{
	return entity->queue == CLV_EEVDF_ELIGIBLE ||
	       entity->queue == CLV_EEVDF_INELIGIBLE;
}

/* vtime <= V, without the division. */
static bool is_eligible(
	const struct clv_eevdf *eevdf, const struct clv_eevdf_entity *entity)
{
	return entity->vtime * eevdf->runnable.weight <= eevdf->runnable.vtime;
}

static void sum_add(struct clv_eevdf_sum *sum, const struct clv_eevdf_entity *entity)
{
	sum->vtime += entity->vtime * entity->weight_ppm;
	sum->weight += entity->weight_ppm;
}

static void sum_subtract(struct clv_eevdf_sum *sum, const struct clv_eevdf_entity *entity)
{
	sum->vtime -= entity->vtime * entity->weight_ppm;
	sum->weight -= entity->weight_ppm;
}

static void begin_to_compete(
	struct clv_eevdf *eevdf, const struct clv_eevdf_entity *entity)
{
	sum_add(&eevdf->competing, entity);
	if (entity->carries)
		sum_add(&eevdf->carrying, entity);
}

static void cease_to_compete(
	struct clv_eevdf *eevdf, const struct clv_eevdf_entity *entity)
{
	sum_subtract(&eevdf->competing, entity);
	if (entity->carries)
		sum_subtract(&eevdf->carrying, entity);
}

static void set_carries(
	struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity, bool carries)
{
	cease_to_compete(eevdf, entity);
	entity->carries = carries;
	begin_to_compete(eevdf, entity);
}

/* Puts a lease that competes into the queue where it belongs, or corrects its place. */
static void enqueue(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity,
	enum clv_eevdf_queue queue)
{
	__int128 key = entity->vtime;
	uint32_t id = id_of(eevdf, entity);

	if (queue == CLV_EEVDF_ELIGIBLE)
		key = entity->vdeadline;
	else if (queue == CLV_EEVDF_ABSENT)
		key = entity->vtime + virtual_savings(entity);
	if (entity->queue == queue) {
		clv_heap_update(&eevdf->queues[queue], id, key);
		return;
	}
	if (entity->queue != CLV_EEVDF_OUT)
		clv_heap_remove(&eevdf->queues[entity->queue], id);
	clv_heap_push(&eevdf->queues[queue], id, key);
	entity->queue = queue;
}

static void enqueue_runnable(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	enqueue(eevdf, entity,
		is_eligible(eevdf, entity) ? CLV_EEVDF_ELIGIBLE : CLV_EEVDF_INELIGIBLE);
}

static void leave(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	__int128 behind = eevdf->clock - entity->vtime;

	clv_heap_remove(&eevdf->queues[entity->queue], id_of(eevdf, entity));
	entity->queue = CLV_EEVDF_OUT;
	entity->credit = behind * entity->weight_ppm;
	entity->request = entity->vdeadline - entity->vtime;
	entity->left_at_served = eevdf->served;
	cease_to_compete(eevdf, entity);
	entity->carries = false;
}

/* Moves the clock by `scaled` service.  An absent lease leaves at the moment when it has
 * its savings, and what is left of the service moves the clock faster. */
static void move_clock(struct clv_eevdf *eevdf, __int128 scaled)
{
	const struct clv_heap *absent = &eevdf->queues[CLV_EEVDF_ABSENT];

	scaled += eevdf->clock_remainder;
	while (!clv_heap_is_empty(absent)) {
		const struct clv_heap_node *top = clv_heap_top(absent);
		__int128 ahead = top->key - eevdf->clock;

		if (ahead > 0) {
			if (scaled < ahead * eevdf->competing.weight)
				break;
			scaled -= ahead * eevdf->competing.weight;
			eevdf->clock = top->key;
		}
		leave(eevdf, &eevdf->entities[top->id]);
	}
	eevdf->clock_remainder = 0;
	if (eevdf->competing.weight > 0) {
		__int128 step = divide(scaled, eevdf->competing.weight);

		eevdf->clock += step;
		eevdf->clock_remainder = scaled - step * eevdf->competing.weight;
	}
}

/* How far their mean is ahead of the clock, in scaled service: what the competing owe
 * together, to those outside. */
static __int128 common_debt(const struct clv_eevdf *eevdf)
{
	return eevdf->competing.vtime - eevdf->clock * eevdf->competing.weight -
	       eevdf->clock_remainder;
}

/* Of that, what was brought along from leases that ended. */
static __int128 carried_debt(const struct clv_eevdf *eevdf)
{
	return eevdf->carrying.vtime - eevdf->clock * eevdf->carrying.weight;
}

/* How far the clock may run ahead of what is served.  Debts that were brought along and
 * that nobody present has a claim on are no reason for the others to fall behind it. */
static __int128 most_drift(const struct clv_eevdf *eevdf, __int128 scaled)
{
	uint64_t others = eevdf->competing.weight - eevdf->carrying.weight;

	if (eevdf->carrying.weight == 0 || others == 0)
		return divide(scaled, DRIFT_PART);
	return scaled / DRIFT_PART + divide(scaled * eevdf->carrying.weight, others);
}

static void advance_clock(struct clv_eevdf *eevdf, __int128 scaled)
{
	__int128 apart = common_debt(eevdf) - scaled;
	__int128 most = most_drift(eevdf, scaled), least = -divide(scaled, DRIFT_PART);

	if (apart > most)
		apart = most;
	else if (apart < least)
		apart = least;
	move_clock(eevdf, scaled + apart);
}

/* What nobody will ask for any more is no debt to those who compete: the clock goes on as
 * if it had been served, so that they do not find themselves behind all who come back. */
static void write_off(struct clv_eevdf *eevdf, __int128 scaled)
{
	__int128 debt = common_debt(eevdf);

	if (scaled > debt)
		scaled = debt;
	if (scaled > 0)
		move_clock(eevdf, scaled);
}

/* Brings the credit of one that is outside down to this. */
static void keep_credit(
	struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity, __int128 most)
{
	__int128 excess = entity->credit - most;

	if (excess <= 0)
		return;
	entity->credit = most;
	write_off(eevdf, excess);
}

/* To a nanosecond, which is what going out and being resized may round off. */
static bool has_savings(const struct clv_eevdf_entity *entity, __int128 credit)
{
	return credit + CLV_PPM >= scaled_savings(entity);
}

/* More than its savings a lease has only because it stood in line behind somebody's long
 * kernel: that it keeps, but no more than it came with or earned since, or short visits
 * would pile it up. */
static void keep_claim(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	__int128 earned = (eevdf->clock - entity->came_at_clock) * entity->weight_ppm +
			  scaled_savings(entity);

	keep_credit(
		eevdf, entity, earned > entity->came_with ? earned : entity->came_with);
}

/* One that is not runnable competes on until it has its savings. */
static void be_absent(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	if (has_savings(entity, (eevdf->clock - entity->vtime) * entity->weight_ppm)) {
		leave(eevdf, entity);
		keep_claim(eevdf, entity);
	} else {
		enqueue(eevdf, entity, CLV_EEVDF_ABSENT);
	}
}

/* Credit above the savings goes as others are served in its absence: who is back at once
 * has it still, and nobody comes back with old claims. */
static void lose_unused_credit(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	__int128 left = entity->credit - (eevdf->served - entity->left_at_served);
	__int128 savings = scaled_savings(entity);

	entity->left_at_served = eevdf->served;
	keep_credit(eevdf, entity, left > savings ? left : savings);
}

/* One that never competed starts at the mean of the competing: neither has a claim on the
 * other then.  Where they owe to those outside, it takes over its part of that debt, and
 * the debt is no greater than before, or newcomers could raise it without end.  But what
 * a tenant owes from past leases is left to him alone. */
static void start_new(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	uint64_t weight =
		eevdf->competing.weight - eevdf->carrying.weight + entity->weight_ppm;
	__int128 debt = common_debt(eevdf) - carried_debt(eevdf), part = 0;

	if (debt > 0)
		part = divide(debt * entity->weight_ppm, weight);
	move_clock(eevdf, part);
	entity->is_new = false;
	entity->vtime = eevdf->clock + divide(part, entity->weight_ppm);
}

/* A lease that was outside competes again, from where the clock is. */
static void enter(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	if (entity->is_new) {
		start_new(eevdf, entity);
	} else {
		lose_unused_credit(eevdf, entity);
		entity->vtime = eevdf->clock - divide(entity->credit, entity->weight_ppm);
	}
	entity->vdeadline = entity->vtime + entity->request;
	begin_to_compete(eevdf, entity);
}

static void enter_absent(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	enter(eevdf, entity);
	enqueue(eevdf, entity, CLV_EEVDF_ABSENT);
}

static void start(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	if (entity->queue == CLV_EEVDF_OUT)
		enter(eevdf, entity);
	entity->came_at_clock = eevdf->clock;
	entity->came_with = (eevdf->clock - entity->vtime) * entity->weight_ppm;
	sum_add(&eevdf->runnable, entity);
	enqueue_runnable(eevdf, entity);
}

static void stop(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	sum_subtract(&eevdf->runnable, entity);
	be_absent(eevdf, entity);
}

void clv_eevdf_set_runnable(struct clv_eevdf *eevdf, uint32_t id, bool runnable)
{
	struct clv_eevdf_entity *entity = &eevdf->entities[id];

	if (runnable && !is_runnable(entity))
		start(eevdf, entity);
	else if (!runnable && is_runnable(entity))
		stop(eevdf, entity);
}

void clv_eevdf_add(
	struct clv_eevdf *eevdf, uint32_t id, uint32_t weight_ppm, enum clv_class class)
{
	struct clv_eevdf_entity *entity = &eevdf->entities[id];

	*entity = (struct clv_eevdf_entity){
		.weight_ppm = weight_ppm,
		.class = class,
		.is_new = true,
	};
	entity->request = virtual_slice(eevdf, entity);
}

/* The others' claims on one that is gone, and its claims on them, are nobody's now: the
 * clock follows the mean of the competing, as if it had never been among them. */
static void settle_claims(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	__int128 mean = eevdf->competing.vtime / eevdf->competing.weight;
	__int128 claim = (mean - entity->vtime) * entity->weight_ppm;

	if (is_runnable(entity))
		sum_subtract(&eevdf->runnable, entity);
	leave(eevdf, entity);
	if (claim > 0)
		move_clock(eevdf, claim);
	else if (eevdf->competing.weight > 0)
		eevdf->clock += claim / eevdf->competing.weight;
}

void clv_eevdf_remove(struct clv_eevdf *eevdf, uint32_t id)
{
	struct clv_eevdf_entity *entity = &eevdf->entities[id];

	if (entity->queue == CLV_EEVDF_OUT)
		write_off(eevdf, entity->credit);
	else
		settle_claims(eevdf, entity);
}

__int128 clv_eevdf_debt(const struct clv_eevdf *eevdf, uint32_t id)
{
	const struct clv_eevdf_entity *entity = &eevdf->entities[id];
	__int128 debt;

	if (entity->queue == CLV_EEVDF_OUT)
		return 0;
	debt = (entity->vtime - eevdf->clock) * entity->weight_ppm;
	return debt >= (__int128)LEAST_DEBT_NS * CLV_PPM ? debt : 0;
}

bool clv_eevdf_retire(struct clv_eevdf *eevdf, uint32_t id)
{
	struct clv_eevdf_entity *entity = &eevdf->entities[id];

	if (clv_eevdf_debt(eevdf, id) == 0) {
		clv_eevdf_remove(eevdf, id);
		return false;
	}
	if (is_runnable(entity))
		sum_subtract(&eevdf->runnable, entity);
	entity->is_gone = true;
	set_carries(eevdf, entity, true);
	enqueue(eevdf, entity, CLV_EEVDF_ABSENT);
	return true;
}

void clv_eevdf_owe(struct clv_eevdf *eevdf, uint32_t id, __int128 scaled)
{
	struct clv_eevdf_entity *entity = &eevdf->entities[id];
	bool was_runnable = is_runnable(entity);
	__int128 step = divide(scaled, entity->weight_ppm);

	if (entity->queue == CLV_EEVDF_OUT) {
		entity->is_new = false;
		entity->left_at_served = eevdf->served;
		enter_absent(eevdf, entity);
	}
	cease_to_compete(eevdf, entity);
	if (was_runnable)
		sum_subtract(&eevdf->runnable, entity);
	entity->vtime += step;
	entity->vdeadline += step;
	entity->carries |= scaled > 0;
	begin_to_compete(eevdf, entity);
	if (was_runnable) {
		sum_add(&eevdf->runnable, entity);
		enqueue_runnable(eevdf, entity);
	} else {
		be_absent(eevdf, entity);
	}
}

void clv_eevdf_move_debt(
	struct clv_eevdf *eevdf, uint32_t from, uint32_t to, __int128 scaled)
{
	clv_eevdf_owe(eevdf, from, -scaled);
	clv_eevdf_owe(eevdf, to, scaled);
}

static __int128 request_within_slice(const struct clv_eevdf *eevdf,
	const struct clv_eevdf_entity *entity, __int128 scaled)
{
	__int128 most = scaled_slice(eevdf, entity);

	return (scaled < most ? scaled : most) / entity->weight_ppm;
}

/* Takes the lease out of the sums while its weight changes, and keeps its lag and the
 * rest of its request in device time. */
static void resize(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity,
	uint32_t weight_ppm, enum clv_class class)
{
	bool was_runnable = is_runnable(entity);
	__int128 lag = (eevdf->clock - entity->vtime) * entity->weight_ppm;
	__int128 request = (entity->vdeadline - entity->vtime) * entity->weight_ppm;

	if (was_runnable)
		sum_subtract(&eevdf->runnable, entity);
	cease_to_compete(eevdf, entity);

	entity->weight_ppm = weight_ppm;
	entity->class = class;
	entity->vtime = eevdf->clock - lag / weight_ppm;
	entity->vdeadline = entity->vtime + request_within_slice(eevdf, entity, request);

	begin_to_compete(eevdf, entity);
	if (was_runnable) {
		sum_add(&eevdf->runnable, entity);
		enqueue(eevdf, entity, entity->queue);
	} else {
		be_absent(eevdf, entity);
	}
}

void clv_eevdf_update(
	struct clv_eevdf *eevdf, uint32_t id, uint32_t weight_ppm, enum clv_class class)
{
	struct clv_eevdf_entity *entity = &eevdf->entities[id];
	__int128 request;

	if (entity->is_new) {
		clv_eevdf_add(eevdf, id, weight_ppm, class);
		return;
	}
	if (entity->queue != CLV_EEVDF_OUT) {
		resize(eevdf, entity, weight_ppm, class);
		return;
	}
	/* By the class that it had. */
	lose_unused_credit(eevdf, entity);
	request = entity->request * entity->weight_ppm;
	entity->weight_ppm = weight_ppm;
	entity->class = class;
	entity->request = request_within_slice(eevdf, entity, request);
	if (has_savings(entity, entity->credit))
		keep_claim(eevdf, entity);
	else
		enter_absent(eevdf, entity);
}

/* One request follows the other, a slice of virtual time apart: what a turn overran by,
 * or left because no kernel fitted any more, is part of the next, which keeps its place
 * in the order.  Only where that would leave too little for a turn it starts anew. */
static void next_request(const struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	__int128 slice = virtual_slice(eevdf, entity), least = slice / LEAST_REST_PART;

	if (entity->vdeadline - entity->vtime > least)
		return;
	entity->vdeadline += slice;
	if (entity->vdeadline - entity->vtime <= least)
		entity->vdeadline = entity->vtime + slice;
}

/* Moves the lease's own virtual time. */
static void serve(
	struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity, __int128 scaled)
{
	__int128 total = scaled + entity->remainder;
	__int128 step = divide(total, entity->weight_ppm);
	__int128 moved = step * entity->weight_ppm;

	entity->remainder = (uint64_t)(total - moved);
	entity->vtime += step;
	eevdf->competing.vtime += moved;
	if (entity->carries)
		eevdf->carrying.vtime += moved;
	if (is_runnable(entity))
		eevdf->runnable.vtime += moved;
	next_request(eevdf, entity);
	if (entity->carries && entity->vtime <= eevdf->clock)
		set_carries(eevdf, entity, false);
}

void clv_eevdf_charge(struct clv_eevdf *eevdf, uint32_t id, uint64_t held_ns)
{
	struct clv_eevdf_entity *entity = &eevdf->entities[id];
	__int128 scaled;

	if (held_ns > MAX_HELD_NS)
		held_ns = MAX_HELD_NS;
	scaled = (__int128)held_ns * CLV_PPM;

	/* Work of one that does not run is paid from its credit; what that does not
	 * cover makes it a debtor. */
	if (entity->queue == CLV_EEVDF_OUT)
		enter_absent(eevdf, entity);
	eevdf->served += scaled;
	serve(eevdf, entity, scaled);
	if (is_runnable(entity))
		enqueue_runnable(eevdf, entity);
	else
		enqueue(eevdf, entity, CLV_EEVDF_ABSENT);
	advance_clock(eevdf, scaled);
	if (entity->queue == CLV_EEVDF_ABSENT)
		be_absent(eevdf, entity);
}

/* Sorts the top of the two queues by what V is now and returns the winner.  The least
 * virtual time is never above the mean, so there is one while anybody is runnable. */
uint32_t clv_eevdf_find_next(struct clv_eevdf *eevdf)
{
	struct clv_heap *eligible = &eevdf->queues[CLV_EEVDF_ELIGIBLE];
	struct clv_heap *ineligible = &eevdf->queues[CLV_EEVDF_INELIGIBLE];
	struct clv_eevdf_entity *entity;

	if (eevdf->runnable.weight == 0)
		return CLV_EEVDF_NONE;
	while (!clv_heap_is_empty(ineligible)) {
		entity = &eevdf->entities[clv_heap_top(ineligible)->id];
		if (!is_eligible(eevdf, entity))
			break;
		enqueue(eevdf, entity, CLV_EEVDF_ELIGIBLE);
	}
	for (;;) {
		entity = &eevdf->entities[clv_heap_top(eligible)->id];
		if (is_eligible(eevdf, entity))
			return id_of(eevdf, entity);
		enqueue(eevdf, entity, CLV_EEVDF_INELIGIBLE);
	}
}

/* Rounded up: after that much service the virtual time is there, not just short of it. */
static uint64_t scaled_to_ns(__int128 scaled)
{
	return (uint64_t)divide(scaled + CLV_PPM - 1, CLV_PPM);
}

/* How much service it takes until this one, ineligible now, is eligible. */
static uint64_t eligible_in_ns(
	const struct clv_eevdf *eevdf, const struct clv_eevdf_entity *next)
{
	return scaled_to_ns(next->vtime * eevdf->runnable.weight - eevdf->runnable.vtime);
}

/* How long until the first ineligible lease, if it is of a quicker class and has the
 * earlier deadline, becomes eligible by this lease's own running; else UINT64_MAX. */
static uint64_t quicker_in_ns(
	const struct clv_eevdf *eevdf, const struct clv_eevdf_entity *entity)
{
	const struct clv_heap *ineligible = &eevdf->queues[CLV_EEVDF_INELIGIBLE];
	const struct clv_eevdf_entity *next;

	if (clv_heap_is_empty(ineligible))
		return UINT64_MAX;
	next = &eevdf->entities[clv_heap_top(ineligible)->id];
	if (next->class >= entity->class || next->vdeadline >= entity->vdeadline)
		return UINT64_MAX;
	return eligible_in_ns(eevdf, next);
}

/* With nobody else eligible it would win one decision after the other: until somebody is,
 * or for so many slices. */
static uint64_t unrivalled_ns(
	const struct clv_eevdf *eevdf, const struct clv_eevdf_entity *entity)
{
	const struct clv_heap *ineligible = &eevdf->queues[CLV_EEVDF_INELIGIBLE];
	uint64_t most_ns = UNRIVALLED_SLICES * clv_eevdf_slice_ns(entity->class);
	uint64_t until_ns;

	if (eevdf->queues[CLV_EEVDF_ELIGIBLE].n_nodes > 1 ||
		clv_heap_is_empty(ineligible))
		return 0;
	until_ns = eligible_in_ns(eevdf, &eevdf->entities[clv_heap_top(ineligible)->id]);
	return until_ns < most_ns ? until_ns : most_ns;
}

/* What is left of its request, or up to when a quicker one has a better claim; but no
 * turn that is not worth handing over, and no end where it would go on. */
uint64_t clv_eevdf_turn_ns(const struct clv_eevdf *eevdf, uint32_t id)
{
	const struct clv_eevdf_entity *entity = &eevdf->entities[id];
	uint64_t quicker_ns = quicker_in_ns(eevdf, entity);
	uint64_t unrivalled = unrivalled_ns(eevdf, entity);
	uint64_t turn_ns =
		scaled_to_ns((entity->vdeadline - entity->vtime) * entity->weight_ppm);

	if (turn_ns > quicker_ns)
		turn_ns = quicker_ns;
	if (turn_ns < unrivalled)
		turn_ns = unrivalled;
	return turn_ns > MIN_TURN_NS ? turn_ns : MIN_TURN_NS;
}

bool clv_eevdf_preempts(const struct clv_eevdf *eevdf, uint32_t waker, uint32_t holder)
{
	const struct clv_eevdf_entity *w = &eevdf->entities[waker],
				      *h = &eevdf->entities[holder];

	if (w == h || !is_runnable(w) || !is_eligible(eevdf, w))
		return false;
	if (!is_runnable(h) || w->vdeadline < h->vdeadline)
		return true;
	/* Who uses less than its share need not wait for one that is ahead of its own. */
	return !is_eligible(eevdf, h) &&
	       has_savings(w, (eevdf->clock - w->vtime) * w->weight_ppm);
}

int64_t clv_eevdf_lag_ns(const struct clv_eevdf *eevdf, uint32_t id)
{
	const struct clv_eevdf_entity *entity = &eevdf->entities[id];
	__int128 scaled;

	if (entity->queue == CLV_EEVDF_OUT)
		scaled = entity->credit;
	else
		scaled = (eevdf->clock - entity->vtime) * entity->weight_ppm;
	return (int64_t)(scaled / CLV_PPM);
}
