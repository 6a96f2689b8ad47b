/* SPDX-License-Identifier: Apache-2.0 */
/* The line of jobs: arrivals, starts, ends. */
#include "simulate/queue.h"

#include "core/place/place.h"
#include "core/repack/gang.h"
#include "simulate/busy.h"
#include "simulate/departures.h"
#include "simulate/queue-internal.h"
#include "simulate/trace.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Jobs behind the first one that are examined for backfill, as schedulers bound it. */
#define BACKFILL_DEPTH 1000
/* Shapes of requests that are remembered as not fitting during one look at the line. */
#define SHAPES_MAX 64

const char *const clv_queue_orders[_CLV_QUEUE_MAX] = {
	[CLV_QUEUE_NONE] = "none",
	[CLV_QUEUE_FIFO] = "fifo",
	[CLV_QUEUE_BACKFILL] = "backfill",
	[CLV_QUEUE_PRIORITY] = "priority",
};

struct clv_queue *clv_queue_new(
	const struct clv_queue_world *world, const struct clv_queue_options *options)
{
	struct clv_queue *queue = calloc(1, sizeof(*queue));

	assert(options->order > CLV_QUEUE_NONE && options->order < _CLV_QUEUE_MAX);
	if (!queue)
		return NULL;
	queue->world = *world;
	queue->options = *options;
	queue->reserved_for = UINT64_MAX;
	return queue;
}

static void free_job(struct clv_queue_job *job)
{
	free(job->requests);
	free(job->leases);
	free(job);
}

struct clv_queue *clv_queue_free(struct clv_queue *queue)
{
	if (!queue)
		return NULL;
	for (struct clv_queue_job *job = queue->first, *next; job; job = next) {
		next = job->next;
		free_job(job);
	}
	/* A job is freed by the last of its leases. */
	for (uint32_t i = 0; i < queue->n_holders; i++) {
		struct clv_queue_job *job = queue->holders[i].job;

		if (job && --job->n_running == 0)
			free_job(job);
	}
	free(queue->holders);
	free(queue->lifted);
	free(queue->order);
	free(queue->reserved_nodes);
	free(queue->waits.values);
	free(queue->completions.values);
	free(queue);
	return NULL;
}

static int add_sample(struct clv_queue_samples *samples, int64_t value)
{
	if (samples->n == samples->room) {
		size_t room = samples->room ? 2 * samples->room : 1024;
		int64_t *grown = reallocarray(samples->values, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		samples->values = grown;
		samples->room = room;
	}
	samples->values[samples->n++] = value;
	return 0;
}

/* --- the line --- */

static bool is_before(const struct clv_queue *queue, const struct clv_queue_job *one,
	const struct clv_queue_job *other)
{
	if (queue->options.order == CLV_QUEUE_PRIORITY &&
		one->priority != other->priority)
		return one->priority > other->priority;
	return one->number < other->number;
}

static void put_in_line(struct clv_queue *queue, struct clv_queue_job *job)
{
	struct clv_queue_job *after = queue->last;

	while (after && is_before(queue, job, after))
		after = after->previous;
	job->previous = after;
	job->next = after ? after->next : queue->first;
	*(after ? &after->next : &queue->first) = job;
	*(job->next ? &job->next->previous : &queue->last) = job;
}

static void take_from_line(struct clv_queue *queue, struct clv_queue_job *job)
{
	*(job->previous ? &job->previous->next : &queue->first) = job->next;
	*(job->next ? &job->next->previous : &queue->last) = job->previous;
	job->next = job->previous = NULL;
}

/* --- starts --- */

static int grow_holders(struct clv_queue *queue, uint32_t lease)
{
	uint32_t n = queue->n_holders ? queue->n_holders : 256;
	struct clv_queue_holder *grown;

	if (lease < queue->n_holders)
		return 0;
	while (n <= lease)
		n += n / 2;
	grown = reallocarray(queue->holders, n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + queue->n_holders, 0, (n - queue->n_holders) * sizeof(*grown));
	queue->holders = grown;
	queue->n_holders = n;
	return 0;
}

/* How long the job stays on the leases that were taken for it: its slowest devices hold
 * up the others. */
static int64_t stay_of(const struct clv_queue *queue, const struct clv_queue_job *job)
{
	return clv_fleet_time_at(job->stays_s,
		clv_fleet_speed_of(queue->world.fleet, job->leases, job->n));
}

/* Lets a job hold the leases that were taken for it. */
static int hold(struct clv_queue *queue, struct clv_queue_job *job)
{
	int64_t now_s = queue->world.busy->now_s;
	int64_t stays_s = stay_of(queue, job);
	bool ends = stays_s < CLV_TRACE_FOREVER - now_s;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < job->n; i++) {
		r = grow_holders(queue, job->leases[i]);
		if (r < 0)
			return r;
		queue->holders[job->leases[i]] =
			(struct clv_queue_holder){.job = job, .member = i};
		if (ends)
			r = clv_departures_add(
				queue->world.departures, now_s + stays_s, job->leases[i]);
	}
	job->n_running = job->n;
	job->started_s = now_s;
	return r;
}

/* The places of the job are taken. */
static int begin(struct clv_queue *queue, struct clv_queue_job *job)
{
	struct clv_queue_counts *counts = &queue->counts;
	int r = hold(queue, job);

	if (r < 0 || job->has_started)
		return r;
	job->has_started = true;
	counts->started++;
	counts->gangs_started += job->is_gang;
	counts->gangs_in_one_rack +=
		job->is_gang &&
		clv_gang_is_in_one_rack(queue->world.fleet, job->leases, job->n);
	counts->requests_started += job->n;
	for (uint32_t i = 0; i < job->n; i++)
		counts->milli_started +=
			clv_fleet_request_milli(queue->world.fleet, &job->requests[i]);
	return add_sample(&queue->waits, job->started_s - job->arrived_s);
}

/* Returns 1: it runs; 0: it has no room; -ENOMEM. */
static int try_start(struct clv_queue *queue, struct clv_queue_job *job)
{
	int r = clv_place_gang(queue->world.placer, job->requests, job->n, job->leases);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = begin(queue, job);
	return r < 0 ? r : 1;
}

static void undo_places(struct clv_queue *queue, const struct clv_queue_job *job)
{
	for (uint32_t i = job->n; i-- > 0;)
		clv_fleet_release(queue->world.fleet, job->leases[i]);
}

static bool is_on_reserved(const struct clv_queue *queue, const struct clv_queue_job *job)
{
	for (uint32_t i = 0; i < job->n; i++) {
		uint32_t node = queue->world.fleet->leases[job->leases[i]].node;

		for (size_t k = 0; k < queue->n_reserved; k++) {
			if (queue->reserved_nodes[k] == node)
				return true;
		}
	}
	return false;
}

/* Like try_start(), for a job that must not delay the first one: -EBUSY if it would. */
static int try_backfill(struct clv_queue *queue, struct clv_queue_job *job)
{
	int64_t now_s = queue->world.busy->now_s;
	int r = clv_place_gang(queue->world.placer, job->requests, job->n, job->leases);
	bool is_short;

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	is_short = queue->reserved_s == INT64_MAX ||
		   stay_of(queue, job) <= queue->reserved_s - now_s;
	if (!is_short && is_on_reserved(queue, job)) {
		undo_places(queue, job);
		return -EBUSY;
	}
	r = begin(queue, job);
	return r < 0 ? r : 1;
}

static int start_over(struct clv_queue *queue, struct clv_queue_job *job)
{
	int64_t ran_s = queue->world.busy->now_s - job->started_s;
	uint64_t milli = 0;

	for (uint32_t i = 0; i < job->n; i++)
		milli += clv_fleet_request_milli(queue->world.fleet, &job->requests[i]);
	queue->counts.preempted++;
	queue->counts.lost_device_s += (double)milli / CLV_PLACE_WHOLE * (double)ran_s;
	put_in_line(queue, job);
	return 0;
}

static unsigned counted_as(const struct clv_queue_job *job)
{
	return job->priority < CLV_QUEUE_PRIORITIES ? job->priority
						    : CLV_QUEUE_PRIORITIES - 1;
}

/* Counts the leases of its priority and above that have ended.  A job that does not fit
 * without all of lower priority fits only after one more of these. */
static uint64_t ends_above(const struct clv_queue *queue, const struct clv_queue_job *job)
{
	uint64_t n = 1;

	for (unsigned i = counted_as(job); i < CLV_QUEUE_PRIORITIES; i++)
		n += queue->n_ended[i];
	return n;
}

static int try_preempt(struct clv_queue *queue, struct clv_queue_job *job)
{
	uint64_t n_ends = ends_above(queue, job);
	int r;

	if (job->failed_at == n_ends)
		return 0;
	r = clv_queue_preempt(queue, job, start_over);
	if (r == -ENOSPC)
		job->failed_at = n_ends;
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	r = begin(queue, job);
	return r < 0 ? r : 1;
}

/* --- a look at the line --- */

/* Requests of one shape that did not start: within one look the fleet only becomes
 * fuller. */
struct refused {
	struct clv_place_request request;
	uint32_t n;      /* no more of them fit, nor so many */
	int64_t stays_s; /* nor what stays as long; 0: they have no room */
};

struct look {
	struct refused refused[SHAPES_MAX];
	unsigned n;
};

static bool is_same_shape(
	const struct clv_place_request *one, const struct clv_place_request *other)
{
	return one->models == other->models && one->cpu_milli == other->cpu_milli &&
	       one->memory_mib == other->memory_mib &&
	       one->device_mib == other->device_mib && one->milli == other->milli &&
	       one->n_devices == other->n_devices && one->scheme == other->scheme &&
	       one->profile == other->profile && one->class == other->class &&
	       one->same_numa == other->same_numa && one->same_link == other->same_link &&
	       one->alone_in_class == other->alone_in_class;
}

static bool is_own_group(uint32_t group)
{
	return group == 0 || group >= CLV_TRACE_OWN_GROUPS;
}

/* Whether the job is of equal requests, whose places depend on no other job of their
 * group. */
static bool is_of_one_shape(const struct clv_queue_job *job)
{
	const struct clv_place_request *first = &job->requests[0];

	for (uint32_t i = 0; i < job->n; i++) {
		const struct clv_place_request *request = &job->requests[i];

		if (!is_own_group(request->group) || request->group != first->group ||
			request->rule != first->rule || !is_same_shape(request, first))
			return false;
	}
	return true;
}

/* Requests are placed one after the other, so more of them have no room where fewer have
 * none, and a rule permits no place that is not free without it.  Of several devices in a
 * node the rule also decides which are tried. */
static bool is_known(const struct look *look, const struct clv_queue_job *job)
{
	const struct clv_place_request *request = &job->requests[0];

	if (!job->is_of_one_shape)
		return false;
	for (unsigned i = 0; i < look->n; i++) {
		const struct refused *refused = &look->refused[i];

		if (job->n >= refused->n && job->stays_s >= refused->stays_s &&
			(refused->request.rule == request->rule ||
				(refused->request.rule == CLV_PLACE_FREE &&
					request->n_devices <= 1)) &&
			is_same_shape(&refused->request, request))
			return true;
	}
	return false;
}

/* stays_s: 0, or how long it stays if that is why it did not start. */
static void remember(struct look *look, const struct clv_queue_job *job, int64_t stays_s)
{
	if (!job->is_of_one_shape || look->n == SHAPES_MAX)
		return;
	look->refused[look->n++] = (struct refused){
		.request = job->requests[0],
		.n = job->n,
		.stays_s = stays_s,
	};
}

/* A job that would delay the first one may get another node once the fleet is fuller. */
static void forget_delays(struct look *look)
{
	unsigned n = 0;

	for (unsigned i = 0; i < look->n; i++) {
		if (look->refused[i].stays_s == 0)
			look->refused[n++] = look->refused[i];
	}
	look->n = n;
}

/* Starts jobs from the front until one has no room. */
static int start_first(struct clv_queue *queue)
{
	int r = 1;

	while (r > 0 && queue->first) {
		struct clv_queue_job *job = queue->first;

		r = try_start(queue, job);
		if (r > 0)
			take_from_line(queue, job);
	}
	return r < 0 ? r : 0;
}

static int look_fifo(struct clv_queue *queue)
{
	return start_first(queue);
}

static int reserve(struct clv_queue *queue)
{
	if (queue->reserved_for == queue->first->number)
		return 0;
	return clv_queue_reserve(queue, queue->first);
}

static int look_backfill(struct clv_queue *queue)
{
	struct look look = {.n = 0};
	unsigned depth = 0;
	int r = start_first(queue);

	if (r < 0 || !queue->first || !queue->first->next)
		return r;
	r = reserve(queue);
	remember(&look, queue->first, 0);
	for (struct clv_queue_job *job = queue->first->next, *next;
		r >= 0 && job && depth < BACKFILL_DEPTH; job = next, depth++) {
		next = job->next;
		if (is_known(&look, job))
			continue;
		r = try_backfill(queue, job);
		if (r > 0) {
			take_from_line(queue, job);
			forget_delays(&look);
		} else if (r == 0 || r == -EBUSY) {
			remember(&look, job, r == 0 ? 0 : job->stays_s);
			r = 0;
		}
	}
	return r < 0 ? r : 0;
}

/* A job that waits keeps all of its priority and above waiting, and lets the others
 * start, because they give way to it. */
static int look_priority(struct clv_queue *queue)
{
	uint64_t least = UINT64_MAX; /* the lowest priority that waits */
	int r = 0;

	for (struct clv_queue_job *job = queue->first, *next; r >= 0 && job; job = next) {
		next = job->next;
		if (job->priority >= least)
			continue;
		r = try_start(queue, job);
		if (r == 0)
			r = try_preempt(queue, job);
		if (r > 0) {
			/* Jobs that start over are behind it. */
			next = job->next;
			take_from_line(queue, job);
		} else {
			least = job->priority;
		}
	}
	return r < 0 ? r : 0;
}

static int (*const looks[_CLV_QUEUE_MAX])(struct clv_queue *queue) = {
	[CLV_QUEUE_FIFO] = look_fifo,
	[CLV_QUEUE_BACKFILL] = look_backfill,
	[CLV_QUEUE_PRIORITY] = look_priority,
};

/* --- time --- */

static void give_up(struct clv_queue *queue, struct clv_queue_job *job)
{
	take_from_line(queue, job);
	queue->counts.requests_given_up += job->has_started ? 0 : job->n;
	free_job(job);
}

/* Gives up jobs that have waited too long.  Returns whether there were any. */
static bool expire(struct clv_queue *queue)
{
	int64_t most_s = queue->options.most_wait_s;
	bool is_any = false;

	for (struct clv_queue_job *job = queue->first, *next; most_s && job; job = next) {
		bool is_late = !job->has_started &&
			       queue->world.busy->now_s - job->arrived_s > most_s;

		next = job->next;
		is_any |= is_late;
		if (is_late)
			give_up(queue, job);
		/* Without priorities those behind arrived later. */
		else if (queue->options.order != CLV_QUEUE_PRIORITY)
			break;
	}
	return is_any;
}

static int end_lease(struct clv_queue *queue, uint32_t lease)
{
	struct clv_queue_job *job;
	int r = 0;

	assert(lease < queue->n_holders && queue->holders[lease].job);
	job = queue->holders[lease].job;
	assert(job->n_running > 0);
	queue->holders[lease].job = NULL;
	clv_fleet_release(queue->world.fleet, lease);
	queue->counts.departed++;
	queue->n_ended[counted_as(job)]++;
	if (--job->n_running > 0)
		return 0;
	r = add_sample(&queue->completions, queue->world.busy->now_s - job->arrived_s);
	free_job(job);
	return r;
}

/* All that ends at this time, and then what can start. */
static int play_ends(struct clv_queue *queue, int64_t at_s)
{
	struct clv_departure departure;
	int r = 0;

	clv_busy_pass(queue->world.busy, queue->world.fleet, at_s);
	while (r == 0 && clv_departures_take(queue->world.departures, at_s, &departure))
		r = end_lease(queue, departure.lease);
	expire(queue);
	return r < 0 ? r : looks[queue->options.order](queue);
}

int clv_queue_advance(struct clv_queue *queue, int64_t now_s)
{
	int64_t at_s;
	int r = 0;

	while (r == 0 && clv_departures_peek(queue->world.departures, &at_s) &&
		at_s <= now_s)
		r = play_ends(queue, at_s);
	if (now_s < INT64_MAX - 1)
		clv_busy_pass(queue->world.busy, queue->world.fleet, now_s);
	return r;
}

static struct clv_queue_job *job_of(
	struct clv_queue *queue, const struct clv_trace_item *items, size_t n)
{
	struct clv_queue_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->requests = calloc(n, sizeof(*job->requests));
	job->leases = calloc(n, sizeof(*job->leases));
	if (!job->requests || !job->leases) {
		free_job(job);
		return NULL;
	}
	job->n = (uint32_t)n;
	job->number = queue->n_arrived++;
	job->priority = items[0].priority;
	job->is_gang = items[0].gang != 0;
	for (size_t i = 0; i < n; i++) {
		job->requests[i] = items[i].request;
		if (items[i].stays_s > job->stays_s)
			job->stays_s = items[i].stays_s;
	}
	job->is_of_one_shape = is_of_one_shape(job);
	return job;
}

/* Whether a job that arrives may start at once if it has room; all others that wait have
 * none. */
static int try_at_once(struct clv_queue *queue, struct clv_queue_job *job)
{
	int r = 0;

	if (!queue->first)
		r = try_start(queue, job);
	else if (queue->options.order == CLV_QUEUE_BACKFILL)
		r = reserve(queue) < 0 ? -ENOMEM : try_backfill(queue, job);
	return r == -EBUSY ? 0 : r;
}

int clv_queue_arrive(struct clv_queue *queue, const struct clv_trace_item *items,
	size_t n, int64_t now_s)
{
	struct clv_queue_job *job = job_of(queue, items, n);
	int r;

	if (!job)
		return -ENOMEM;
	job->arrived_s = now_s;
	r = expire(queue) ? looks[queue->options.order](queue) : 0;
	if (r == 0)
		r = try_at_once(queue, job);
	if (r > 0)
		return 0;
	put_in_line(queue, job);
	if (r == 0 && queue->options.order == CLV_QUEUE_PRIORITY)
		r = look_priority(queue);
	return r;
}

int clv_queue_finish(struct clv_queue *queue)
{
	int r = clv_queue_advance(queue, INT64_MAX - 1);

	while (queue->first)
		give_up(queue, queue->first);
	return r;
}

/* --- figures --- */

const struct clv_queue_counts *clv_queue_counts(const struct clv_queue *queue)
{
	return &queue->counts;
}

static int compare_values(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

	return one < other ? -1 : one > other;
}

/* The smallest value that as large a part of the values is not above. */
static int64_t percentile(const struct clv_queue_samples *samples, unsigned percent)
{
	size_t rank = (samples->n * percent + 99) / 100;

	assert(samples->n > 0 && rank <= samples->n);
	return samples->values[rank > 0 ? rank - 1 : 0];
}

static struct clv_queue_times times_of(struct clv_queue_samples *samples)
{
	struct clv_queue_times times = {.n = samples->n};
	double sum_s = 0;

	if (samples->n == 0)
		return times;
	qsort(samples->values, samples->n, sizeof(*samples->values), compare_values);
	for (size_t i = 0; i < samples->n; i++)
		sum_s += (double)samples->values[i];
	times.mean_s = sum_s / (double)samples->n;
	times.p50_s = percentile(samples, 50);
	times.p99_s = percentile(samples, 99);
	return times;
}

struct clv_queue_times clv_queue_waits(struct clv_queue *queue)
{
	return times_of(&queue->waits);
}

struct clv_queue_times clv_queue_completions(struct clv_queue *queue)
{
	return times_of(&queue->completions);
}
