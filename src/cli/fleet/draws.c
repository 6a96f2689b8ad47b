/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of drawn replays, one for each policy. */
#include "cli/fleet/draws.h"

#include "base/cleanup.h"
#include "cli/fleet/scenario.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "simulate/interval.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The probability for one more draw to be inside, if there are draws enough for it. */
#define WANTED 0.9

/* Keys of a replay's row. */
static const char *const figures[] = {"accepted", "allocated", "allocated_mean",
	"stranded", "wait_mean_s", "wait_p99_s", "completion_mean_s"};

/* "95.2 % (94.8 to 95.6)" */
static void cell_part(const json_t *row, const char *key, char ret[CLV_CELL_MAX])
{
	char from[32], to[32];

	ret[0] = '\0';
	snprintf(from, sizeof(from), "%s_from", key);
	snprintf(to, sizeof(to), "%s_to", key);
	if (json_object_get(row, key))
		snprintf(ret, CLV_CELL_MAX, "%.2f %% (%.2f to %.2f)",
			100 * clv_json_number(row, key), 100 * clv_json_number(row, from),
			100 * clv_json_number(row, to));
}

/* "1.5h (1.2h to 2.0h)" */
static void cell_time(const json_t *row, const char *key, char ret[CLV_CELL_MAX])
{
	static const char *const ends[] = {"", "_from", "_to"};
	char texts[CLV_ARRAY_SIZE(ends)][16], name[32];

	ret[0] = '\0';
	if (!json_object_get(row, key))
		return;
	for (unsigned i = 0; i < CLV_ARRAY_SIZE(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", key, ends[i]);
		clv_scenario_time_text(clv_json_number(row, name), texts[i]);
	}
	snprintf(ret, CLV_CELL_MAX, "%s (%s to %s)", texts[0], texts[1], texts[2]);
}

#define CELL(name, how, key)                                        \
	static void name(const json_t *row, char ret[CLV_CELL_MAX]) \
	{                                                           \
		how(row, key, ret);                                 \
	}
CELL(cell_accepted, cell_part, "accepted")
CELL(cell_allocated, cell_part, "allocated")
CELL(cell_mean, cell_part, "allocated_mean")
CELL(cell_stranded, cell_part, "stranded")
CELL(cell_wait, cell_time, "wait_mean_s")
CELL(cell_wait_p99, cell_time, "wait_p99_s")
CELL(cell_end, cell_time, "completion_mean_s")

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header      cell            right  fit    rank   rare   key */
	{ "POLICY",    NULL,           false, WHOLE, 0,     false, "policy" },
	{ "DRAWS",     NULL,           true,  WHOLE, 3,     false, "draws" },
	{ "BEST",      NULL,           true,  WHOLE, 1,     false, "best" },
	{ "ACCEPTED",  cell_accepted,  true,  WHOLE, 0,     false, NULL },
	{ "ALLOCATED", cell_allocated, true,  WHOLE, 0,     false, NULL },
	{ "MEAN",      cell_mean,      true,  WHOLE, 1,     true,  NULL },
	{ "STRANDED",  cell_stranded,  true,  WHOLE, 2,     false, NULL },
	{ "WAIT",      cell_wait,      true,  WHOLE, 0,     true,  NULL },
	{ "WAIT P99",  cell_wait_p99,  true,  WHOLE, 1,     true,  NULL },
	{ "DONE",      cell_end,       true,  WHOLE, 1,     true,  NULL },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "policy",
};

/* Adds the mean and the interval of a figure, if all draws have it. */
static double add_figure(
	json_t *summary, const json_t *rows, const char *key, double *values)
{
	size_t n = json_array_size(rows);
	struct clv_interval interval;
	char name[32];

	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_object_get(json_array_get(rows, i), key);

		if (!value)
			return 0;
		values[i] = json_number_value(value);
	}
	interval = clv_interval_of(values, n, WANTED);
	json_object_set_new(summary, key, json_real(interval.mean));
	snprintf(name, sizeof(name), "%s_from", key);
	json_object_set_new(summary, name, json_real(interval.from));
	snprintf(name, sizeof(name), "%s_to", key);
	json_object_set_new(summary, name, json_real(interval.to));
	return interval.inside;
}

/* What a policy allocated in a draw: over time, if the draws are timed. */
static double allocated_in(const json_t *by_policy, size_t policy, size_t draw)
{
	const json_t *row = json_array_get(json_array_get(by_policy, policy), draw);
	const json_t *mean = json_object_get(row, "allocated_mean");

	return mean ? json_number_value(mean) : clv_json_number(row, "allocated");
}

/* In how many draws no other policy allocated more. */
static size_t count_best(const json_t *by_policy, size_t policy)
{
	size_t n_draws = json_array_size(json_array_get(by_policy, policy)), n = 0;

	for (size_t draw = 0; draw < n_draws; draw++) {
		double own = allocated_in(by_policy, policy, draw);
		bool is_best = true;

		for (size_t i = 0; i < json_array_size(by_policy); i++)
			is_best &= allocated_in(by_policy, i, draw) <= own;
		n += is_best;
	}
	return n;
}

static json_t *summary_of(const json_t *by_policy, size_t policy, uint64_t first_seed,
	double *values, double *ret_inside)
{
	const json_t *rows = json_array_get(by_policy, policy);
	size_t n = json_array_size(rows);
	json_t *summary = json_pack("{s:s, s:I, s:I, s:I, s:I}", "policy",
		clv_json_text(json_array_get(rows, 0), "policy"), "draws", (json_int_t)n,
		"first_seed", (json_int_t)first_seed, "last_seed",
		(json_int_t)(first_seed + n - 1), "best",
		(json_int_t)count_best(by_policy, policy));

	for (size_t i = 0; i < CLV_ARRAY_SIZE(figures); i++) {
		double inside = add_figure(summary, rows, figures[i], values);

		*ret_inside = inside > 0 ? inside : *ret_inside;
	}
	json_object_set_new(summary, "inside", json_real(*ret_inside));
	return summary;
}

int clv_draws_show(const char *format, const json_t *by_policy, uint64_t first_seed)
{
	size_t n = json_array_size(json_array_get(by_policy, 0));
	_cleanup_free_ double *values = calloc(n + 1, sizeof(*values));
	json_t *items = json_array();
	_cleanup_json_ json_t *list = json_pack("{s:o}", "items", items);
	double inside = 0;

	if (!values)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < json_array_size(by_policy); i++)
		json_array_append_new(
			items, summary_of(by_policy, i, first_seed, values, &inside));
	if (clv_output_list(&listing, format, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	if (!clv_output_is_data(format))
		clv_output_line(stdout,
			"seeds %" PRIu64 " to %" PRIu64
			"; one more draw is in an interval with a probability of %.0f %% "
			"or more",
			first_seed, first_seed + n - 1, 100 * inside);
	return CLV_EXIT_OK;
}
