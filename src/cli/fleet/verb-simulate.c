/* SPDX-License-Identifier: Apache-2.0 */
/* cleave simulate: replays a trace on a fleet under several policies, or finds which
 * nodes the trace needs (capacity-view.c).  It talks to no agent. */
#include "cli/frame/verbs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "cli/fleet/capacity-view.h"
#include "cli/fleet/draws.h"
#include "cli/fleet/scenario.h"
#include "cli/fleet/simulate-view.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "core/fleet/fleet.h"
#include "core/place/policy.h"
#include "core/repack/repack.h"
#include "simulate/chart.h"
#include "simulate/files/nodes.h"
#include "simulate/files/snapshot.h"
#include "simulate/queue.h"
#include "simulate/replay.h"
#include "simulate/runs.h"
#include "simulate/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct simulate_settings {
	struct clv_common common;
	const char *policies;
	const char *svg;
	uint64_t seed;
	uint64_t fill_percent;
	uint64_t most_moves;
	struct clv_capacity_settings capacity;
	const char *queue, *gang_rule;
	uint64_t most_wait_ns;
	const char *lose, *add, *speeds;
	uint32_t mig_ppm, power_ppm;
	uint64_t n_draws;
	bool times, admit, skip_bad;
};

/* The largest value of --fill. */
#define MOST_FILL 200
/* Rows that are wrong and shown; the others are counted. */
#define MOST_TOLD 10
#define PPM_PER_MILLI 1000

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
		json_array_append_new(items, clv_simulate_row(&runs->runs[i], runs));
	if (clv_output_list(&clv_simulate_listing, settings->common.output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	return settings->svg ? write_svg(settings->svg, runs) : CLV_EXIT_OK;
}

/* Says which of the first rows are wrong. */
static void tell_skip(void *userdata, const struct clv_error *why)
{
	unsigned *n_told = userdata;

	if (++*n_told <= MOST_TOLD)
		clv_cli_fail(0, "skipped: %s", why->msg);
}

static void tell_skips(const struct clv_runs *runs)
{
	const struct clv_trace_skips *skips = runs->options.skips;

	clv_scenario_tell_odd(runs->trace_path, runs->options.odd);
	if (skips->n_wrong > 0)
		clv_cli_fail(0, "%" PRIu64 " rows were wrong, and were skipped",
			skips->n_wrong);
	if (skips->n_left_out > 0)
		clv_cli_fail(0,
			"%" PRIu64 " jobs have no attempt or no start in the file, and "
			"were left out",
			skips->n_left_out);
}

static int compare_policies(const struct simulate_settings *settings,
	struct clv_runs *runs, const struct clv_fleet *fleet)
{
	struct clv_error err;

	if (clv_runs_learn(runs, fleet, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	tell_skips(runs);
	if (settings->speeds && !runs->options.is_timed)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"without times nothing ends, however fast it is: add --times or "
			"--queue to --speeds");
	if (clv_runs_play(runs, clv_scenario_progress, NULL, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	clv_scenario_progress(NULL, -1);
	return show_runs(settings, runs);
}

/* --- several draws --- */

struct drawing {
	size_t at, n;
};

static void show_drawing(void *userdata, double part)
{
	const struct drawing *drawing = userdata;

	clv_scenario_progress(
		NULL, ((double)drawing->at + (part < 1 ? part : 1)) / (double)drawing->n);
}

static bool is_drawn(const struct clv_runs *runs)
{
	bool is_random = runs->is_drawn;

	/* The scores of random are drawn, those of others can be kept. */
	for (size_t i = 0; i < runs->n_runs; i++)
		is_random |= runs->runs[i].policy->is_uncacheable;
	return is_random;
}

/* Plays one draw of all policies and appends their rows to by_policy.  Returns 0, or an
 * exit code after printing the error. */
static int draw_once(struct clv_runs *runs, const struct clv_fleet *fleet,
	struct drawing *drawing, json_t *by_policy)
{
	struct clv_error err;
	int r = 0;

	for (size_t i = 0; r == 0 && i < runs->n_runs; i++) {
		runs->runs[i].fleet = clv_fleet_copy(fleet);
		r = runs->runs[i].fleet ? 0 : -ENOMEM;
	}
	if (r < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	if (clv_runs_learn(runs, fleet, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	if (drawing->at == 0)
		tell_skips(runs);
	if (!is_drawn(runs))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"nothing is drawn here, so all draws are equal: --draws is for "
			"--fill, --in-mig, a mix of requests per_hour and the policy "
			"random");
	if (clv_runs_play(runs, show_drawing, drawing, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	for (size_t i = 0; i < runs->n_runs; i++)
		json_array_append_new(json_array_get(by_policy, i),
			clv_simulate_row(&runs->runs[i], runs));
	return 0;
}

/* Leaves only what is in for the next draw. */
static void drop_draw(struct clv_runs *runs)
{
	clv_runs_done(runs);
	for (size_t i = 0; i < runs->n_runs; i++)
		runs->runs[i] = (struct clv_run){.policy = runs->runs[i].policy};
	atomic_store(&runs->n_done, 0);
	runs->options.seed++;
}

static int draw_all(const struct simulate_settings *settings, struct clv_runs *runs,
	const struct clv_fleet *fleet)
{
	struct drawing drawing = {.n = settings->n_draws};
	_cleanup_json_ json_t *by_policy = json_array();
	int r = 0;

	for (size_t i = 0; i < runs->n_runs; i++)
		json_array_append_new(by_policy, json_array());
	for (; r == 0 && drawing.at < drawing.n; drawing.at++) {
		r = draw_once(runs, fleet, &drawing, by_policy);
		drop_draw(runs);
	}
	clv_scenario_progress(NULL, -1);
	return r ? r : clv_draws_show(settings->common.output, by_policy, settings->seed);
}

/* --- the verb --- */

static int check_settings(const struct simulate_settings *settings)
{
	if (settings->capacity.accept_ppm && settings->fill_percent)
		return clv_cli_fail(CLV_EXIT_USAGE, "--accept finds the size of a fleet, "
						    "--fill fills the given one: use one "
						    "of them");
	if (settings->capacity.accept_ppm && settings->svg)
		return clv_cli_fail(
			CLV_EXIT_USAGE, "--svg draws policies: leave out --accept");
	if (settings->n_draws && (settings->capacity.accept_ppm || settings->svg))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--draws compares policies: leave out --accept and --svg");
	if (settings->n_draws == 1)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--draws takes 2 or more: of one draw nothing follows for the "
			"next");
	if (settings->capacity.accept_ppm && settings->gang_rule)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--accept counts nodes and does not put them into racks: leave "
			"out --gangs");
	if (settings->speeds && settings->fill_percent)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--fill draws an order without times: leave out --speeds");
	if (settings->times && settings->fill_percent)
		return clv_cli_fail(
			CLV_EXIT_USAGE, "--fill draws a random order: leave out --times");
	if (settings->most_moves > CLV_REPACK_MOVES_MAX)
		return clv_cli_fail(
			CLV_EXIT_USAGE, "--moves takes at most %d", CLV_REPACK_MOVES_MAX);
	if (settings->fill_percent > MOST_FILL)
		return clv_cli_fail(CLV_EXIT_USAGE, "--fill takes at most %d", MOST_FILL);
	if (settings->queue &&
		(settings->fill_percent || settings->most_moves || settings->admit))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"in a queue requests wait at their times: leave out --fill, "
			"--moves and --admit");
	if (settings->most_wait_ns && !settings->queue)
		return clv_cli_fail(
			CLV_EXIT_USAGE, "--wait limits the time in a queue: add --queue");
	return 0;
}

static struct clv_queue_options queue_of(const struct simulate_settings *settings)
{
	struct clv_queue_options queue = {
		.order = CLV_QUEUE_NONE,
		.most_wait_s = (int64_t)(settings->most_wait_ns / CLV_NS_PER_S),
	};

	for (unsigned i = 0; settings->queue && i < _CLV_QUEUE_MAX; i++) {
		if (strcmp(settings->queue, clv_queue_orders[i]) == 0)
			queue.order = (enum clv_queue_order)i;
	}
	return queue;
}

/* Reads the fleet and changes it as the options want. */
static int read_fleet(const struct simulate_settings *settings, const char *path,
	struct clv_fleet **ret, struct clv_node_notes *notes)
{
	int r = clv_scenario_read_nodes(path, ret, notes);

	if (r == 0 && settings->add)
		r = clv_scenario_add(*ret, notes, settings->add);
	if (r == 0 && settings->lose)
		r = clv_scenario_lose(*ret, settings->lose);
	if (r == 0 && settings->speeds)
		r = clv_scenario_speeds(*ret, settings->speeds);
	if (r == 0 && settings->mig_ppm && (*ret)->n_schemes == 0)
		r = clv_cli_fail(CLV_EXIT_BAD_FILE,
			"%.200s: no node is divided by MIG, so no request can be put "
			"there: add 'mig: on' to some",
			path);
	if (r == 0 && settings->gang_rule && (*ret)->n_racks == 0)
		r = clv_cli_fail(CLV_EXIT_BAD_FILE,
			"%.200s: no node has a rack, so no gang can be in one: add "
			"'rack' to the nodes",
			path);
	return r;
}

/* A trace that is a snapshot is parsed once for all runs. */
static int read_snapshot(const char *path, struct clv_snapshot **ret)
{
	struct clv_error err;

	if (clv_source_read_snapshot(path, ret, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	return 0;
}

/* Whether the policies that count power can. */
static int check_power(const struct simulate_settings *settings, const char *path,
	const struct clv_place_policy *const *policies, size_t n,
	const struct clv_fleet *fleet)
{
	bool is_counted = false;

	for (size_t i = 0; i < n; i++)
		is_counted |= policies[i]->counts_power;
	if (settings->power_ppm && !is_counted)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--power is for the policies pwr-fgd and pwr-balance: add "
			"--policy pwr-fgd");
	if (is_counted && fleet->n_powers == 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE,
			"%.200s: no node says what it draws, so no power can be saved: "
			"add 'device_watts: 30..300' to the nodes",
			path);
	return 0;
}

static int simulate(const struct simulate_settings *settings, struct clv_runs *runs,
	const struct clv_place_policy *const *policies, const struct clv_fleet *fleet,
	const struct clv_node_notes *notes)
{
	int r;

	for (size_t i = 0; i < runs->n_runs; i++)
		runs->runs[i].policy = policies[i];
	if (settings->n_draws)
		return draw_all(settings, runs, fleet);
	for (size_t i = 0; i < runs->n_runs; i++) {
		runs->runs[i].fleet = clv_fleet_copy(fleet);
		if (!runs->runs[i].fleet)
			return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	}
	if (!settings->capacity.accept_ppm)
		return compare_policies(settings, runs, fleet);
	r = clv_capacity_show(
		&settings->capacity, settings->common.output, runs, fleet, notes);
	tell_skips(runs);
	return r;
}

static int run_simulate(const void *userdata, int argc, char **argv)
{
	const struct simulate_settings *settings = userdata;
	const struct clv_place_policy *policies[CLV_SCENARIO_POLICIES_MAX];
	struct clv_run items[CLV_SCENARIO_POLICIES_MAX] = {0};
	_cleanup_fleet_ struct clv_fleet *fleet = NULL;
	_cleanup_snapshot_ struct clv_snapshot *snapshot = NULL;
	struct clv_snapshot_odd odd = {0};
	struct clv_node_notes notes = {0};
	unsigned n_told = 0;
	struct clv_trace_skips skips = {
		.is_on = settings->skip_bad, .tell = tell_skip, .userdata = &n_told};
	struct clv_runs runs = {.runs = items,
		.most_moves = (unsigned)settings->most_moves,
		.admits = settings->admit,
		.power_milli = (settings->power_ppm + PPM_PER_MILLI - 1) / PPM_PER_MILLI,
		.queue = queue_of(settings)};
	int r = check_settings(settings), n;

	if (r)
		return r;
	n = clv_scenario_policies(settings->policies,
		settings->capacity.accept_ppm ? "balance"
					      : "first-fit,best-fit,fgd,balance",
		policies);
	if (n < 0)
		return -n;
	runs.options = (struct clv_source_options){
		.seed = settings->seed,
		.is_timed = settings->times || settings->queue,
		.fill_milli = (uint32_t)settings->fill_percent * 10,
		.mig_ppm = settings->mig_ppm,
		.gang_rule = settings->gang_rule ? CLV_PLACE_ONE_RACK : CLV_PLACE_FREE,
		.skips = &skips,
		.odd = &odd,
	};
	runs.n_runs = (size_t)n;
	r = clv_scenario_keep_files(argc, argv);
	runs.trace_path = argv[1];
	if (r == 0)
		r = read_fleet(settings, argv[0], &fleet, &notes);
	if (r == 0)
		r = check_power(settings, argv[0], policies, runs.n_runs, fleet);
	if (r == 0)
		r = read_snapshot(argv[1], &snapshot);
	runs.options.snapshot = snapshot;
	if (r == 0)
		r = simulate(settings, &runs, policies, fleet, &notes);
	clv_runs_done(&runs);
	free(notes.items);
	return r;
}

static const char *const gang_choices[] = {"one-rack", NULL};
static const char *const queue_choices[] = {"fifo", "backfill", "priority", NULL};

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
			"packing, dot-product, clustering, fgd, balance, pwr-fgd, "
			"pwr-balance (default first-fit, best-fit, fgd and balance)",
	},
	{
		.name = "power",
		.type = CLV_OPT_FRACTION,
		.offset = CLV_OPT_AT(struct simulate_settings, power_ppm),
		.argument = "FRACTION",
		.help = "With pwr-fgd and pwr-balance: the weight of the power that a "
			"place adds, against the devices that it wastes (default 0.1)",
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
		.name = "moves",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct simulate_settings, most_moves),
		.argument = "COUNT",
		.help = "If a request does not fit, move at most COUNT leases for it (at "
			"most 8; default none)",
	},
	{
		.name = "admit",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct simulate_settings, admit),
		.help = "Refuse requests that are large and long when little is free, so "
			"that more are accepted in all",
	},
	{
		.name = "queue",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(struct simulate_settings, queue),
		.argument = "fifo|backfill|priority",
		.choices = queue_choices,
		.help = "Let requests wait, with --times: fifo, backfill (later ones "
			"start "
			"where that does not delay the first one), or priority (others "
			"start over for the higher one)",
	},
	{
		.name = "wait",
		.type = CLV_OPT_DURATION,
		.offset = CLV_OPT_AT(struct simulate_settings, most_wait_ns),
		.argument = "TIME",
		.help = "With --queue: refuse what has waited longer, as 4h",
	},
	{
		.name = "gangs",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(struct simulate_settings, gang_rule),
		.argument = "one-rack",
		.choices = gang_choices,
		.help = "Place each gang that has no rule of its own in one rack",
	},
	{
		.name = "skip-bad",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct simulate_settings, skip_bad),
		.help = "Go on after a row of the trace that is wrong, and say how many "
			"there were",
	},
	{
		.name = "lose",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct simulate_settings, lose),
		.argument = "NODES",
		.help = "Without these nodes: numbers, ranges and racks, as "
			"0-15,rack=r7",
	},
	{
		.name = "add",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct simulate_settings, add),
		.argument = "MODEL=COUNT",
		.help = "With so many more nodes as the fleet's first one of this model, "
			"as L40S=10",
	},
	{
		.name = "speeds",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct simulate_settings, speeds),
		.argument = "MODEL=FACTOR[,...]",
		.help = "Divide the duration of a request by the relative speed of the "
			"model that it is on, as A100=1,T4=0.3 (default 1)",
	},
	{
		.name = "in-mig",
		.type = CLV_OPT_FRACTION,
		.offset = CLV_OPT_AT(struct simulate_settings, mig_ppm),
		.argument = "FRACTION",
		.help = "Draw this part of the shares, by the seed, and request MIG "
			"instances instead",
	},
	{
		.name = "draws",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct simulate_settings, n_draws),
		.argument = "COUNT",
		.help = "Draw so many times, with this seed and those after it, and say "
			"between which figures one more draw is (19 or more: with 90 %)",
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
		.offset = CLV_OPT_AT(struct simulate_settings, capacity.accept_ppm),
		.argument = "FRACTION",
		.help = "Find the cheapest nodes, of the kinds in the fleet, that accept "
			"this part of the trace, as 99%",
	},
	{
		.name = "most-nodes",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct simulate_settings, capacity.most_nodes),
		.argument = "COUNT",
		.help = "With --accept: so many nodes of a kind at most (default and "
			"most "
			"100000)",
	},
	{
		.name = "trials",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct simulate_settings, capacity.most_trials),
		.argument = "COUNT",
		.help = "With --accept: replay the trace about so many times at most "
			"(default 200)",
	},
};

const struct clv_verb clv_verb_simulate = {
	.name = "simulate",
	.arguments = "FLEET TRACE",
	.summary = "replay a trace of requests on a fleet, under several policies",
	.about = "FLEET and TRACE are files in YAML or CSV, or published traces of "
		 "clusters. A request that does not fit on arrival is refused, or waits "
		 "with "
		 "--queue. The figures are of the moment when the most was allocated; "
		 "MEAN is the mean over time.",
	.settings_bytes = sizeof(struct simulate_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 2,
	.max_arguments = 2,
	.completes = CLV_COMPLETE_FILE,
	.run = run_simulate,
};
