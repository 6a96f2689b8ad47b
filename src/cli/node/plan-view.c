/* SPDX-License-Identifier: Apache-2.0 */
/* Prints plans.  The agent describes each step; this code selects what is listed, and
 * decides which steps destroy something. */
#include "cli/node/plan-view.h"

#include "base/cleanup.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/input.h"
#include "cli/frame/output.h"
#include "cli/frame/terminal.h"
#include "cli/node/holders.h"

#include <stdio.h>
#include <string.h>

/* What each kind of step does to the node. */
static const struct kind {
	const char *name;
	char sign;    /* in a difference; 0: a change, shown by its text */
	bool is_loss; /* destroys or resets something */
	bool if_idle; /* a loss only if the step needs an idle device */
} kinds[] = {
	/* clang-format off */
	{ "create",       '+', false, false },
	{ "create-part",  '+', false, false },
	{ "destroy",      '-', true,  false },
	{ "destroy-part", '-', true,  false },
	{ "compute-mode", 0,   true,  false },
	{ "vf-count",     0,   true,  true },
	{ "reload",       0,   true,  false },
	/* clang-format on */
};

static const struct kind *kind_of(const json_t *step)
{
	static const struct kind other = {.name = ""};
	const char *name = clv_json_text(step, "kind");

	for (size_t i = 0; i < CLV_ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	}
	return &other;
}

static const char *text_of(const json_t *value)
{
	return json_is_string(value) ? json_string_value(value) : "";
}

static bool needs(const json_t *step, const char *what)
{
	json_t *need;
	size_t i;

	json_array_foreach (json_object_get(step, "needs"), i, need) {
		if (strcmp(text_of(need), what) == 0)
			return true;
	}
	return false;
}

static bool is_loss(const json_t *step)
{
	const struct kind *kind = kind_of(step);

	return (kind->is_loss && (!kind->if_idle || needs(step, "idle"))) ||
	       needs(step, "reset") || needs(step, "reload");
}

static void cell_needs(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_list(json_object_get(row, "needs"), ", ", ret);
}

static void cell_affects(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_list(json_object_get(row, "affects"), ", ", ret);
}

static const struct clv_column step_columns[] = {
	/* clang-format off */
	/* header    cell          right  fit    rank rare   key */
	{ "#",       NULL,         true,  WHOLE, 4,   false, "number" },
	{ "STEP",    NULL,         false, WHOLE, 0,   false, "text" },
	{ "NEEDS",   cell_needs,   false, WHOLE, 2,   true,  NULL },
	{ "AFFECTS", cell_affects, false, WRAP,  3,   true,  NULL },
	/* Only with --explain: */
	{ "WHY",     NULL,         false, WRAP,  0,   false, "why" },
	/* clang-format on */
};

static const struct clv_listing steps_listing = {
	.columns = step_columns,
	.n_columns = CLV_ARRAY_SIZE(step_columns) - 1,
	.name_key = "text",
};

static const struct clv_listing explained_listing = {
	.columns = step_columns,
	.n_columns = CLV_ARRAY_SIZE(step_columns),
	.name_key = "text",
};

static void cell_share(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_percent(clv_json_number(row, "share"), ret);
}

/* Empty for 0: then the memory is in proportion to the share. */
static void cell_memory(const json_t *row, char ret[CLV_CELL_MAX])
{
	uint64_t bytes = clv_json_bytes(row, "memory_bytes");

	if (bytes)
		clv_cell_bytes(bytes, ret);
}

static const struct clv_column share_columns[] = {
	/* clang-format off */
	/* header          cell         right  fit    rank rare   key */
	{ "STANDING SHARE", NULL,        false, WHOLE, 0,   false, "name" },
	{ "IN",             NULL,        false, WHOLE, 2,   false, "where" },
	{ "SHARE",          cell_share,  true,  WHOLE, 0,   false, NULL },
	{ "MEMORY",         cell_memory, true,  WHOLE, 1,   false, NULL },
	{ "CLASS",          NULL,        false, WHOLE, 3,   false, "class" },
	/* clang-format on */
};

static const struct clv_listing shares_listing = {
	.columns = share_columns,
	.n_columns = CLV_ARRAY_SIZE(share_columns),
	.name_key = "name",
};

int clv_plan_fetch(struct clv_client *client, const struct clv_input *input, json_t **ret)
{
	struct clv_client_layout layout = {
		.text = input->text,
		.n_bytes = input->n_bytes,
		.name = input->name,
	};
	struct clv_client_error err;

	if (clv_client_plan(client, &layout, ret, &err) < 0)
		return clv_cli_fail_client(&err);
	return 0;
}

int clv_plan_of_file(const struct clv_common *common, const char *path, json_t **ret)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_input_ struct clv_input input = {};
	int r = clv_input_read(path, CLV_INPUT_LAYOUT_BYTES, &input);

	if (!r)
		r = clv_cli_connect(common, true, &client);
	return r ? r : clv_plan_fetch(client, &input, ret);
}

size_t clv_plan_count_steps(const json_t *plan)
{
	return json_array_size(json_object_get(plan, "steps"));
}

static bool is_change(const json_t *share, const char *kind)
{
	return strcmp(clv_json_text(share, "change"), kind) == 0;
}

bool clv_plan_differs(const json_t *plan)
{
	return clv_plan_count_steps(plan) > 0 ||
	       json_array_size(json_object_get(plan, "share_changes")) > 0;
}

size_t clv_plan_count_lost_shares(const json_t *plan)
{
	size_t i, n = 0;
	json_t *share;

	json_array_foreach (json_object_get(plan, "share_changes"), i, share)
		n += is_change(share, "remove");
	return n;
}

bool clv_plan_is_blocked(const json_t *plan)
{
	return json_array_size(json_object_get(plan, "obstacles")) > 0;
}

static bool is_named(const json_t *array, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach (array, i, item) {
		if (strcmp(text_of(item), name) == 0 ||
			strcmp(clv_json_text(item, "device"), name) == 0 ||
			is_named(json_object_get(item, "affects"), name))
			return true;
	}
	return false;
}

bool clv_plan_is_about(const json_t *plan, const char *device)
{
	return is_named(json_object_get(plan, "steps"), device) ||
	       is_named(json_object_get(plan, "obstacles"), device);
}

size_t clv_plan_count_losses(const json_t *plan)
{
	size_t i, n = 0;
	json_t *step;

	json_array_foreach (json_object_get(plan, "steps"), i, step)
		n += is_loss(step);
	return n;
}

int clv_plan_fail_blocked(const json_t *plan)
{
	char who[256];

	clv_holders_describe(json_object_get(plan, "obstacles"), who, sizeof(who));
	return clv_cli_fail(CLV_EXIT_NO_FIT,
		"the layout cannot be applied now: %s; end it, or wait for it with "
		"cleave apply --on-busy=wait",
		who);
}

void clv_plan_warn(const json_t *plan)
{
	json_t *warning;
	size_t i;

	json_array_foreach (json_object_get(plan, "warnings"), i, warning)
		clv_cli_fail(0, "warning: %s", text_of(warning));
}

/* The hardware that the selectors mean, which the layout is kept for. */
static void print_devices(const json_t *devices)
{
	json_t *device;
	size_t i;

	json_array_foreach (devices, i, device)
		clv_output_line(stdout, "%s is %s (%s)", clv_json_text(device, "name"),
			clv_json_text(device, "uuid"), clv_json_text(device, "model"));
}

static void print_kept(const json_t *kept, bool is_verbose)
{
	size_t i, n = json_array_size(kept);
	json_t *name;

	if (n == 0)
		return;
	printf("%zu partition%s as %s%s\n", n, n == 1 ? " stays" : "s stay",
		n == 1 ? "it is" : "they are", is_verbose ? ":" : "");
	json_array_foreach (kept, i, name) {
		if (is_verbose)
			clv_output_line(stdout, "  %s", text_of(name));
	}
}

static int print_obstacles(const json_t *obstacles)
{
	_cleanup_json_ json_t *rows = clv_holders_of_obstacles(obstacles);

	if (json_array_size(rows) == 0)
		return 0;
	printf("\nThese holders have to end first:\n");
	return clv_output_rows(&clv_listing_holders, NULL, rows);
}

static void print_share_changes(const json_t *changes)
{
	json_t *change;
	size_t i;

	json_array_foreach (changes, i, change)
		clv_output_line(stdout, "%s", clv_json_text(change, "text"));
}

static int print_plan(const struct clv_plan_settings *settings, const json_t *plan)
{
	const json_t *steps = json_object_get(plan, "steps");
	const json_t *shares = json_object_get(plan, "shares");
	const json_t *changes = json_object_get(plan, "share_changes");
	int r = clv_output_rows(
		settings->explain ? &explained_listing : &steps_listing, NULL, steps);

	if (json_array_size(steps) == 0)
		puts(json_array_size(changes) == 0
				? "nothing to do: the node matches the layout"
				: "no step is needed, only standing shares change");
	print_share_changes(changes);
	print_devices(json_object_get(plan, "devices"));
	print_kept(json_object_get(plan, "kept"), settings->verbose);
	if (r >= 0)
		r = print_obstacles(json_object_get(plan, "obstacles"));
	if (r >= 0 && settings->verbose && json_array_size(shares) > 0) {
		putchar('\n');
		r = clv_output_rows(&shares_listing, NULL, shares);
	}
	return r;
}

int clv_plan_show(const struct clv_plan_settings *settings, const json_t *plan)
{
	const char *format = settings->common.output;
	int r;

	clv_plan_warn(plan);
	if (clv_output_is_data(format))
		r = clv_output_value(format, plan);
	else if (format && strcmp(format, "name") == 0)
		r = clv_output_rows(
			&steps_listing, format, json_object_get(plan, "steps"));
	else
		r = print_plan(settings, plan);
	if (r < 0 || fflush(stdout) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the plan: %m");
	return 0;
}

static const char *colour_of(char sign)
{
	return sign == '+' ? "\033[32m" : sign == '-' ? "\033[31m" : "\033[33m";
}

static void print_difference(const json_t *step, bool has_colours)
{
	const char *partition = clv_json_text(step, "partition");
	char sign = kind_of(step)->sign;

	if (has_colours)
		fputs(colour_of(sign), stdout);
	clv_output_line(stdout, "%c %s", sign ? sign : '~',
		sign && partition[0] ? partition : clv_json_text(step, "text"));
	if (has_colours)
		fputs("\033[0m", stdout);
}

static void print_share_difference(const json_t *share, bool has_colours)
{
	char sign = is_change(share, "add")      ? '+'
		    : is_change(share, "remove") ? '-'
						 : '~';

	if (has_colours)
		fputs(colour_of(sign), stdout);
	clv_output_line(stdout, "%c %s", sign, clv_json_text(share, "text"));
	if (has_colours)
		fputs("\033[0m", stdout);
}

/* "! gpu1 (GPU-...) gone: ..." and the steps that wait. */
static void print_wanted(const json_t *device, bool has_colours)
{
	const char *name = clv_json_text(device, "name");
	json_t *step;
	size_t i;

	if (clv_json_text(device, "uuid")[0])
		clv_output_line(stdout, "! %s%s(%s) %s: %s", name, name[0] ? " " : "",
			clv_json_text(device, "uuid"), clv_json_text(device, "state"),
			clv_json_text(device, "why"));
	else
		clv_output_line(stdout, "! %s: %s", clv_json_text(device, "state"),
			clv_json_text(device, "why"));
	json_array_foreach (json_object_get(device, "steps"), i, step)
		print_difference(step, has_colours);
}

int clv_plan_show_wanted(
	const struct clv_common *common, const json_t *wanted, size_t *ret_n)
{
	bool has_colours = clv_terminal_has_colours(stdout);
	bool is_data = clv_output_is_data(common->output);
	json_t *device;
	size_t i;
	int r = is_data ? clv_output_value(common->output, wanted) : 0;

	*ret_n = 0;
	json_array_foreach (json_object_get(wanted, "devices"), i, device) {
		if (strcmp(clv_json_text(device, "state"), "applied") == 0)
			continue;
		++*ret_n;
		if (!is_data)
			print_wanted(device, has_colours);
	}
	if (r < 0 || fflush(stdout) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the difference: %m");
	return 0;
}

int clv_plan_show_difference(const struct clv_common *common, const json_t *plan)
{
	const json_t *steps = json_object_get(plan, "steps");
	bool has_colours = clv_terminal_has_colours(stdout);
	const char *format = common->output;
	json_t *step;
	size_t i;
	int r = 0;

	clv_plan_warn(plan);
	if (clv_output_is_data(format)) {
		r = clv_output_value(format, plan);
	} else if (format && strcmp(format, "name") == 0) {
		r = clv_output_rows(&steps_listing, format, steps);
	} else {
		json_array_foreach (steps, i, step)
			print_difference(step, has_colours);
		json_array_foreach (json_object_get(plan, "share_changes"), i, step)
			print_share_difference(step, has_colours);
	}
	if (r < 0 || fflush(stdout) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the difference: %m");
	return 0;
}
