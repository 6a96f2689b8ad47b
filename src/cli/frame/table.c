/* SPDX-License-Identifier: Apache-2.0 */
/* Prints tables.  On a terminal a table fits the width: columns of the highest rank are
 * dropped first, then cells are cut or wrapped where their columns allow it.  In a pipe
 * nothing is dropped, cut, wrapped or coloured. */
#include "cli/frame/table.h"

#include "base/cleanup.h"
#include "cli/frame/terminal.h"

#include <assert.h>
#include <errno.h>
#include <langinfo.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

/* The least widths of cells that may be cut or wrapped. */
#define CUT_LEAST 10u
#define WRAP_LEAST 16u
/* The same where no column is left that can be dropped. */
#define NARROWEST 8u

struct layout {
	size_t widths[CLV_TABLE_COLUMNS_MAX]; /* 0: the column is not shown */
	size_t wanted[CLV_TABLE_COLUMNS_MAX];
};

static void format_member(const json_t *member, char ret[CLV_CELL_MAX])
{
	if (json_is_string(member))
		snprintf(ret, CLV_CELL_MAX, "%s", json_string_value(member));
	else if (json_is_number(member))
		snprintf(ret, CLV_CELL_MAX, "%.0f", json_number_value(member));
}

static void format_cell(
	const struct clv_column *column, const json_t *row, char ret[CLV_CELL_MAX])
{
	ret[0] = '\0';
	if (column->format)
		column->format(row, ret);
	else
		format_member(json_object_get(row, column->key), ret);
	clv_terminal_sanitize(ret);
}

/* --- Widths, in characters: a character of UTF-8 counts as one column --- */

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t n_characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += !is_continuation(*text);
	return n;
}

/* The bytes of the first n characters. */
static size_t n_bytes_of(const char *text, size_t n)
{
	size_t at = 0;

	while (text[at] && (n > 0 || is_continuation(text[at])))
		n -= !is_continuation(text[at++]);
	return at;
}

static size_t least_width(const struct clv_column *column, size_t wanted)
{
	size_t least = column->fit == CUT    ? CUT_LEAST
		       : column->fit == WRAP ? WRAP_LEAST
					     : wanted;

	return least < wanted ? least : wanted;
}

/* What each column wants; 0 for one that is hidden because all its cells are empty. */
static void measure(const struct clv_listing *listing, const json_t *rows,
	const struct clv_table_state *state, struct layout *ret)
{
	char cell[CLV_CELL_MAX];

	for (size_t c = 0; c < listing->n_columns; c++) {
		const struct clv_column *column = &listing->columns[c];
		size_t wanted = strlen(column->header), i;
		bool has_any = !column->is_rare;
		const json_t *row;

		json_array_foreach (rows, i, row) {
			format_cell(column, row, cell);
			has_any = has_any || cell[0];
			if (n_characters(cell) > wanted)
				wanted = n_characters(cell);
		}
		if (state && state->widths[c] > wanted)
			wanted = state->widths[c];
		ret->wanted[c] = has_any ? wanted : 0;
		ret->widths[c] = has_any ? least_width(column, wanted) : 0;
	}
}

/* With a space between two columns. */
static size_t total_width(const struct clv_listing *listing, const struct layout *layout)
{
	size_t total = 0;

	for (size_t c = 0; c < listing->n_columns; c++)
		total += layout->widths[c] ? layout->widths[c] + (total > 0) : 0;
	return total;
}

static bool drop_column(const struct clv_listing *listing, struct layout *layout)
{
	short most = 0;
	size_t worst = 0;

	for (size_t c = 0; c < listing->n_columns; c++) {
		if (layout->widths[c] && listing->columns[c].rank > 0 &&
			listing->columns[c].rank >= most) {
			most = listing->columns[c].rank;
			worst = c;
		}
	}
	if (most == 0)
		return false;
	layout->widths[worst] = 0;
	return true;
}

static void narrow(const struct clv_listing *listing, struct layout *layout, size_t width)
{
	for (size_t c = 0; c < listing->n_columns; c++) {
		size_t total = total_width(listing, layout);
		size_t less = total > width ? total - width : 0;

		if (layout->widths[c] <= NARROWEST || listing->columns[c].fit == WHOLE)
			continue;
		if (less > layout->widths[c] - NARROWEST)
			less = layout->widths[c] - NARROWEST;
		layout->widths[c] -= less;
	}
}

static void widen(const struct clv_listing *listing, struct layout *layout,
	enum clv_column_fit fit, size_t width)
{
	size_t total = total_width(listing, layout);

	for (size_t c = 0; c < listing->n_columns && total < width; c++) {
		size_t more = layout->wanted[c] - layout->widths[c];

		assert(layout->wanted[c] >= layout->widths[c]);
		if (layout->widths[c] == 0 || listing->columns[c].fit != fit)
			continue;
		if (more > width - total)
			more = width - total;
		layout->widths[c] += more;
		total += more;
	}
}

/* width: of the terminal; 0 is no limit. */
static void lay_out(const struct clv_listing *listing, const json_t *rows, size_t width,
	struct clv_table_state *state, struct layout *ret)
{
	measure(listing, rows, state, ret);
	if (width == 0)
		memcpy(ret->widths, ret->wanted, sizeof(ret->widths));
	while (width > 0 && total_width(listing, ret) > width &&
		drop_column(listing, ret))
		;
	if (width > 0)
		narrow(listing, ret, width);
	widen(listing, ret, CUT, width);
	widen(listing, ret, WRAP, width);
	for (size_t c = 0; state && c < listing->n_columns; c++)
		state->widths[c] = ret->widths[c];
}

/* --- Cells --- */

static void cut(char cell[CLV_CELL_MAX], size_t width)
{
	bool has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	const char *ellipsis = has_utf8 ? "\u2026" : "...";
	size_t n = n_characters(ellipsis), at;

	if (n_characters(cell) <= width)
		return;
	at = n_bytes_of(cell, width > n ? width - n : 0);
	snprintf(cell + at, CLV_CELL_MAX - at, "%s", ellipsis);
}

/* Breaks the text at spaces; a longer word is broken where the line ends. */
static void wrap(char cell[CLV_CELL_MAX], size_t width)
{
	char wrapped[2 * CLV_CELL_MAX] = "";
	const char *from = cell;
	size_t used = 0;

	while (n_characters(from) > width) {
		size_t n = n_bytes_of(from, width), last = n;

		while (last > 0 && from[last] != ' ')
			last--;
		if (last == 0)
			last = n;
		used += (size_t)snprintf(wrapped + used, sizeof(wrapped) - used, "%.*s\n",
			(int)last, from);
		from += last + strspn(from + last, " ");
	}
	snprintf(wrapped + used, sizeof(wrapped) - used, "%s", from);
	snprintf(cell, CLV_CELL_MAX, "%.*s", CLV_CELL_MAX - 1, wrapped);
}

static int add_columns(struct libscols_table *table, const struct clv_listing *listing,
	const struct layout *layout, bool has_colours)
{
	for (size_t c = 0; c < listing->n_columns; c++) {
		const struct clv_column *column = &listing->columns[c];
		struct libscols_column *made;

		if (layout->widths[c] == 0)
			continue;
		made = scols_table_new_column(table, column->header,
			(double)layout->widths[c],
			(column->is_right ? SCOLS_FL_RIGHT : 0) |
				(column->fit == WRAP ? SCOLS_FL_WRAP : 0));
		if (!made)
			return -ENOMEM;
		if (column->fit == WRAP &&
			(scols_column_set_safechars(made, "\n") < 0 ||
				scols_column_set_wrapfunc(made, scols_wrapnl_chunksize,
					scols_wrapnl_nextchunk, NULL) < 0))
			return -ENOMEM;
		if (has_colours)
			scols_cell_set_color(scols_column_get_header(made), "bold");
	}
	return 0;
}

static int add_row(struct libscols_table *table, const struct clv_listing *listing,
	const struct layout *layout, const json_t *row)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char cell[CLV_CELL_MAX];
	size_t at = 0;

	for (size_t c = 0; line && c < listing->n_columns; c++) {
		if (layout->widths[c] == 0)
			continue;
		format_cell(&listing->columns[c], row, cell);
		if (listing->columns[c].fit == CUT)
			cut(cell, layout->widths[c]);
		else if (listing->columns[c].fit == WRAP)
			wrap(cell, layout->widths[c]);
		if (scols_line_set_data(line, at++, cell) < 0)
			return -ENOMEM;
	}
	return line ? 0 : -ENOMEM;
}

/* Prints lines without their trailing spaces. */
static void print_trimmed(const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n"), used = length;

		while (used > 0 && text[used - 1] == ' ')
			used--;
		fwrite(text, 1, used, stdout);
		putchar('\n');
		text += length + (text[length] == '\n');
	}
}

static int print_lines(struct libscols_table *table)
{
	_cleanup_free_ char *text = NULL;
	int r = scols_print_table_to_string(table, &text);

	if (r == 0)
		print_trimmed(text);
	return r;
}

int clv_table_print(const struct clv_listing *listing, const json_t *rows,
	struct clv_table_state *state)
{
	struct libscols_table *table = scols_new_table();
	bool has_colours = clv_terminal_has_colours(stdout);
	size_t width = (size_t)clv_terminal_width(), i;
	struct layout layout = {0};
	json_t *row;
	int r;

	if (!table)
		return -ENOMEM;
	lay_out(listing, rows, width, state, &layout);
	scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
	/* The widths are right already. */
	scols_table_set_termwidth(table, total_width(listing, &layout) + 1);
	scols_table_enable_colors(table, has_colours);
	scols_table_enable_noheadings(table, state && state->has_header);
	r = add_columns(table, listing, &layout, has_colours);
	json_array_foreach (rows, i, row) {
		if (r == 0)
			r = add_row(table, listing, &layout, row);
	}
	if (r == 0)
		r = print_lines(table);
	scols_unref_table(table);
	if (state)
		state->has_header = true;
	return r;
}
