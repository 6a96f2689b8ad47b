/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest nodes for a trace: a row for each kind, and the sums. */
#include "cli/fleet/capacity-view.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "cli/fleet/scenario.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/terminal.h"
#include "simulate/capacity/capacity.h"
#include "simulate/files/nodes.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_NODES 100000
#define USUAL_TRIALS 200

static void cell_cpus(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%g", clv_json_number(row, "cpus"));
}

static void cell_price(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%g", clv_json_number(row, "price"));
}

static void cell_cost(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.10g", clv_json_number(row, "cost"));
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header     cell        right  fit    rank   rare   key */
	{ "MODEL",    NULL,       false, WHOLE, 0,     false, "model" },
	{ "MIG",      NULL,       false, WHOLE, 1,     true,  "mig" },
	{ "EACH",     NULL,       true,  WHOLE, 0,     false, "devices_each" },
	{ "CPUS",     cell_cpus,  true,  WHOLE, 1,     false, NULL },
	{ "PRICE",    cell_price, true,  WHOLE, 1,     false, NULL },
	{ "NODES",    NULL,       true,  WHOLE, 0,     false, "nodes" },
	{ "DEVICES",  NULL,       true,  WHOLE, 0,     false, "devices" },
	{ "COST",     cell_cost,  true,  WHOLE, 0,     false, NULL },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "model",
};

static json_t *row_of(const struct clv_capacity_kind *kind)
{
	json_int_t n = kind->n_nodes;
	json_t *row = json_pack("{s:s, s:f, s:i, s:f, s:I, s:I, s:f}", "model",
		kind->spec.model, "cpus", kind->spec.cpu_milli / 1000.0, "devices_each",
		(int)kind->spec.n_devices, "price", kind->price, "nodes", n, "devices",
		n * kind->spec.n_devices, "cost", kind->price * (double)n);

	if (kind->spec.scheme)
		json_object_set_new(row, "mig", json_string("on"));
	return row;
}

/* How many replays there will be is not known before. */
static void show_trials(void *userdata, unsigned n_trials, double part, double cost)
{
	char text[128];

	(void)userdata;
	snprintf(text, sizeof(text), "replay %u, %.0f %%; the lowest cost so far: %.10g",
		n_trials, 100 * part, cost);
	if (clv_terminal_is_live(stderr))
		fprintf(stderr, "\r\033[K%s", text);
	else
		clv_scenario_note("%s", text);
}

static int print(const char *format, const struct clv_capacity_kind *kinds, size_t n,
	const struct clv_capacity *capacity)
{
	json_t *items = json_array();
	_cleanup_json_ json_t *list = json_pack("{s:o, s:f, s:f, s:i}", "items", items,
		"cost", capacity->cost, "accepted", capacity->accepted, "trials",
		(int)capacity->n_trials);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(items, row_of(&kinds[i]));
	if (clv_output_list(&listing, format, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	if (!clv_output_is_data(format))
		clv_output_line(stdout, "accepted %.2f %% at a cost of %.10g",
			100 * capacity->accepted, capacity->cost);
	return CLV_EXIT_OK;
}

static int find(const struct clv_capacity_settings *settings, const char *format,
	const struct clv_runs *runs, const struct clv_fleet *fleet, const double *prices)
{
	struct clv_capacity_kind kinds[CLV_CAPACITY_KINDS_MAX];
	int n_kinds = clv_capacity_kinds(fleet, prices, kinds);
	uint64_t most = settings->most_nodes;
	struct clv_capacity_search search = {
		.like = runs,
		.fleet = fleet,
		.policy = runs->runs[0].policy,
		.kinds = kinds,
		.n_kinds = (size_t)(n_kinds > 0 ? n_kinds : 0),
		.accepted = settings->accept_ppm / (double)CLV_PPM,
		.most_nodes = most && most < MOST_NODES ? (uint32_t)most : MOST_NODES,
		.most_trials = settings->most_trials ? (unsigned)settings->most_trials
						     : USUAL_TRIALS,
		.trying = show_trials,
	};
	struct clv_capacity capacity;
	struct clv_error err;
	int r;

	if (n_kinds < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE,
			"the fleet has more than %d kinds of nodes",
			CLV_CAPACITY_KINDS_MAX);
	r = clv_capacity_find(&search, &capacity, &err);
	clv_scenario_progress(NULL, -1);
	if (r < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	if (!capacity.is_found)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"no numbers of these nodes accept %.2f %%: at most %.2f %% can "
			"be "
			"placed on them",
			100 * search.accepted, 100 * capacity.accepted);
	return print(format, kinds, search.n_kinds, &capacity);
}

int clv_capacity_show(const struct clv_capacity_settings *settings, const char *format,
	const struct clv_runs *runs, const struct clv_fleet *fleet,
	const struct clv_node_notes *notes)
{
	_cleanup_free_ double *prices = calloc(notes->n + 1, sizeof(*prices));

	if (!prices)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < notes->n; i++)
		prices[i] = notes->items[i].price;
	return find(settings, format, runs, fleet, prices);
}
