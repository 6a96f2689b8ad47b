/* SPDX-License-Identifier: Apache-2.0 */
/* Replays arrivals on a fleet: departures, single requests, gangs, counts and curves. */
#include "simulate/replay.h"

#include "base/error.h"
#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/place/admit.h"
#include "core/place/frag.h"
#include "core/place/pick.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "core/repack/gang.h"
#include "simulate/busy.h"
#include "simulate/queue.h"
#include "simulate/settle.h"
#include "simulate/trace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct clv_replay {
	struct clv_fleet *fleet;
	struct clv_fleet *empty; /* the initial fleet, to tell what could never fit */
	struct clv_frag *frag;
	struct clv_placer *placer;
	struct clv_departures departures;
	struct clv_settle settle;
	struct clv_queue *queue; /* NULL: what does not fit is refused */
	uint64_t n_refused;      /* without those that the queue gave up */
	struct clv_admit admit;
	bool is_admitting;
	/* The gang that is being collected. */
	struct clv_trace_item *gang;
	struct clv_place_request *requests;
	uint32_t *leases;
	size_t n_gang;
	bool is_timed;
	struct clv_replay_counts counts;
	struct clv_replay_point curve[CLV_REPLAY_POINTS];
	struct clv_busy busy;
	int64_t first_s, last_s; /* of a curve over time; equal: the curve is over load */
};

int clv_replay_new(struct clv_fleet *fleet, const struct clv_place_policy *policy,
	const struct clv_workload *workload, const struct clv_placer_options *options,
	struct clv_replay **ret, struct clv_error *err)
{
	struct clv_replay *replay = calloc(1, sizeof(*replay));
	int r;

	if (!replay) {
		clv_fleet_free(fleet);
		return clv_error_errno(err, ENOMEM, "cannot create a replay");
	}
	replay->fleet = fleet;
	replay->empty = clv_fleet_copy(fleet);
	replay->frag = clv_frag_new(fleet, workload);
	if (replay->empty && replay->frag)
		r = clv_placer_new(
			fleet, policy, workload, options, &replay->placer, err);
	else
		r = clv_error_errno(err, ENOMEM, "cannot create a replay");
	if (r < 0) {
		clv_replay_free(replay);
		return r;
	}
	replay->settle = (struct clv_settle){.fleet = fleet,
		.placer = replay->placer,
		.departures = &replay->departures};
	*ret = replay;
	return 0;
}

void clv_replay_allow_moves(struct clv_replay *replay, unsigned most_moves)
{
	replay->settle.most_moves =
		most_moves < CLV_REPACK_MOVES_MAX ? most_moves : CLV_REPACK_MOVES_MAX;
}

struct clv_replay *clv_replay_free(struct clv_replay *replay)
{
	if (!replay)
		return NULL;
	clv_queue_free(replay->queue);
	clv_placer_free(replay->placer);
	clv_frag_free(replay->frag);
	clv_fleet_free(replay->empty);
	clv_fleet_free(replay->fleet);
	clv_departures_done(&replay->departures);
	free(replay->gang);
	free(replay->requests);
	free(replay->leases);
	free(replay);
	return NULL;
}

void clv_replay_admit(struct clv_replay *replay)
{
	replay->is_admitting = true;
}

int clv_replay_use_queue(
	struct clv_replay *replay, const struct clv_queue_options *options)
{
	struct clv_queue_world world = {
		.fleet = replay->fleet,
		.placer = replay->placer,
		.departures = &replay->departures,
		.busy = &replay->busy,
	};

	replay->queue = clv_queue_new(&world, options);
	return replay->queue ? 0 : -ENOMEM;
}

struct clv_queue *clv_replay_queue(struct clv_replay *replay)
{
	return replay->queue;
}

static void depart_until(struct clv_replay *replay, int64_t until_s)
{
	struct clv_departure departure;

	while (clv_departures_take(&replay->departures, until_s, &departure)) {
		clv_busy_pass(&replay->busy, replay->fleet, departure.at_s);
		clv_fleet_release(replay->fleet, departure.lease);
		replay->counts.departed++;
	}
}

/* Takes over what the queue has counted. */
static void count_queue(struct clv_replay *replay)
{
	const struct clv_queue_counts *queued = clv_queue_counts(replay->queue);
	struct clv_replay_counts *counts = &replay->counts;

	counts->placed = queued->requests_started;
	counts->placed_milli = queued->milli_started;
	counts->refused = replay->n_refused + queued->requests_given_up;
	counts->departed = queued->departed;
	counts->gangs_placed = queued->gangs_started;
	counts->gangs_in_one_rack = queued->gangs_in_one_rack;
}

/* Lets time pass until an arrival. */
static int pass_until(struct clv_replay *replay, int64_t now_s)
{
	int r = 0;

	if (replay->queue)
		r = clv_queue_advance(replay->queue, now_s);
	else
		depart_until(replay, now_s);
	clv_busy_pass(&replay->busy, replay->fleet, now_s);
	/* Before the first arrival the trace has no time. */
	if (replay->counts.arrived == 0)
		replay->busy.joules = 0;
	replay->counts.joules_until_last = replay->busy.joules;
	replay->counts.busy_device_s = replay->busy.device_s;
	replay->counts.busy_until_last_s = replay->busy.device_s;
	return r;
}

static bool is_too_large(
	const struct clv_replay *replay, const struct clv_place_request *request)
{
	const struct clv_fleet *empty = replay->empty;

	for (uint32_t i = 0; i < empty->n_nodes; i++) {
		if (clv_fit_node(empty, &empty->nodes[i], request))
			return false;
	}
	return true;
}

static uint32_t count_in_use(const struct clv_fleet *fleet)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < fleet->n_devices; i++)
		n += fleet->devices[i].free_milli < CLV_PLACE_WHOLE;
	return n;
}

void clv_replay_over_time(struct clv_replay *replay, int64_t first_s, int64_t last_s)
{
	replay->first_s = first_s;
	replay->last_s = last_s;
}

static double percent_of(const struct clv_replay *replay)
{
	if (replay->first_s == replay->last_s)
		return round(100 * (double)replay->counts.arrived_milli /
			     (double)replay->fleet->milli);
	return round(100 * (double)(replay->busy.now_s - replay->first_s) /
		     (double)(replay->last_s - replay->first_s));
}

/* Figures of the whole fleet are computed once per percent. */
static void add_point(struct clv_replay *replay)
{
	double milli = (double)replay->fleet->milli;
	struct clv_replay_point *point;
	double percent;

	if (replay->fleet->milli == 0)
		return;
	percent = percent_of(replay);
	if (percent >= CLV_REPLAY_POINTS)
		return;
	point = &replay->curve[(unsigned)percent];
	if (point->n == 0) {
		point->stranded = clv_frag_fleet(replay->frag, replay->fleet) *
				  CLV_PLACE_WHOLE / milli;
		point->in_use = count_in_use(replay->fleet);
		point->watts = (uint32_t)replay->fleet->watts;
	}
	point->n++;
	point->allocated +=
		((double)replay->fleet->held_milli / milli - point->allocated) / point->n;
}

/* Whether all of them are worth their cost; those that stay forever are not judged. */
static bool admit(struct clv_replay *replay, const struct clv_trace_item *items, size_t n)
{
	bool is_worth = true;

	for (size_t i = 0; replay->is_admitting && i < n; i++) {
		uint32_t milli =
			clv_fleet_request_milli(replay->fleet, &items[i].request);

		if (items[i].stays_s == CLV_TRACE_FOREVER)
			continue;
		clv_admit_record(&replay->admit, milli, items[i].stays_s);
		is_worth &= clv_admit_is_worth(
			&replay->admit, replay->fleet, milli, items[i].stays_s);
	}
	return is_worth;
}

/* Also -ENOSPC if the fleet has no model for one of them, and -EPERM if they are not
 * worth their cost. */
static int settle(struct clv_replay *replay, const struct clv_trace_item *items, size_t n,
	uint32_t *ret_leases)
{
	for (size_t i = 0; i < n; i++) {
		if (items[i].is_of_no_model || items[i].is_too_large)
			return -ENOSPC;
		if (n > 1)
			replay->requests[i] = items[i].request;
	}
	if (!admit(replay, items, n))
		return -EPERM;
	return clv_settle(&replay->settle, n > 1 ? replay->requests : &items->request, n,
		ret_leases);
}

static void refuse(struct clv_replay *replay, const struct clv_trace_item *item)
{
	replay->counts.refused++;
	replay->n_refused++;
	if (item->is_of_no_model)
		replay->counts.of_no_model++;
	else if (item->is_too_large || is_too_large(replay, &item->request))
		replay->counts.too_large++;
}

/* Places requests on the empty fleet, each on the first node that it fits. */
struct first_fit {
	struct clv_fleet *empty;
	struct clv_place_request last;
	uint32_t node;
};

static bool is_free_for(const struct clv_fleet *empty, uint32_t node,
	const struct clv_place_request *request)
{
	return clv_fit_node(empty, &empty->nodes[node], request) &&
	       (request->rule != CLV_PLACE_APART || request->group == 0 ||
		       clv_fit_count_group(empty, node, request->group) == 0);
}

static int place_first_fit(void *userdata, const struct clv_place_request *request,
	size_t member, uint32_t *leases)
{
	struct first_fit *first = userdata;
	const struct clv_fleet *empty = first->empty;
	struct clv_place_at at;

	/* An equal request fits no node before the one of the last. */
	if (member == 0 || memcmp(&first->last, request, sizeof(*request)) != 0)
		first->node = 0;
	first->last = *request;
	while (first->node < empty->n_nodes && !is_free_for(empty, first->node, request))
		first->node++;
	if (first->node == empty->n_nodes)
		return -ENOSPC;
	at.node = first->node;
	clv_pick_devices(
		empty, &empty->nodes[first->node], request, CLV_PICK_TIGHTEST, &at);
	return clv_fleet_take(first->empty, request, &at, &leases[member]);
}

static void release_first_fit(void *userdata, uint32_t *leases, size_t n)
{
	while (n-- > 0)
		clv_fleet_release(((struct first_fit *)userdata)->empty, leases[n]);
}

/* Whether all of them together fit the fleet when it is empty. */
static bool fits_empty(struct clv_replay *replay, const struct clv_trace_item *items,
	size_t n, uint32_t *leases)
{
	static const struct clv_gang_steps steps = {
		.place = place_first_fit, .take_back = release_first_fit};
	struct first_fit first = {.empty = replay->empty};

	for (size_t i = 0; i < n; i++) {
		if (items[i].is_of_no_model || items[i].is_too_large)
			return false;
		if (n > 1)
			replay->requests[i] = items[i].request;
	}
	if (clv_gang_place(replay->empty, n > 1 ? replay->requests : &items->request, n,
		    &steps, &first, leases) < 0)
		return false;
	release_first_fit(&first, leases, n);
	return true;
}

/* A job that could never start is refused, because others would wait for it. */
static int play_queued(struct clv_replay *replay, const struct clv_trace_item *items,
	size_t n, uint32_t *leases)
{
	bool fits = fits_empty(replay, items, n, leases);
	int r = fits ? clv_queue_arrive(replay->queue, items, n, replay->busy.now_s) : 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		replay->counts.arrived++;
		replay->counts.arrived_milli +=
			clv_fleet_request_milli(replay->fleet, &items[i].request);
		if (!fits)
			refuse(replay, &items[i]);
		add_point(replay);
	}
	count_queue(replay);
	return r;
}

/* speed: of the slowest devices of its gang. */
static int book(struct clv_replay *replay, const struct clv_trace_item *item,
	int64_t now_s, uint32_t lease, uint32_t speed)
{
	int64_t stays_s = clv_fleet_time_at(item->stays_s, speed);

	replay->counts.placed++;
	replay->counts.placed_milli +=
		clv_fleet_request_milli(replay->fleet, &item->request);
	/* A lease that ends beyond the range of time never departs. */
	if (!replay->is_timed || stays_s >= CLV_TRACE_FOREVER - now_s)
		return 0;
	return clv_departures_add(&replay->departures, now_s + stays_s, lease);
}

/* Plays one request or a gang. */
static int play(struct clv_replay *replay, const struct clv_trace_item *items, size_t n,
	uint32_t *leases)
{
	struct clv_replay_counts *counts = &replay->counts;
	int64_t now_s = items[n - 1].arrives_s;
	int r = replay->is_timed ? pass_until(replay, now_s) : 0, settled;
	uint32_t speed = CLV_FLEET_SPEED;

	if (r < 0 || replay->queue)
		return r < 0 ? r : play_queued(replay, items, n, leases);
	settled = settle(replay, items, n, leases);
	r = settled == -ENOMEM ? -ENOMEM : 0;
	counts->not_admitted += settled == -EPERM ? n : 0;
	if (settled == 0)
		speed = clv_fleet_speed_of(replay->fleet, leases, n);
	counts->gangs_in_one_rack += settled == 0 && items[0].gang &&
				     clv_gang_is_in_one_rack(replay->fleet, leases, n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		counts->arrived++;
		counts->arrived_milli +=
			clv_fleet_request_milli(replay->fleet, &items[i].request);
		if (settled < 0)
			refuse(replay, &items[i]);
		else
			r = book(replay, &items[i], now_s, leases[i], speed);
		if (r == 0)
			add_point(replay);
	}
	counts->moved = replay->settle.n_moved;
	return r;
}

static int play_gang(struct clv_replay *replay)
{
	size_t n = replay->n_gang;
	uint64_t placed = replay->counts.placed;
	int r;

	if (n == 0)
		return 0;
	replay->n_gang = 0;
	r = play(replay, replay->gang, n, replay->leases);
	replay->counts.gangs++;
	if (!replay->queue)
		replay->counts.gangs_placed += replay->counts.placed > placed;
	return r;
}

static int add_to_gang(struct clv_replay *replay, const struct clv_trace_item *item)
{
	int r = 0;

	if (!replay->gang) {
		replay->gang = calloc(CLV_TRACE_GANG_MAX, sizeof(*replay->gang));
		replay->requests = calloc(CLV_TRACE_GANG_MAX, sizeof(*replay->requests));
		replay->leases = calloc(CLV_TRACE_GANG_MAX, sizeof(*replay->leases));
	}
	if (!replay->gang || !replay->requests || !replay->leases)
		return -ENOMEM;
	if (replay->n_gang > 0 && (replay->gang[0].gang != item->gang ||
					  replay->n_gang == CLV_TRACE_GANG_MAX))
		r = play_gang(replay);
	if (r < 0)
		return r;
	replay->gang[replay->n_gang++] = *item;
	return 0;
}

int clv_replay_arrive(
	struct clv_replay *replay, const struct clv_trace_item *item, bool is_timed)
{
	uint32_t lease;
	int r;

	replay->is_timed = is_timed;
	if (item->gang)
		return add_to_gang(replay, item);
	r = play_gang(replay);
	return r < 0 ? r : play(replay, item, 1, &lease);
}

int clv_replay_finish(struct clv_replay *replay)
{
	int r = play_gang(replay);

	if (r == 0 && replay->queue)
		r = clv_queue_finish(replay->queue);
	else if (r == 0)
		depart_until(replay, INT64_MAX - 1);
	if (replay->queue)
		count_queue(replay);
	replay->counts.busy_device_s = replay->busy.device_s;
	return r;
}

const struct clv_replay_counts *clv_replay_counts(const struct clv_replay *replay)
{
	return &replay->counts;
}

const struct clv_replay_point *clv_replay_curve(const struct clv_replay *replay)
{
	return replay->curve;
}

const struct clv_fleet *clv_replay_fleet(const struct clv_replay *replay)
{
	return replay->fleet;
}
