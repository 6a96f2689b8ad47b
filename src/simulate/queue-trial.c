/* SPDX-License-Identifier: Apache-2.0 */
/* Trials: leases are lifted out of the fleet in some order until a job fits, the fewest
 * of them, and put back.  A lease that is put back in the reverse order gets its own
 * number again. */
#include "simulate/queue-internal.h"

#include "base/cleanup.h"
#include "core/place/place.h"
#include "core/repack/gang.h"
#include "simulate/departures.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The number of leases that are lifted at first. */
#define FIRST_LIFTED 16

static int grow(void *array, size_t n, size_t *room, size_t item_bytes)
{
	void **items = array, *grown;
	size_t more = *room ? 2 * *room : 64;

	if (n < *room)
		return 0;
	grown = reallocarray(*items, more, item_bytes);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*room = more;
	return 0;
}

static int lift(struct clv_queue *queue, uint32_t number)
{
	const struct clv_fleet_lease *lease = &queue->world.fleet->leases[number];

	assert(number < queue->n_holders && queue->holders[number].job);
	if (grow(&queue->lifted, queue->n_lifted, &queue->room_lifted,
		    sizeof(*queue->lifted)) < 0)
		return -ENOMEM;
	queue->lifted[queue->n_lifted++] = (struct clv_queue_lifted){
		.holder = queue->holders[number],
		.at = {.devices = lease->devices,
			.node = lease->node,
			.start = lease->start},
		.lease = number,
		.ends_s = clv_departures_cancel(queue->world.departures, number),
	};
	queue->holders[number].job = NULL;
	clv_fleet_release(queue->world.fleet, number);
	return 0;
}

/* Puts a lease back to its place; -ENOSPC: another one is there now. */
static int put_back(struct clv_queue *queue, const struct clv_queue_lifted *lifted)
{
	struct clv_queue_job *job = lifted->holder.job;
	uint32_t member = lifted->holder.member, lease;
	struct clv_place_request request = job->requests[member];
	int r;

	/* It was there: others that came later are back before it. */
	request.alone_in_class = false;
	request.rule = CLV_PLACE_FREE;
	r = clv_fleet_take(queue->world.fleet, &request, &lifted->at, &lease);
	if (r < 0)
		return r;
	job->leases[member] = lease;
	queue->holders[lease] = lifted->holder;
	if (lifted->ends_s == CLV_DEPARTURES_NEVER)
		return 0;
	if (lease != lifted->lease)
		return clv_departures_add(queue->world.departures, lifted->ends_s, lease);
	clv_departures_restore(queue->world.departures, lease, lifted->ends_s);
	return 0;
}

static int put_back_to(struct clv_queue *queue, size_t n)
{
	int r = 0;

	while (r == 0 && queue->n_lifted > n)
		r = put_back(queue, &queue->lifted[--queue->n_lifted]);
	return r;
}

static int lift_to(struct clv_queue *queue, size_t n)
{
	int r = put_back_to(queue, n);

	while (r == 0 && queue->n_lifted < n)
		r = lift(queue, queue->order[queue->n_lifted]);
	return r;
}

static void unplace(struct clv_queue *queue, const uint32_t *leases, uint32_t n)
{
	while (n > 0)
		clv_fleet_release(queue->world.fleet, leases[--n]);
}

/* Whether the job fits with the first n of the order lifted.  Returns 1, 0 or -ENOMEM. */
static int fits_without(
	struct clv_queue *queue, const struct clv_queue_job *job, size_t n)
{
	int r = lift_to(queue, n);

	if (r < 0)
		return r;
	r = clv_place_gang(queue->world.placer, job->requests, job->n, job->leases);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	unplace(queue, job->leases, job->n);
	return 1;
}

/* Makes the order longer, up to n; fewer if there are no more leases. */
typedef int (*extend_order)(struct clv_queue *queue, void *userdata, size_t n);

/* Lifts the fewest leases, in their order, for which the job fits.  Returns 1; 0: it does
 * not fit without all of them, and none is lifted; -ENOMEM. */
static int lift_fewest(struct clv_queue *queue, const struct clv_queue_job *job,
	extend_order extend, void *userdata)
{
	size_t low = 0, high = FIRST_LIFTED;
	int r;

	queue->n_order = 0;
	for (;; high *= 2) {
		r = extend(queue, userdata, high);
		if (r < 0)
			return r;
		high = queue->n_order < high ? queue->n_order : high;
		r = high > low ? fits_without(queue, job, high) : 0;
		if (r < 0)
			return r;
		if (r > 0)
			break;
		if (high <= low || high < FIRST_LIFTED)
			return put_back_to(queue, 0);
		low = high;
	}
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		r = fits_without(queue, job, middle);
		if (r < 0)
			return r;
		if (r > 0)
			high = middle;
		else
			low = middle;
	}
	r = lift_to(queue, high);
	return r < 0 ? r : 1;
}

static int add_to_order(struct clv_queue *queue, uint32_t lease)
{
	if (grow(&queue->order, queue->n_order, &queue->room_order,
		    sizeof(*queue->order)) < 0)
		return -ENOMEM;
	queue->order[queue->n_order++] = lease;
	return 0;
}

/* By their ends, from a copy of the heap. */
static int extend_by_ends(struct clv_queue *queue, void *userdata, size_t n)
{
	struct clv_departures *copy = userdata;
	struct clv_departure departure;

	while (queue->n_order < n &&
		clv_departures_take(copy, INT64_MAX - 1, &departure)) {
		if (add_to_order(queue, departure.lease) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int keep_reservation(
	struct clv_queue *queue, const struct clv_queue_job *job, int64_t at_s)
{
	uint32_t *nodes = reallocarray(queue->reserved_nodes, job->n, sizeof(*nodes));
	int r;

	if (!nodes)
		return -ENOMEM;
	queue->reserved_nodes = nodes;
	r = clv_place_gang(queue->world.placer, job->requests, job->n, job->leases);
	if (r < 0) /* A policy that draws at random may fail now. */
		return r == -ENOMEM ? r : 0;
	queue->n_reserved = job->n;
	queue->reserved_s = at_s;
	for (uint32_t i = 0; i < job->n; i++)
		nodes[i] = queue->world.fleet->leases[job->leases[i]].node;
	unplace(queue, job->leases, job->n);
	return 0;
}

int clv_queue_reserve(struct clv_queue *queue, const struct clv_queue_job *job)
{
	struct clv_departures copy = {0};
	int r = clv_departures_copy(queue->world.departures, &copy);

	queue->reserved_for = job->number;
	queue->reserved_s = INT64_MAX;
	queue->n_reserved = 0;
	if (r == 0)
		r = lift_fewest(queue, job, extend_by_ends, &copy);
	if (r > 0)
		r = keep_reservation(
			queue, job, queue->lifted[queue->n_lifted - 1].ends_s);
	clv_departures_done(&copy);
	if (r < 0)
		return r;
	return put_back_to(queue, 0);
}

struct lower {
	uint32_t priority;
};

static int compare_lower(const void *a, const void *b, void *userdata)
{
	const struct clv_queue *queue = userdata;
	const struct clv_queue_job *one = queue->holders[*(const uint32_t *)a].job;
	const struct clv_queue_job *other = queue->holders[*(const uint32_t *)b].job;

	if (one->priority != other->priority)
		return one->priority < other->priority ? -1 : 1;
	if (one->started_s != other->started_s)
		return one->started_s > other->started_s ? -1 : 1;
	return one->number > other->number ? -1 : one->number < other->number;
}

/* All leases of lower priority at once. */
static int extend_by_priority(struct clv_queue *queue, void *userdata, size_t n)
{
	const struct lower *lower = userdata;

	(void)n;
	if (queue->n_order > 0)
		return 0;
	for (uint32_t i = 0; i < queue->n_holders; i++) {
		const struct clv_queue_job *job = queue->holders[i].job;

		if (job && job->priority < lower->priority && add_to_order(queue, i) < 0)
			return -ENOMEM;
	}
	if (queue->n_order > 0)
		qsort_r(queue->order, queue->n_order, sizeof(*queue->order),
			compare_lower, queue);
	return 0;
}

/* Where the job would go with the lifted leases gone; these are then put back. */
static int find_places(
	struct clv_queue *queue, struct clv_queue_job *job, struct clv_place_at *ret)
{
	const struct clv_fleet *fleet = queue->world.fleet;
	int r = clv_place_gang(queue->world.placer, job->requests, job->n, job->leases);

	for (uint32_t i = 0; r == 0 && i < job->n; i++) {
		const struct clv_fleet_lease *lease = &fleet->leases[job->leases[i]];

		ret[i] = (struct clv_place_at){.devices = lease->devices,
			.node = lease->node,
			.start = lease->start};
	}
	if (r == 0)
		unplace(queue, job->leases, job->n);
	if (put_back_to(queue, 0) < 0)
		return -ENOMEM;
	return r;
}

static bool is_on(const struct clv_place_at *places, uint32_t n, uint32_t node)
{
	for (uint32_t i = 0; i < n; i++) {
		if (places[i].node == node)
			return true;
	}
	return false;
}

/* Lifts those of the first n_order leases that are on the nodes of the places, and takes
 * the places for the job. */
static int take_places(struct clv_queue *queue, struct clv_queue_job *job,
	const struct clv_place_at *places, size_t n_order)
{
	struct clv_fleet *fleet = queue->world.fleet;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n_order; i++) {
		if (is_on(places, job->n, fleet->leases[queue->order[i]].node))
			r = lift(queue, queue->order[i]);
	}
	for (uint32_t i = 0; r == 0 && i < job->n; i++)
		r = clv_fleet_take(fleet, &job->requests[i], &places[i], &job->leases[i]);
	return r;
}

/* Ends what is left of a job, unless that was done before. */
static int end_job(struct clv_queue *queue, struct clv_queue_job *job,
	int (*ended)(struct clv_queue *queue, struct clv_queue_job *job))
{
	if (job->n_running == 0)
		return 0;
	for (uint32_t i = 0; i < job->n; i++) {
		uint32_t lease = job->leases[i];

		if (lease == CLV_FLEET_NONE)
			continue;
		clv_departures_cancel(queue->world.departures, lease);
		queue->holders[lease].job = NULL;
		clv_fleet_release(queue->world.fleet, lease);
	}
	job->n_running = 0;
	return ended(queue, job);
}

/* Puts back the lifted leases that still have room, and ends the jobs of the others. */
static int end_displaced(struct clv_queue *queue,
	int (*ended)(struct clv_queue *queue, struct clv_queue_job *job))
{
	size_t n = queue->n_lifted, n_displaced = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		queue->lifted[i].holder.job->leases[queue->lifted[i].holder.member] =
			CLV_FLEET_NONE;
	queue->n_lifted = 0;
	for (size_t i = n; r == 0 && i-- > 0;) {
		r = put_back(queue, &queue->lifted[i]);
		if (r == -ENOSPC) {
			queue->lifted[n - ++n_displaced] = queue->lifted[i];
			r = 0;
		}
	}
	for (size_t i = n - n_displaced; r == 0 && i < n; i++)
		r = end_job(queue, queue->lifted[i].holder.job, ended);
	return r;
}

int clv_queue_preempt(struct clv_queue *queue, struct clv_queue_job *job,
	int (*ended)(struct clv_queue *queue, struct clv_queue_job *job))
{
	struct lower lower = {.priority = job->priority};
	_cleanup_free_ struct clv_place_at *places = NULL;
	size_t n_order;
	int r = lift_fewest(queue, job, extend_by_priority, &lower);

	if (r <= 0)
		return r < 0 ? r : -ENOSPC;
	n_order = queue->n_lifted;
	places = calloc(job->n, sizeof(*places));
	r = places ? find_places(queue, job, places) : -ENOMEM;
	if (r == 0)
		r = take_places(queue, job, places, n_order);
	return r < 0 ? r : end_displaced(queue, ended);
}
