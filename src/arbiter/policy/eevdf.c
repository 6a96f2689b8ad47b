/* SPDX-License-Identifier: Apache-2.0 */
/* EEVDF over held time.  Two virtual times are kept in exact integers.  V, the weighted
 * mean of the runnable leases' virtual times, decides which are eligible.  The clock is
 * where V would be if no lease had ever joined or left.  The clock advances by service /
 * (weight of all that compete); lag is kept against it, because against V a short sleep
 * of another lease would forgive a debt.
 *
 * A lease competes while it is runnable, and after that, absent, until it has its
 * savings: its part of what the others are served accrues to it as if it had stayed.  So
 * a lease that uses less than its share returns with an earlier deadline than any that is
 * always busy, a debt declines no sooner by sleeping, and claims never sum up to more
 * than was served, whatever the shares.  A lease that is out keeps its savings and the
 * rest of its request.  This file does not know why a lease is runnable. */
#include "arbiter/policy/eevdf.h"

#include "base/clock.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>

/* A shorter turn is not worth the cost of its hand-over. */
#define MIN_TURN_NS (500 * CLV_NS_PER_US)

/* The longest turn, in slices, while no other lease is eligible. */
#define UNRIVALLED_SLICES 4
/* The least rest of a request that is worth a turn: this part of a slice. */
#define LEAST_REST_PART 4

#define SAVINGS_NS (2 * CLV_NS_PER_MS)
#define LATENCY_SAVINGS_NS (20 * CLV_NS_PER_MS)

/* A smaller debt may be a rounding error of the last turn, and is ignored. */
#define LEAST_DEBT_NS (100 * CLV_NS_PER_US)

/* Thirteen days: more than any kernel holds a device, and far from any overflow. */
#define MAX_HELD_NS (UINT64_C(1) << 50)

/* Credit that leases keep while out, or came back with, makes the mean of the competing
 * leases and the clock diverge.  The clock then runs slower or faster by this part until
 * they meet: slowly compared to any debt that another lease still waits for, quickly
 * compared to the life of a lease. */
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

/* Most dividends fit a machine word, where a division costs a tenth. */
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

/* What a sleeping lease may save: its part of 2 ms, so all sleepers together can claim 2
 * ms at most from one that used their time, however many they are.  A lease of the
 * latency class may save a request of 20 ms whatever its share: over a second that gives
 * it two points more at most. */
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

/* Puts a competing lease into the queue, or updates its key there. */
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
 * its savings, and the rest of the service then moves the clock faster. */
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

/* How far the mean of the competing leases is ahead of the clock, in scaled service:
 * their common debt to leases that are out. */
static __int128 common_debt(const struct clv_eevdf *eevdf)
{
	return eevdf->competing.vtime - eevdf->clock * eevdf->competing.weight -
	       eevdf->clock_remainder;
}

/* The part of it that was carried over from leases that ended. */
static __int128 carried_debt(const struct clv_eevdf *eevdf)
{
	return eevdf->carrying.vtime - eevdf->clock * eevdf->carrying.weight;
}

/* How far the clock may run ahead of what is served.  Carried debts without a present
 * creditor must not make the other leases fall behind the clock. */
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

/* Credit that is given up is no longer a debt of the competing leases: the clock moves as
 * if it had been served, so that they are not behind all leases that return. */
static void write_off(struct clv_eevdf *eevdf, __int128 scaled)
{
	__int128 debt = common_debt(eevdf);

	if (scaled > debt)
		scaled = debt;
	if (scaled > 0)
		move_clock(eevdf, scaled);
}

/* Limits the credit of a lease that is out. */
static void keep_credit(
	struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity, __int128 most)
{
	__int128 excess = entity->credit - most;

	if (excess <= 0)
		return;
	entity->credit = most;
	write_off(eevdf, excess);
}

/* With a tolerance of a nanosecond, which leaving and resizing may round off. */
static bool has_savings(const struct clv_eevdf_entity *entity, __int128 credit)
{
	return credit + CLV_PPM >= scaled_savings(entity);
}

/* A lease has more than its savings only because it waited in line behind another's long
 * kernel.  It keeps that credit, but no more than it came with or earned since: otherwise
 * short visits would accumulate it. */
static void keep_claim(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	__int128 earned = (eevdf->clock - entity->came_at_clock) * entity->weight_ppm +
			  scaled_savings(entity);

	keep_credit(
		eevdf, entity, earned > entity->came_with ? earned : entity->came_with);
}

/* A lease that is not runnable continues to compete until it has its savings. */
static void make_absent(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	if (has_savings(entity, (eevdf->clock - entity->vtime) * entity->weight_ppm)) {
		leave(eevdf, entity);
		keep_claim(eevdf, entity);
	} else {
		enqueue(eevdf, entity, CLV_EEVDF_ABSENT);
	}
}

/* Credit above the savings declines by what others are served in the lease's absence: a
 * lease that returns at once still has it, and none returns with an old claim. */
static void lose_unused_credit(struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	__int128 left = entity->credit - (eevdf->served - entity->left_at_served);
	__int128 savings = scaled_savings(entity);

	entity->left_at_served = eevdf->served;
	keep_credit(eevdf, entity, left > savings ? left : savings);
}

/* A lease that never competed starts at the mean of the competing: then neither has a
 * claim on the other.  If these are in debt to leases that are out, it takes over its
 * part of that debt and the total stays the same, or newcomers could raise it without
 * limit.  Carried debts are left to the tenants that they came from. */
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

/* A lease that was out competes again, at the present clock. */
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
	make_absent(eevdf, entity);
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

/* Cancels the claims between a removed lease and the others: the clock follows the mean
 * of the competing, as if the lease had never been among them. */
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

void clv_eevdf_add_debt(struct clv_eevdf *eevdf, uint32_t id, __int128 scaled)
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
		make_absent(eevdf, entity);
	}
}

void clv_eevdf_move_debt(
	struct clv_eevdf *eevdf, uint32_t from, uint32_t to, __int128 scaled)
{
	clv_eevdf_add_debt(eevdf, from, -scaled);
	clv_eevdf_add_debt(eevdf, to, scaled);
}

static __int128 request_within_slice(const struct clv_eevdf *eevdf,
	const struct clv_eevdf_entity *entity, __int128 scaled)
{
	__int128 most = scaled_slice(eevdf, entity);

	return (scaled < most ? scaled : most) / entity->weight_ppm;
}

/* A request that is longer than those of others leaves the lease waiting while each of
 * them has two turns. */
void clv_eevdf_shorten_request(struct clv_eevdf *eevdf, uint32_t id)
{
	struct clv_eevdf_entity *entity = &eevdf->entities[id];
	__int128 slice = virtual_slice(eevdf, entity);
	__int128 most = slice + slice / LEAST_REST_PART;

	if (entity->queue == CLV_EEVDF_OUT) {
		if (entity->request > most)
			entity->request = slice;
	} else if (entity->vdeadline - entity->vtime > most) {
		entity->vdeadline = entity->vtime + slice;
		if (is_runnable(entity))
			enqueue_runnable(eevdf, entity);
	}
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
		make_absent(eevdf, entity);
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
	/* Uses the old class and weight. */
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

/* Requests follow each other one slice of virtual time apart: what a turn overran by, or
 * left unused because no kernel fitted any more, is part of the next request, whose place
 * in the order does not change.  Only where that would leave too little for a turn the
 * request starts from the present virtual time. */
static void next_request(const struct clv_eevdf *eevdf, struct clv_eevdf_entity *entity)
{
	__int128 slice = virtual_slice(eevdf, entity), least = slice / LEAST_REST_PART;

	if (entity->vdeadline - entity->vtime > least)
		return;
	entity->vdeadline += slice;
	if (entity->vdeadline - entity->vtime <= least)
		entity->vdeadline = entity->vtime + slice;
}

/* Advances the lease's own virtual time, and the sums. */
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

	/* Work of a lease that is not runnable is paid from its credit; the rest becomes
	 * a debt. */
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
		make_absent(eevdf, entity);
}

/* Moves the tops of the two queues to where they belong at the present V, and returns the
 * winner.  The least virtual time is never above the mean, so an eligible lease exists
 * while any is runnable. */
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

/* Rounded up: after that much service the virtual time is reached, not just missed. */
static uint64_t scaled_to_ns(__int128 scaled)
{
	return (uint64_t)divide(scaled + CLV_PPM - 1, CLV_PPM);
}

/* How much service it takes until this ineligible lease is eligible. */
static uint64_t eligible_in_ns(
	const struct clv_eevdf *eevdf, const struct clv_eevdf_entity *next)
{
	return scaled_to_ns(next->vtime * eevdf->runnable.weight - eevdf->runnable.vtime);
}

/* How long until the first ineligible lease becomes eligible by this lease's running, if
 * it is of a quicker class and has the earlier deadline; else UINT64_MAX. */
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

/* While no other lease is eligible this one would win every decision: until another
 * becomes eligible, and for UNRIVALLED_SLICES at most. */
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

/* The rest of the lease's request, or until a quicker lease has the better claim; at
 * least a turn that is worth its hand-over, and not shorter than the lease would win
 * anyway. */
uint64_t clv_eevdf_turn_ns(const struct clv_eevdf *eevdf, uint32_t id)
{
	const struct clv_eevdf_entity *entity = &eevdf->entities[id];
	uint64_t quicker_ns = quicker_in_ns(eevdf, entity);
	uint64_t unrivalled = unrivalled_ns(eevdf, entity);
	uint64_t request_ns = clv_eevdf_request_ns(eevdf, entity->class);
	uint64_t most_ns = request_ns + request_ns / LEAST_REST_PART;
	uint64_t turn_ns =
		scaled_to_ns((entity->vdeadline - entity->vtime) * entity->weight_ppm);

	/* The request may be from a time of longer ones. */
	if (turn_ns > most_ns)
		turn_ns = most_ns;
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
	/* A lease that uses less than its share need not wait for one that is ahead of
	 * its own. */
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
