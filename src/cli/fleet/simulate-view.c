/* SPDX-License-Identifier: Apache-2.0 */
/* The rows and columns of cleave simulate, one row for each policy. */
#include "cli/fleet/simulate-view.h"

#include "base/cleanup.h"
#include "cli/fleet/scenario.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "core/fleet/fleet.h"
#include "core/place/policy.h"
#include "simulate/queue.h"
#include "simulate/replay.h"
#include "simulate/runs.h"

#include <stdio.h>

#define WATTS_PER_KW 1000.0
#define JOULES_PER_KWH 3.6e6

static void cell_accepted(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.2f %%", 100 * clv_json_number(row, "accepted"));
}

static void cell_allocated(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.2f %%", 100 * clv_json_number(row, "allocated"));
}

static void cell_stranded(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.2f %%", 100 * clv_json_number(row, "stranded"));
}

static void cell_gangs(const json_t *row, char ret[CLV_CELL_MAX])
{
	ret[0] = '\0';
	if (json_object_get(row, "gangs"))
		snprintf(ret, CLV_CELL_MAX, "%.0f of %.0f",
			clv_json_number(row, "gangs_placed"),
			clv_json_number(row, "gangs"));
}

static void cell_one_rack(const json_t *row, char ret[CLV_CELL_MAX])
{
	ret[0] = '\0';
	if (json_object_get(row, "gangs_in_one_rack"))
		snprintf(ret, CLV_CELL_MAX, "%.0f of %.0f",
			clv_json_number(row, "gangs_in_one_rack"),
			clv_json_number(row, "gangs_placed"));
}

static void cell_mean(const json_t *row, char ret[CLV_CELL_MAX])
{
	ret[0] = '\0';
	if (json_object_get(row, "allocated_mean"))
		snprintf(ret, CLV_CELL_MAX, "%.2f %%",
			100 * clv_json_number(row, "allocated_mean"));
}

/* "" if the row has none. */
static void cell_time(const json_t *row, const char *key, char ret[CLV_CELL_MAX])
{
	ret[0] = '\0';
	if (json_object_get(row, key))
		clv_scenario_time_text(clv_json_number(row, key), ret);
}

#define CELL_TIME(name, key)                                        \
	static void name(const json_t *row, char ret[CLV_CELL_MAX]) \
	{                                                           \
		cell_time(row, key, ret);                           \
	}
CELL_TIME(cell_wait, "wait_mean_s")
CELL_TIME(cell_wait_p50, "wait_p50_s")
CELL_TIME(cell_wait_p99, "wait_p99_s")
CELL_TIME(cell_end, "completion_mean_s")
CELL_TIME(cell_end_p50, "completion_p50_s")
CELL_TIME(cell_end_p99, "completion_p99_s")

static void cell_power(const json_t *row, char ret[CLV_CELL_MAX])
{
	const char *key = json_object_get(row, "watts_mean") ? "watts_mean" : "watts";

	ret[0] = '\0';
	if (json_object_get(row, "watts"))
		snprintf(ret, CLV_CELL_MAX, "%.1f kW",
			clv_json_number(row, key) / WATTS_PER_KW);
}

static void cell_energy(const json_t *row, char ret[CLV_CELL_MAX])
{
	ret[0] = '\0';
	if (json_object_get(row, "energy_kwh"))
		snprintf(ret, CLV_CELL_MAX, "%.0f kWh",
			clv_json_number(row, "energy_kwh"));
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header       cell            right  fit    rank   rare   key */
	{ "POLICY",     NULL,           false, WHOLE, 0,     false, "policy" },
	{ "ARRIVED",    NULL,           true,  WHOLE, 2,     false, "arrived" },
	{ "ACCEPTED",   cell_accepted,  true,  WHOLE, 0,     false, NULL },
	{ "ALLOCATED",  cell_allocated, true,  WHOLE, 0,     false, NULL },
	{ "MEAN",       cell_mean,      true,  WHOLE, 1,     true,  NULL },
	{ "STRANDED",   cell_stranded,  true,  WHOLE, 1,     false, NULL },
	{ "IN USE",     NULL,           true,  WHOLE, 1,     false, "devices_in_use" },
	{ "TOO LARGE",  NULL,           true,  WHOLE, 3,     false, "too_large" },
	{ "NO MODEL",   NULL,           true,  WHOLE, 3,     false, "of_no_model" },
	{ "POWER",      cell_power,     true,  WHOLE, 1,     true,  NULL },
	{ "ENERGY",     cell_energy,    true,  WHOLE, 1,     true,  NULL },
	{ "GANGS",      cell_gangs,     true,  WHOLE, 1,     true,  NULL },
	{ "ONE RACK",   cell_one_rack,  true,  WHOLE, 2,     true,  NULL },
	{ "MOVED",      NULL,           true,  WHOLE, 1,     true,  "moved" },
	{ "DECLINED",   NULL,           true,  WHOLE, 1,     true,  "not_admitted" },
	{ "WAIT",       cell_wait,      true,  WHOLE, 0,     true,  NULL },
	{ "WAIT P50",   cell_wait_p50,  true,  WHOLE, 2,     true,  NULL },
	{ "WAIT P99",   cell_wait_p99,  true,  WHOLE, 0,     true,  NULL },
	{ "DONE",       cell_end,       true,  WHOLE, 1,     true,  NULL },
	{ "DONE P50",   cell_end_p50,   true,  WHOLE, 2,     true,  NULL },
	{ "DONE P99",   cell_end_p99,   true,  WHOLE, 1,     true,  NULL },
	{ "PREEMPTED",  NULL,           true,  WHOLE, 1,     true,  "preempted" },
	/* clang-format on */
};

const struct clv_listing clv_simulate_listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "policy",
};

static json_t *curve_of(const struct clv_replay_point *points, const char *x)
{
	json_t *curve = json_array();

	for (unsigned i = 0; i < CLV_REPLAY_POINTS; i++) {
		json_t *point;

		if (points[i].n == 0)
			continue;
		point = json_pack("{s:f, s:f, s:f, s:i}", x, i / 100.0, "allocated",
			points[i].allocated, "stranded", points[i].stranded,
			"devices_in_use", (int)points[i].in_use);
		if (points[i].watts)
			json_object_set_new(
				point, "watts", json_integer(points[i].watts));
		json_array_append_new(curve, point);
	}
	return curve;
}

/* The point with the most allocated; in a trace with departures it is not the last one.
 */
static const struct clv_replay_point *fullest(const struct clv_replay_point *points)
{
	const struct clv_replay_point *best = points;

	for (unsigned i = 1; i < CLV_REPLAY_POINTS; i++) {
		if (points[i].n > 0 &&
			(best->n == 0 || points[i].allocated >= best->allocated))
			best = &points[i];
	}
	return best;
}

static void add_times(json_t *row, const char *what, struct clv_queue_times times)
{
	static const char *const names[] = {"mean", "p50", "p99"};
	double values[] = {times.mean_s, (double)times.p50_s, (double)times.p99_s};
	char key[32];

	for (unsigned i = 0; times.n > 0 && i < CLV_ARRAY_SIZE(names); i++) {
		snprintf(key, sizeof(key), "%s_%s_s", what, names[i]);
		json_object_set_new(row, key, json_real(values[i]));
	}
}

static void add_queue(json_t *row, struct clv_queue *queue)
{
	const struct clv_queue_counts *counts = clv_queue_counts(queue);

	add_times(row, "wait", clv_queue_waits(queue));
	add_times(row, "completion", clv_queue_completions(queue));
	json_object_set_new(
		row, "given_up", json_integer((json_int_t)counts->requests_given_up));
	if (counts->preempted == 0)
		return;
	json_object_set_new(
		row, "preempted", json_integer((json_int_t)counts->preempted));
	json_object_set_new(
		row, "lost_device_hours", json_real(counts->lost_device_s / 3600));
}

/* The part of the fleet that was allocated, from the first arrival to the last one. */
static void add_mean(json_t *row, const struct clv_runs *runs, const struct clv_run *run)
{
	double devices = (double)clv_replay_fleet(run->replay)->milli / 1000;
	double span_s = (double)(runs->last_s - runs->first_s);

	if (runs->options.is_timed && span_s > 0 && devices > 0)
		json_object_set_new(row, "allocated_mean",
			json_real(clv_replay_counts(run->replay)->busy_until_last_s /
				  span_s / devices));
}

/* What the nodes drew: at the fullest point and, with times, from the first arrival to
 * the last one. */
static void add_power(json_t *row, const struct clv_runs *runs, const struct clv_run *run)
{
	const struct clv_replay_counts *counts = clv_replay_counts(run->replay);
	double span_s = (double)(runs->last_s - runs->first_s);

	if (clv_replay_fleet(run->replay)->n_powers == 0)
		return;
	json_object_set_new(row, "watts",
		json_integer(fullest(clv_replay_curve(run->replay))->watts));
	if (!runs->options.is_timed || span_s <= 0)
		return;
	json_object_set_new(
		row, "watts_mean", json_real(counts->joules_until_last / span_s));
	json_object_set_new(
		row, "energy_kwh", json_real(counts->joules_until_last / JOULES_PER_KWH));
}

/* Adds the members that only some replays have. */
static void add_rare(json_t *row, const struct clv_runs *runs, const struct clv_run *run)
{
	const struct clv_replay_counts *counts = clv_replay_counts(run->replay);

	if (counts->gangs > 0) {
		json_object_set_new(
			row, "gangs", json_integer((json_int_t)counts->gangs));
		json_object_set_new(row, "gangs_placed",
			json_integer((json_int_t)counts->gangs_placed));
		if (clv_replay_fleet(run->replay)->n_racks > 0)
			json_object_set_new(row, "gangs_in_one_rack",
				json_integer((json_int_t)counts->gangs_in_one_rack));
	}
	if (runs->most_moves > 0)
		json_object_set_new(
			row, "moved", json_integer((json_int_t)counts->moved));
	if (runs->admits)
		json_object_set_new(row, "not_admitted",
			json_integer((json_int_t)counts->not_admitted));
	add_mean(row, runs, run);
	add_power(row, runs, run);
	if (clv_replay_queue(run->replay))
		add_queue(row, clv_replay_queue(run->replay));
}

json_t *clv_simulate_row(const struct clv_run *run, const struct clv_runs *runs)
{
	const struct clv_replay_counts *counts = clv_replay_counts(run->replay);
	const struct clv_replay_point *points = clv_replay_curve(run->replay);
	const struct clv_replay_point *full = fullest(points);
	json_t *row = json_pack(
		"{s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:f, s:f, s:i, s:i, s:f, s:o}",
		"policy", run->policy->name, "arrived", (json_int_t)counts->arrived,
		"placed", (json_int_t)counts->placed, "accepted",
		(double)counts->placed / (double)counts->arrived, "refused",
		(json_int_t)counts->refused, "too_large", (json_int_t)counts->too_large,
		"of_no_model", (json_int_t)counts->of_no_model, "allocated",
		full->allocated, "stranded", full->stranded, "devices_in_use",
		(int)full->in_use, "devices",
		(int)clv_replay_fleet(run->replay)->n_devices, "busy_device_hours",
		counts->busy_device_s / 3600, "curve",
		curve_of(points, runs->options.is_timed ? "time" : "load"));

	add_rare(row, runs, run);
	return row;
}
