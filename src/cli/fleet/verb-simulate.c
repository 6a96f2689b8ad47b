/* SPDX-License-Identifier: Apache-2.0 */
/* cleave simulate: replays a trace on a fleet under several policies, or finds how many
 * nodes the trace needs.  It talks to no agent. */
#include "cli/frame/verbs.h"

#include "base/units.h"
#include "cli/fleet/scenario.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/terminal.h"
#include "core/fleet/fleet.h"
#include "core/place/policy.h"
#include "core/place/repack.h"
#include "simulate/capacity.h"
#include "simulate/chart.h"
#include "simulate/replay.h"
#include "simulate/runs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct simulate_settings {
	struct clv_common common;
	const char *policies;
	const char *svg;
	uint64_t seed;
	uint64_t fill_percent;
	uint64_t most_nodes;
	uint64_t most_moves;
	uint32_t accept_ppm;
	bool times;
};

#define KINDS_MAX 32
#define MOST_NODES 100000
/* The largest value of --fill. */
#define MOST_FILL 200

/* --- policies side by side --- */

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

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header       cell            right  fit    rank   rare   key */
	{ "POLICY",     NULL,           false, WHOLE, 0,     false, "policy" },
	{ "ARRIVED",    NULL,           true,  WHOLE, 2,     false, "arrived" },
	{ "ACCEPTED",   cell_accepted,  true,  WHOLE, 0,     false, NULL },
	{ "ALLOCATED",  cell_allocated, true,  WHOLE, 0,     false, NULL },
	{ "STRANDED",   cell_stranded,  true,  WHOLE, 1,     false, NULL },
	{ "IN USE",     NULL,           true,  WHOLE, 1,     false, "devices_in_use" },
	{ "TOO LARGE",  NULL,           true,  WHOLE, 3,     false, "too_large" },
	{ "NO MODEL",   NULL,           true,  WHOLE, 3,     false, "of_no_model" },
	{ "GANGS",      cell_gangs,     true,  WHOLE, 1,     true,  NULL },
	{ "MOVED",      NULL,           true,  WHOLE, 1,     true,  "moved" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "policy",
};

static json_t *curve_of(const struct clv_replay_point *points, const char *x)
{
	json_t *curve = json_array();

	for (unsigned i = 0; i < CLV_REPLAY_POINTS; i++) {
		if (points[i].n == 0)
			continue;
		json_array_append_new(curve,
			json_pack("{s:f, s:f, s:f, s:i}", x, i / 100.0, "allocated",
				points[i].allocated, "stranded", points[i].stranded,
				"devices_in_use", (int)points[i].in_use));
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

/* Adds the members that only some replays have. */
static void add_rare(json_t *row, const struct clv_replay_counts *counts, bool may_move)
{
	if (counts->gangs > 0) {
		json_object_set_new(
			row, "gangs", json_integer((json_int_t)counts->gangs));
		json_object_set_new(row, "gangs_placed",
			json_integer((json_int_t)counts->gangs_placed));
	}
	if (may_move)
		json_object_set_new(
			row, "moved", json_integer((json_int_t)counts->moved));
}

static json_t *row_of(const struct clv_run *run, const struct clv_runs *runs)
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

	add_rare(row, counts, runs->most_moves > 0);
	return row;
}

static int write_svg(const char *path, const struct clv_runs *runs)
{
	struct clv_chart_series series[CLV_SCENARIO_POLICIES_MAX];
	FILE *file = fopen(path, "we");

	if (!file)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s: %m", path);
	for (size_t i = 0; i < runs->n_runs; i++)
		series[i] = (struct clv_chart_series){
			.name = runs->runs[i].policy->name,
			.points = clv_replay_curve(runs->runs[i].replay),
			.n_devices = clv_replay_fleet(runs->runs[i].replay)->n_devices,
		};
	clv_chart_write(file, "cleave simulate",
		runs->options.is_timed ? "time, % of the trace"
				       : "arrived, % of the fleet's compute",
		series, runs->n_runs);
	if (fclose(file) != 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s: %m", path);
	return 0;
}

static int show_runs(
	const struct simulate_settings *settings, const struct clv_runs *runs)
{
	json_t *items = json_array();
	_cleanup_json_ json_t *list = json_pack("{s:o}", "items", items);

	for (size_t i = 0; i < runs->n_runs; i++)
		json_array_append_new(items, row_of(&runs->runs[i], runs));
	if (clv_output_list(&listing, settings->common.output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	return settings->svg ? write_svg(settings->svg, runs) : CLV_EXIT_OK;
}

static int compare_policies(const struct simulate_settings *settings,
	struct clv_runs *runs, const struct clv_fleet *fleet)
{
	struct clv_error err;

	if (clv_runs_learn(runs, fleet, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	if (clv_runs_play(runs, clv_scenario_progress, NULL, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	clv_scenario_progress(NULL, -1);
	return show_runs(settings, runs);
}

/* --- how many nodes --- */

static void cell_nodes(const json_t *row, char ret[CLV_CELL_MAX])
{
	if (json_is_null(json_object_get(row, "nodes")))
		snprintf(ret, CLV_CELL_MAX, "none suffices");
	else
		snprintf(ret, CLV_CELL_MAX, "%.0f", clv_json_number(row, "nodes"));
}

static void cell_cpus(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%g", clv_json_number(row, "cpus"));
}

static const struct clv_column capacity_columns[] = {
	/* clang-format off */
	/* header     cell           right  fit    rank   rare   key */
	{ "MODEL",    NULL,          false, WHOLE, 0,     false, "model" },
	{ "EACH",     NULL,          true,  WHOLE, 0,     false, "devices_each" },
	{ "CPUS",     cell_cpus,     true,  WHOLE, 1,     false, NULL },
	{ "NODES",    cell_nodes,    true,  WHOLE, 0,     false, NULL },
	{ "DEVICES",  NULL,          true,  WHOLE, 0,     false, "devices" },
	{ "ACCEPTED", cell_accepted, true,  WHOLE, 0,     false, NULL },
	/* clang-format on */
};

static const struct clv_listing capacity_listing = {
	.columns = capacity_columns,
	.n_columns = CLV_ARRAY_SIZE(capacity_columns),
	.name_key = "model",
	.none = "the fleet has no node with devices",
};

static json_t *capacity_row(
	const struct clv_fleet_node_spec *kind, const struct clv_capacity *capacity)
{
	double accepted = capacity->most_accepted;
	json_t *curve = json_array();

	for (unsigned i = 0; i < capacity->n_points; i++) {
		if (capacity->points[i].n_nodes == capacity->n_nodes)
			accepted = capacity->points[i].accepted;
		json_array_append_new(curve,
			json_pack("{s:i, s:f}", "nodes", (int)capacity->points[i].n_nodes,
				"accepted", capacity->points[i].accepted));
	}
	return json_pack("{s:s, s:f, s:i, s:o, s:o, s:f, s:o}", "model", kind->model,
		"cpus", kind->cpu_milli / 1000.0, "devices_each", (int)kind->n_devices,
		"nodes",
		capacity->n_nodes ? json_integer(capacity->n_nodes) : json_null(),
		"devices",
		capacity->n_nodes
			? json_integer((json_int_t)capacity->n_nodes * kind->n_devices)
			: json_null(),
		"accepted", accepted, "curve", curve);
}

/* How many numbers of nodes will be tried is not known before. */
static void show_trial(void *userdata, uint32_t n_nodes, double part)
{
	const struct clv_fleet_node_spec *kind = userdata;

	double percent = part < 1 ? 100 * part : 100;

	if (clv_terminal_is_live(stderr))
		fprintf(stderr, "\r\033[KNodes with %s: trying %u, %.0f %%", kind->model,
			n_nodes, percent);
	else
		clv_scenario_note("nodes with %s: trying %u, %.0f %%", kind->model,
			n_nodes, percent);
}

static int find_capacity(const struct simulate_settings *settings,
	const struct clv_runs *runs, const struct clv_fleet *fleet)
{
	uint32_t most = settings->most_nodes && settings->most_nodes < MOST_NODES
				? (uint32_t)settings->most_nodes
				: MOST_NODES;
	struct clv_fleet_node_spec kinds[KINDS_MAX];
	size_t n_kinds = clv_capacity_kinds(fleet, kinds, KINDS_MAX);
	json_t *items = json_array();
	_cleanup_json_ json_t *list = json_pack("{s:o}", "items", items);

	for (size_t i = 0; i < n_kinds; i++) {
		struct clv_capacity_search search = {
			.runs = runs,
			.policy = runs->runs[0].policy,
			.kind = &kinds[i],
			.accepted = settings->accept_ppm / (double)CLV_PPM,
			.most_nodes = most,
			.trying = show_trial,
			.userdata = &kinds[i],
		};
		struct clv_capacity capacity;
		struct clv_error err;
		int r = clv_capacity_find(&search, &capacity, &err);

		clv_scenario_progress(NULL, -1);
		if (r < 0)
			return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
		json_array_append_new(items, capacity_row(&kinds[i], &capacity));
	}
	if (clv_output_list(&capacity_listing, settings->common.output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	return CLV_EXIT_OK;
}

/* --- the verb --- */

static int check_settings(const struct simulate_settings *settings)
{
	if (settings->accept_ppm && settings->fill_percent)
		return clv_cli_fail(CLV_EXIT_USAGE, "--accept finds the size of a fleet, "
						    "--fill fills the given one: use one "
						    "of them");
	if (settings->accept_ppm && settings->svg)
		return clv_cli_fail(
			CLV_EXIT_USAGE, "--svg draws policies: leave out --accept");
	if (settings->times && settings->fill_percent)
		return clv_cli_fail(
			CLV_EXIT_USAGE, "--fill draws a random order: leave out --times");
	if (settings->most_moves > CLV_REPACK_MOVES_MAX)
		return clv_cli_fail(CLV_EXIT_USAGE, "--defrag takes at most %d",
			CLV_REPACK_MOVES_MAX);
	if (settings->fill_percent > MOST_FILL)
		return clv_cli_fail(CLV_EXIT_USAGE, "--fill takes at most %d", MOST_FILL);
	return 0;
}

static int run_simulate(const void *userdata, int argc, char **argv)
{
	const struct simulate_settings *settings = userdata;
	const struct clv_place_policy *policies[CLV_SCENARIO_POLICIES_MAX];
	struct clv_run items[CLV_SCENARIO_POLICIES_MAX] = {0};
	_cleanup_fleet_ struct clv_fleet *fleet = NULL;
	struct clv_runs runs = {.trace_path = argv[1], .runs = items};
	int r = check_settings(settings), n;

	(void)argc;
	if (r)
		return r;
	n = clv_scenario_policies(settings->policies,
		settings->accept_ppm ? "balance" : "first-fit,best-fit,fgd,balance",
		policies);
	if (n < 0)
		return -n;
	r = clv_scenario_read_fleet(argv[0], &fleet);
	if (r)
		return r;
	runs.options = (struct clv_source_options){
		.seed = settings->seed,
		.is_timed = settings->times,
		.fill_milli = (uint32_t)settings->fill_percent * 10,
	};
	runs.n_runs = (size_t)n;
	runs.most_moves = (unsigned)settings->most_moves;
	for (int i = 0; i < n; i++) {
		items[i].policy = policies[i];
		items[i].fleet = clv_fleet_copy(fleet);
		if (!items[i].fleet)
			r = clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	}
	if (r == 0)
		r = settings->accept_ppm ? find_capacity(settings, &runs, fleet)
					 : compare_policies(settings, &runs, fleet);
	clv_runs_done(&runs);
	return r;
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SEED(struct simulate_settings),
	{
		.name = "policy",
		.letter = 'p',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct simulate_settings, policies),
		.argument = "NAME[,NAME...]",
		.help = "Simulate these policies: random, first-fit, best-fit, "
			"worst-fit, "
			"packing, dot-product, clustering, fgd, balance (default "
			"first-fit, best-fit, fgd and balance)",
	},
	{
		.name = "times",
		.letter = 't',
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct simulate_settings, times),
		.help = "Let requests arrive and end at the times of the trace; by "
			"default they arrive in its order and stay, except those of a "
			"generator (per_hour), which always end",
	},
	{
		.name = "fill",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct simulate_settings, fill_percent),
		.argument = "PERCENT",
		.help = "Draw requests in random order, by the seed, until this part of "
			"the fleet's compute has been requested",
	},
	{
		.name = "defrag",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct simulate_settings, most_moves),
		.argument = "COUNT",
		.help = "If a request does not fit, move at most COUNT leases for it (at "
			"most 8; default none)",
	},
	{
		.name = "svg",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct simulate_settings, svg),
		.argument = "FILE",
		.completes = CLV_COMPLETE_FILE,
		.help = "Draw the curves in this file",
	},
	{
		.name = "accept",
		.type = CLV_OPT_FRACTION,
		.offset = CLV_OPT_AT(struct simulate_settings, accept_ppm),
		.argument = "FRACTION",
		.help = "For each kind of node in the fleet, find how many of it alone "
			"accept this part of the trace, as 99%",
	},
	{
		.name = "most-nodes",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct simulate_settings, most_nodes),
		.argument = "COUNT",
		.help = "With --accept: give up at this number (default and most 100000)",
	},
};

const struct clv_verb clv_verb_simulate = {
	.name = "simulate",
	.arguments = "FLEET TRACE",
	.summary = "replay a trace of requests on a fleet, under several policies",
	.about = "FLEET and TRACE are files, CSV by the end of their name or else YAML. "
		 "A request that does not fit on arrival is refused. The figures are "
		 "of the moment when the most was allocated.",
	.settings_bytes = sizeof(struct simulate_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 2,
	.max_arguments = 2,
	.completes = CLV_COMPLETE_FILE,
	.run = run_simulate,
};
