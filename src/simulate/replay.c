/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/replay.h"

#include "core/place/fit.h"
#include "simulate/departures.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct clv_replay {
	struct clv_fleet *fleet;
	struct clv_fleet *empty; /* as it was: what fits there would fit some time */
	struct clv_frag *frag;
	struct clv_placer *placer;
	struct clv_departures departures;
	struct clv_replay_counts counts;
	struct clv_replay_point curve[CLV_REPLAY_POINTS];
	int64_t now_s;
	int64_t first_s, last_s; /* of a curve over time; equal: it is one over load */
};

int clv_replay_new(struct clv_fleet *fleet, const struct clv_place_policy *policy,
	const struct clv_workload *workload, uint64_t seed, struct clv_replay **ret,
	struct clv_error *err)
{
	struct clv_placer_options options = {.seed = seed};
	struct clv_replay *replay = calloc(1, sizeof(*replay));
	int r;

	if (!replay) {
		clv_fleet_free(fleet);
		return clv_error_errno(err, ENOMEM, "making a replay");
	}
	replay->fleet = fleet;
	replay->empty = clv_fleet_copy(fleet);
	replay->frag = clv_frag_new(fleet, workload);
	if (replay->empty && replay->frag)
		r = clv_placer_new(
			fleet, policy, workload, &options, &replay->placer, err);
	else
		r = clv_error_errno(err, ENOMEM, "making a replay");
	if (r < 0) {
		clv_replay_free(replay);
		return r;
	}
	*ret = replay;
	return 0;
}

struct clv_replay *clv_replay_free(struct clv_replay *replay)
{
	if (!replay)
		return NULL;
	clv_placer_free(replay->placer);
	clv_frag_free(replay->frag);
	clv_fleet_free(replay->empty);
	clv_fleet_free(replay->fleet);
	clv_departures_done(&replay->departures);
	free(replay);
	return NULL;
}

static void pass_time(struct clv_replay *replay, int64_t now_s)
{
	if (now_s <= replay->now_s)
		return;
	replay->counts.busy_device_s += (double)replay->fleet->held_milli /
					CLV_PLACE_WHOLE * (double)(now_s - replay->now_s);
	replay->now_s = now_s;
}

static void depart_until(struct clv_replay *replay, int64_t until_s)
{
	struct clv_departure departure;

	while (clv_departures_take(&replay->departures, until_s, &departure)) {
		pass_time(replay, departure.at_s);
		clv_fleet_release(replay->fleet, departure.lease);
		replay->counts.departed++;
	}
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
	return round(100 * (double)(replay->now_s - replay->first_s) /
		     (double)(replay->last_s - replay->first_s));
}

/* What takes a look at the whole fleet is looked at once a percent. */
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
	}
	point->n++;
	point->allocated +=
		((double)replay->fleet->held_milli / milli - point->allocated) / point->n;
}

static int place(
	struct clv_replay *replay, const struct clv_trace_item *item, bool is_timed)
{
	struct clv_replay_counts *counts = &replay->counts;
	uint32_t lease;
	int r = item->is_of_no_model
			? -ENOSPC
			: clv_placer_place(replay->placer, &item->request, &lease);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		counts->refused++;
		if (item->is_of_no_model)
			counts->of_no_model++;
		else if (is_too_large(replay, &item->request))
			counts->too_large++;
		return 0;
	}
	counts->placed++;
	counts->placed_milli += clv_fleet_request_milli(replay->fleet, &item->request);
	if (!is_timed || item->stays_s == CLV_TRACE_FOREVER)
		return 0;
	return clv_departures_add(
		&replay->departures, item->arrives_s + item->stays_s, lease);
}

int clv_replay_arrive(
	struct clv_replay *replay, const struct clv_trace_item *item, bool is_timed)
{
	int r;

	if (is_timed) {
		depart_until(replay, item->arrives_s);
		pass_time(replay, item->arrives_s);
	}
	replay->counts.arrived++;
	replay->counts.arrived_milli +=
		clv_fleet_request_milli(replay->fleet, &item->request);
	r = place(replay, item, is_timed);
	if (r == 0)
		add_point(replay);
	return r;
}

void clv_replay_finish(struct clv_replay *replay)
{
	depart_until(replay, INT64_MAX - 1);
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

size_t clv_replay_placer_bytes(const struct clv_replay *replay)
{
	return clv_placer_bytes(replay->placer);
}
