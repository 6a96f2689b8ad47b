/* SPDX-License-Identifier: Apache-2.0 */
/* cleave events: prints the agent's events, as a list or live. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/table.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PAGE_EVENTS 500
#define FOLLOW_WAIT_MS 30000
/* How long an agent that has gone away is looked for, and how often. */
#define AGENT_TIMEOUT_NS (30 * CLV_NS_PER_S)
#define AGENT_PAUSE_MS 250

struct events_settings {
	struct clv_common common;
	uint64_t after_id;
	uint64_t n_lines;
	bool follow;
};

static void cell_id(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.0f", clv_json_number(row, "id"));
}

static void cell_time(const json_t *row, char ret[CLV_CELL_MAX])
{
	const char *time = clv_json_text(row, "time");
	const char *fraction = strchr(time, '.');

	if (fraction)
		snprintf(ret, CLV_CELL_MAX, "%.*sZ", (int)(fraction - time), time);
	else
		snprintf(ret, CLV_CELL_MAX, "%s", time);
}

static void cell_type(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "type"));
}

static void cell_name(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "name"));
}

static void cell_device(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "device"));
}

static void cell_message(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "message"));
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header    cell          right  fit    rank */
	{ "ID",      cell_id,      true,  WHOLE, 3 },
	{ "TIME",    cell_time,    false, WHOLE, 1 },
	{ "TYPE",    cell_type,    false, WHOLE, 0 },
	{ "NAME",    cell_name,    false, WHOLE, 0 },
	{ "DEVICE",  cell_device,  false, WHOLE, 2 },
	{ "MESSAGE", cell_message, false, WRAP,  0 },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "id",
	.none = "no events yet",
};

/* The last event that was read, or the one that --after names. */
struct place {
	uint64_t id;
	char time[40]; /* "": it was not read */
};

static void advance(struct place *place, const json_t *items)
{
	const json_t *last = json_array_get(items, json_array_size(items) - 1);

	if (!last)
		return;
	place->id = clv_json_bytes(last, "id");
	snprintf(place->time, sizeof(place->time), "%s", clv_json_text(last, "time"));
}

/* Appends all events after the place, and advances it. */
static int read_all(struct clv_client *client, struct place *place, json_t *into,
	struct clv_client_error *err)
{
	for (;;) {
		_cleanup_json_ json_t *page = NULL;
		uint64_t before = place->id;
		json_t *items;
		int r = clv_client_events(client, before, 0, PAGE_EVENTS, &page, err);

		if (r < 0)
			return r;
		items = json_object_get(page, "items");
		json_array_extend(into, items);
		advance(place, items);
		if (place->id <= before)
			return 0;
	}
}

static void keep_last(json_t *items, uint64_t n)
{
	while (n && json_array_size(items) > n)
		json_array_remove(items, 0);
}

static int print_items(const struct events_settings *settings, const json_t *items,
	struct clv_table_state *state)
{
	json_t *event;
	size_t i;

	json_array_foreach (items, i, event) {
		if (clv_output_next(&listing, settings->common.output, event, state) < 0)
			return clv_cli_fail(
				CLV_EXIT_FAILED, "cannot write the events: %m");
	}
	return CLV_EXIT_OK;
}

static bool is_gone(int r)
{
	return r == -ECONNREFUSED || r == -ECONNRESET;
}

/* The next agent goes on with the numbers of events, unless it has another state file. */
static int check_numbers(
	struct clv_client *client, struct place *place, struct clv_client_error *err)
{
	_cleanup_json_ json_t *page = NULL;
	const json_t *event;
	int r;

	if (!place->time[0])
		return 0;
	r = clv_client_events(client, place->id - 1, 0, 1, &page, err);
	if (r < 0)
		return r;
	event = json_array_get(json_object_get(page, "items"), 0);
	if (event && (clv_json_bytes(event, "id") != place->id ||
			     strcmp(clv_json_text(event, "time"), place->time) == 0))
		return 0;
	clv_cli_fail(0, "the agent has another state than before: its events are printed "
			"from the first one on");
	*place = (struct place){0};
	return 0;
}

static int reconnect(
	struct clv_client *client, struct place *place, struct clv_client_error *err)
{
	int r = clv_client_reconnect(client, err);

	return r < 0 ? r : check_numbers(client, place, err);
}

/* Connects to the agent's successor.  Returns 0, or an exit code. */
static int find_agent(struct clv_client *client, struct place *place)
{
	uint64_t until_ns = clv_clock_ns() + AGENT_TIMEOUT_NS;
	struct clv_client_error err;
	int r;

	clv_cli_fail(0, "the agent went away: looking for it again");
	while (is_gone(r = reconnect(client, place, &err)) && clv_clock_ns() < until_ns)
		poll(NULL, 0, AGENT_PAUSE_MS);
	if (r >= 0)
		return 0;
	return clv_cli_fail(clv_cli_exit_code(err.code),
		"%s; to go on behind the last event: cleave events -f --after=%" PRIu64,
		err.msg, place->id);
}

static int follow(const struct events_settings *settings, struct clv_client *client,
	struct place *place, struct clv_table_state *state)
{
	struct clv_client_error err;

	for (;;) {
		_cleanup_json_ json_t *page = NULL;
		int r = clv_client_events(
			client, place->id, FOLLOW_WAIT_MS, PAGE_EVENTS, &page, &err);

		if (r < 0 && !is_gone(r))
			return clv_cli_fail_client(&err);
		if (r < 0)
			r = find_agent(client, place);
		else
			r = print_items(settings, json_object_get(page, "items"), state);
		if (r)
			return r;
		advance(place, json_object_get(page, "items"));
	}
}

static int run_events(const void *userdata, int argc, char **argv)
{
	const struct events_settings *settings = userdata;
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *list = json_object();
	struct place place = {.id = settings->after_id};
	struct clv_table_state state = {0};
	struct clv_client_error err;
	json_t *items = json_array();
	int r = clv_cli_connect(&settings->common, false, &client);

	json_object_set_new(list, "items", items);
	if (r)
		return r;
	if (settings->follow && !settings->n_lines)
		return follow(settings, client, &place, &state);
	if (read_all(client, &place, items, &err) < 0)
		return clv_cli_fail_client(&err);
	keep_last(items, settings->n_lines);
	if (settings->follow) {
		r = print_items(settings, items, &state);
		return r ? r : follow(settings, client, &place, &state);
	}
	if (clv_output_list(&listing, settings->common.output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the events: %m");

	return CLV_EXIT_OK;
}

static const struct clv_opt options[] = {
	{
		.name = "follow",
		.letter = 'f',
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct events_settings, follow),
		.help = "Keep printing events as they come, until interrupted, also "
			"those "
			"of the next agent after a restart; JSON is then one object per "
			"line",
	},
	{
		.name = "lines",
		.letter = 'n',
		.type = CLV_OPT_COUNT,
		.offset = CLV_OPT_AT(struct events_settings, n_lines),
		.argument = "N",
		.help = "Start with the last N events",
	},
	{
		.name = "after",
		.type = CLV_OPT_COUNT,
		.offset = CLV_OPT_AT(struct events_settings, after_id),
		.argument = "ID",
		.help = "Only events after this one",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_events = {
	.name = "events",
	.summary = "show what the agent did, and why",
	.settings_bytes = sizeof(struct events_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.run = run_events,
};
