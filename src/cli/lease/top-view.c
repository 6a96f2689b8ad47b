/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out the lines of `cleave top`.  The width of a field depends only on the width of
 * the terminal: a narrow terminal has fewer fields, a wide one longer bars.  Bars are
 * ASCII, so that every terminal and log shows the same. */
#include "cli/lease/top-view.h"

#include "base/cleanup.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum field {
	FIELD_NAME,
	FIELD_CLASS,
	FIELD_SHARE,
	FIELD_USED,
	FIELD_BAR,
	FIELD_MEMORY,
	FIELD_MEMORY_BAR,
	FIELD_PROCESSES,
	FIELD_STATE,
	FIELD_COMMAND,
	_FIELD_MAX,
};

/* A field is shown on terminals of at least `from` columns.  It is `least` columns wide,
 * and grows up to `most` while columns are left. */
static const struct {
	const char *header;
	int from;
	int least;
	int most;
	bool is_right;
} fields[_FIELD_MAX] = {
	/* clang-format off */
	[FIELD_NAME]       = { "NAME",         0,  10, 24, false },
	[FIELD_CLASS]      = { "CLASS",       60,   7,  7, false },
	[FIELD_SHARE]      = { "SHARE",        0,   5,  6, true },
	[FIELD_USED]       = { "USED",         0,   5,  6, true },
	[FIELD_BAR]        = { "",            50,   7, 32, false },
	[FIELD_MEMORY]     = { "MEMORY",      40,  11, 13, true },
	[FIELD_MEMORY_BAR] = { "",           100,  10, 20, false },
	[FIELD_PROCESSES]  = { "PR",          60,   3,  5, true },
	[FIELD_STATE]      = { "STATE",        0,   5,  7, false },
	[FIELD_COMMAND]    = { "COMMAND",     90,  10, 40, false },
	/* clang-format on */
};

static void choose_widths(int width, int ret_widths[_FIELD_MAX])
{
	int left = width;

	for (int f = 0; f < _FIELD_MAX; f++) {
		ret_widths[f] = width >= fields[f].from ? fields[f].least : 0;
		left -= ret_widths[f] ? ret_widths[f] + 1 : 0;
	}
	left++; /* no gap after the last */
	for (int f = 0; f < _FIELD_MAX && left > 0; f++) {
		int more = fields[f].most - ret_widths[f];

		if (!ret_widths[f])
			continue;
		more = more < left ? more : left;
		ret_widths[f] += more;
		left -= more;
	}
}

static void append(struct clv_top_line *line, int width, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void append(struct clv_top_line *line, int width, const char *format, ...)
{
	size_t used = strlen(line->text), room = (size_t)width + 1;
	va_list args;

	if (used + 1 >= room)
		return;
	va_start(args, format);
	vsnprintf(line->text + used, room - used, format, args);
	va_end(args);
}

/* Draws "[###|   ]": the used part, and a mark at the promised part. */
static void fill_bar(double used, double promised, int width, char *ret)
{
	int inner = width - 2;
	int mark = (int)(promised * inner + 0.5);
	int filled = (int)(used * inner + 0.5);

	ret[0] = '[';
	for (int i = 0; i < inner; i++)
		ret[i + 1] = i < filled ? '#' : ' ';
	if (mark > 0 && mark < inner)
		ret[mark] = '|';
	ret[inner + 1] = ']';
	ret[inner + 2] = '\0';
}

static const char *state_label(const json_t *lease, enum clv_top_style *ret_style)
{
	*ret_style = CLV_TOP_QUEUED;
	if (strcmp(clv_json_text(lease, "state"), "queued") == 0)
		return "queue";
	*ret_style = CLV_TOP_HOLDING;
	if (clv_json_flag(lease, "holding"))
		return "run";
	*ret_style = CLV_TOP_WAITING;
	if (clv_json_flag(lease, "waiting"))
		return "wait";
	*ret_style = CLV_TOP_IDLE;
	return "idle";
}

static double ratio(const json_t *object, const char *above, const char *below)
{
	double whole = clv_json_number(object, below);

	return whole > 0 ? clv_json_number(object, above) / whole : 0;
}

static void fill_field(enum field field, const json_t *lease, int width,
	char ret[CLV_CELL_MAX], enum clv_top_style *ret_style)
{
	char used[CLV_CELL_MAX], quota[CLV_CELL_MAX];

	switch (field) {
	case FIELD_NAME:
		snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(lease, "name"));
		break;
	case FIELD_CLASS:
		snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(lease, "class"));
		break;
	case FIELD_SHARE:
		clv_cell_percent(clv_json_number(lease, "share"), ret);
		break;
	case FIELD_USED:
		clv_cell_percent(clv_json_number(lease, "share_used"), ret);
		break;
	case FIELD_BAR:
		fill_bar(clv_json_number(lease, "share_used"),
			clv_json_number(lease, "share"), width, ret);
		break;
	case FIELD_MEMORY:
		clv_cell_bytes(clv_json_bytes(lease, "memory_used_bytes"), used);
		clv_cell_bytes(clv_json_bytes(lease, "memory_bytes"), quota);
		snprintf(ret, CLV_CELL_MAX, "%.20s/%.20s", used, quota);
		break;
	case FIELD_MEMORY_BAR:
		fill_bar(
			ratio(lease, "memory_used_bytes", "memory_bytes"), 0, width, ret);
		break;
	case FIELD_PROCESSES:
		snprintf(ret, CLV_CELL_MAX, "%zu",
			json_array_size(json_object_get(lease, "processes")));
		break;
	case FIELD_STATE:
		snprintf(ret, CLV_CELL_MAX, "%s", state_label(lease, ret_style));
		break;
	case FIELD_COMMAND:
		snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(lease, "command"));
		break;
	case _FIELD_MAX:
		break;
	}
	clv_terminal_sanitize(ret);
}

/* Appends the fields of a lease, or the headers if lease is NULL. */
static void add_fields(struct clv_top_line *line, const json_t *lease, int width)
{
	int widths[_FIELD_MAX];
	const char *gap = "";

	choose_widths(width, widths);
	line->style = CLV_TOP_HEADER;
	for (int f = 0; f < _FIELD_MAX; f++) {
		char text[CLV_CELL_MAX] = "";

		if (!widths[f])
			continue;
		if (lease)
			fill_field(f, lease, widths[f], text, &line->style);
		else
			snprintf(text, sizeof(text), "%s", fields[f].header);
		append(line, width, fields[f].is_right ? "%s%*.*s" : "%s%-*.*s", gap,
			widths[f], widths[f], text);
		gap = " ";
	}
}

static double used_on(const json_t *leases, const char *device)
{
	double sum = 0;
	json_t *lease;
	size_t i;

	json_array_foreach (leases, i, lease) {
		if (strcmp(clv_json_text(lease, "device"), device) == 0)
			sum += clv_json_number(lease, "share_used");
	}
	return sum;
}

static void add_device(
	struct clv_top_line *line, const json_t *device, const json_t *leases, int width)
{
	char promised[CLV_CELL_MAX], used[CLV_CELL_MAX], bytes[3][CLV_CELL_MAX];
	const char *name = clv_json_text(device, "name");

	clv_cell_percent(clv_json_number(device, "share_promised"), promised);
	clv_cell_percent(used_on(leases, name), used);
	clv_cell_bytes(clv_json_bytes(device, "memory_used_bytes"), bytes[0]);
	clv_cell_bytes(clv_json_bytes(device, "memory_promised_bytes"), bytes[1]);
	clv_cell_bytes(clv_json_bytes(device, "memory_bytes"), bytes[2]);
	line->style = CLV_TOP_DEVICE;
	append(line, width, "%s promised %s used %s  memory %s of %s, %s promised", name,
		promised, used, bytes[0], bytes[2], bytes[1]);
	append(line, width, "  %s", clv_json_text(device, "model"));
	clv_terminal_sanitize(line->text);
}

static size_t count_queued(const json_t *leases)
{
	size_t i, n = 0;
	json_t *lease;

	json_array_foreach (leases, i, lease)
		n += strcmp(clv_json_text(lease, "state"), "queued") == 0;
	return n;
}

int clv_top_layout(const json_t *devices, const json_t *leases, int width,
	const char *clock_text, struct clv_top_view *ret)
{
	const json_t *device_items = json_object_get(devices, "items");
	const json_t *lease_items = json_object_get(leases, "items");
	size_t n_devices = json_array_size(device_items);
	size_t n_leases = json_array_size(lease_items), i, at = 0;
	struct clv_top_view view = {.n_fixed = n_devices + 2};
	json_t *item;

	width = width > CLV_TOP_WIDTH_MAX ? CLV_TOP_WIDTH_MAX : width < 20 ? 20 : width;
	view.n_lines = view.n_fixed + n_leases;
	view.lines = calloc(view.n_lines, sizeof(*view.lines));
	if (!view.lines)
		return -ENOMEM;
	append(&view.lines[at++], width, "cleave %s  leases %zu  queued %zu", clock_text,
		n_leases, count_queued(lease_items));
	json_array_foreach (device_items, i, item)
		add_device(&view.lines[at++], item, lease_items, width);
	add_fields(&view.lines[at++], NULL, width);
	json_array_foreach (lease_items, i, item)
		add_fields(&view.lines[at++], item, width);

	*ret = view;
	return 0;
}
