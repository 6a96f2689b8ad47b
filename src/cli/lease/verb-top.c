/* SPDX-License-Identifier: Apache-2.0 */
/* cleave top: shows the leases live, on the whole terminal; without a terminal it prints
 * one sample as plain lines.  If the agent goes away, the last sample stays on the screen
 * and each interval tries to connect again. */
#include "cli/frame/verbs.h"

#include "base/clock.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/terminal.h"
#include "cli/lease/top-view.h"

#include <curses.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PLAIN_WIDTH 120
#define DEFAULT_INTERVAL_NS CLV_NS_PER_S

struct top_settings {
	struct clv_common common;
	uint64_t interval_ns;
	bool once;
};

struct top {
	const struct top_settings *settings;
	struct clv_client *client; /* NULL: not connected; the next sample connects */
	json_t *devices, *leases;
	struct clv_client_error problem; /* of the last sample; msg is "": none */
	int scroll;
};

static void drop_client(struct top *top)
{
	top->client = clv_client_free(top->client);
}

/* On an error, keeps the last sample and sets the problem. */
static void take_sample(struct top *top)
{
	struct clv_client_options options =
		clv_cli_options(&top->settings->common, false);
	json_t *devices = NULL, *leases = NULL;

	top->problem.msg[0] = '\0';
	if (!top->client && clv_client_new(&options, &top->client, &top->problem) < 0)
		return;
	if (clv_client_devices(top->client, &devices, &top->problem) < 0 ||
		clv_client_leases(top->client, &leases, &top->problem) < 0) {
		json_decref(devices);
		drop_client(top);
		return;
	}
	json_decref(top->devices);
	json_decref(top->leases);
	top->devices = devices;
	top->leases = leases;
}

static void clock_now(char ret[16])
{
	time_t now = time(NULL);
	struct tm t;

	strftime(ret, 16, "%H:%M:%S", localtime_r(&now, &t));
}

static int print_plain(struct top *top)
{
	struct clv_top_view view;
	char clock_text[16];

	clock_now(clock_text);
	if (clv_top_layout(top->devices, top->leases, PLAIN_WIDTH, clock_text, &view) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < view.n_lines; i++) {
		char *text = view.lines[i].text;
		size_t n = strlen(text);

		while (n > 0 && text[n - 1] == ' ')
			n--;
		printf("%.*s\n", (int)n, text);
	}
	free(view.lines);
	return CLV_EXIT_OK;
}

static attr_t style_attribute(enum clv_top_style style)
{
	static const struct {
		attr_t attribute;
		short colour;
	} styles[_CLV_TOP_STYLE_MAX] = {
		/* clang-format off */
		[CLV_TOP_TITLE]   = { A_BOLD,    0 },
		[CLV_TOP_DEVICE]  = { A_NORMAL,  1 },
		[CLV_TOP_HEADER]  = { A_REVERSE, 0 },
		[CLV_TOP_IDLE]    = { A_NORMAL,  0 },
		[CLV_TOP_HOLDING] = { A_BOLD,    2 },
		[CLV_TOP_WAITING] = { A_NORMAL,  3 },
		[CLV_TOP_QUEUED]  = { A_DIM,     0 },
		/* clang-format on */
	};

	return styles[style].attribute |
	       (has_colors() ? (attr_t)COLOR_PAIR(styles[style].colour) : A_NORMAL);
}

static void draw_line(int row, const struct clv_top_line *line)
{
	attr_t attribute = style_attribute(line->style);

	attron(attribute);
	mvaddnstr(row, 0, line->text, COLS);
	attroff(attribute);
}

static void draw(struct top *top)
{
	struct clv_top_view view;
	char clock_text[16];
	int fixed, room, most;

	clock_now(clock_text);
	if (clv_top_layout(top->devices, top->leases, COLS, clock_text, &view) < 0)
		return;
	erase();
	fixed = (int)view.n_fixed;
	room = LINES - fixed - 1;
	most = (int)view.n_lines - fixed - room;
	if (top->scroll > most)
		top->scroll = most;
	if (top->scroll < 0)
		top->scroll = 0;
	for (int row = 0; row < LINES - 1 && row < (int)view.n_lines; row++) {
		int at = row < fixed ? row : row + top->scroll;

		if (at < (int)view.n_lines)
			draw_line(row, &view.lines[at]);
	}
	mvaddnstr(LINES - 1, 0,
		top->problem.msg[0]
			? top->problem.msg
			: "q quit  up/down scroll  | marks the promised share",
		COLS);
	refresh();
	free(view.lines);
}

static void start_screen(uint64_t interval_ns)
{
	const char *no_color = getenv("NO_COLOR");

	initscr();
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	timeout((int)(interval_ns / CLV_NS_PER_MS));
	if (!(no_color && no_color[0]) && has_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_CYAN, -1);
		init_pair(2, COLOR_GREEN, -1);
		init_pair(3, COLOR_YELLOW, -1);
	}
}

static void show_live(struct top *top)
{
	uint64_t interval_ns = top->settings->interval_ns;
	uint64_t next_ns;

	if (!interval_ns)
		interval_ns = DEFAULT_INTERVAL_NS;
	start_screen(interval_ns);
	next_ns = clv_clock_ns() + interval_ns;
	for (;;) {
		int key;

		draw(top);
		key = getch();
		if (key == 'q' || key == 'Q')
			break;
		if (key == KEY_UP || key == 'k')
			top->scroll--;
		if (key == KEY_DOWN || key == 'j')
			top->scroll++;
		if (clv_clock_ns() >= next_ns) {
			take_sample(top);
			next_ns = clv_clock_ns() + interval_ns;
		}
	}
	endwin();
}

static int run_top(const void *userdata, int argc, char **argv)
{
	const struct top_settings *settings = userdata;
	struct top top = {.settings = settings};
	int r = CLV_EXIT_OK;

	take_sample(&top);
	if (top.problem.msg[0])
		r = clv_cli_fail_client(&top.problem);
	else if (settings->once || clv_terminal_width() == 0)
		r = print_plain(&top);
	else
		show_live(&top);
	drop_client(&top);
	json_decref(top.devices);
	json_decref(top.leases);
	return r;
}

static const struct clv_opt options[] = {
	{
		.name = "interval",
		.letter = 'i',
		.type = CLV_OPT_DURATION,
		.offset = CLV_OPT_AT(struct top_settings, interval_ns),
		.argument = "TIME",
		.help = "The time between samples, as 250ms or 2s (default 1s)",
	},
	{
		.name = "once",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct top_settings, once),
		.help = "Print one sample as plain lines and exit, as without a terminal",
	},
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_top = {
	.name = "top",
	.summary = "watch the leases live: promised, used, memory, class, waiting",
	.about = "q quits, the arrows scroll. A bar shows the part of the device held "
		 "over the last second; the | in it marks the promised share.",
	.settings_bytes = sizeof(struct top_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.run = run_top,
};
