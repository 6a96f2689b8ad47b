/* SPDX-License-Identifier: Apache-2.0 */
/* Prints tables, JSON and YAML.  On a terminal a table fits the width: columns of the
 * highest rank are dropped first, then long cells are cut.  In a pipe nothing is dropped,
 * cut or coloured. */
#include "cli/frame/output.h"

#include "base/cleanup.h"
#include "cli/frame/yaml-out.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_MAX 24
#define JSON_FLAGS (JSON_REAL_PRECISION(12) | JSON_ENSURE_ASCII)

bool clv_output_is_live(FILE *stream)
{
	const char *term = getenv("TERM");

	return isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
}

bool clv_output_has_colours(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR");

	return clv_output_is_live(stream) && !(no_color && no_color[0]);
}

int clv_output_width_of(FILE *stream)
{
	struct winsize size;

	if (!isatty(fileno(stream)))
		return 0;
	if (ioctl(fileno(stream), TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

int clv_output_width(void)
{
	return clv_output_width_of(stdout);
}

void clv_output_sanitize(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
	}
}

void clv_output_line(FILE *stream, const char *format, ...)
{
	char line[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	clv_output_sanitize(line);
	fprintf(stream, "%s\n", line);
}

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
	clv_output_sanitize(ret);
}

/* Selects the columns that fit into the width; 0 is no limit. */
static void choose_columns(const struct clv_listing *listing, const json_t *items,
	int width, bool ret_shown[COLUMNS_MAX])
{
	size_t widths[COLUMNS_MAX] = {};
	char cell[CLV_CELL_MAX];

	for (size_t c = 0; c < listing->n_columns; c++) {
		const struct clv_column *column = &listing->columns[c];
		json_t *row;
		size_t i;
		bool has_any;

		widths[c] = strlen(column->header);
		has_any = !column->is_rare;
		json_array_foreach (items, i, row) {
			format_cell(column, row, cell);
			has_any = has_any || cell[0];
			/* A cell that may be cut needs at most 10 columns. */
			if (strlen(cell) > widths[c])
				widths[c] = column->is_trunc && strlen(cell) > 10
						    ? 10
						    : strlen(cell);
		}
		ret_shown[c] = has_any;
	}
	while (width > 0) {
		size_t total = 0, worst = 0;

		for (size_t c = 0; c < listing->n_columns; c++) {
			if (!ret_shown[c])
				continue;
			total += widths[c] + 1;
			if (listing->columns[c].rank > 0 &&
				(!worst || listing->columns[c].rank >=
						   listing->columns[worst].rank))
				worst = c;
		}
		if (total <= (size_t)width + 1 || !worst)
			break;
		ret_shown[worst] = false;
	}
}

static int add_columns(struct libscols_table *table, const struct clv_listing *listing,
	const bool *shown, bool has_colours)
{
	for (size_t c = 0; c < listing->n_columns; c++) {
		const struct clv_column *column = &listing->columns[c];
		struct libscols_column *made;
		int flags = (column->is_right ? SCOLS_FL_RIGHT : 0) |
			    (column->is_trunc ? SCOLS_FL_TRUNC : 0);

		if (!shown[c])
			continue;
		made = scols_table_new_column(table, column->header, 0, flags);
		if (!made)
			return -ENOMEM;
		if (has_colours)
			scols_cell_set_color(scols_column_get_header(made), "bold");
	}
	return 0;
}

static int add_row(struct libscols_table *table, const struct clv_listing *listing,
	const bool *shown, const json_t *row)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char cell[CLV_CELL_MAX];
	size_t at = 0;

	for (size_t c = 0; line && c < listing->n_columns; c++) {
		if (!shown[c])
			continue;
		format_cell(&listing->columns[c], row, cell);
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

static int print_table(
	const struct clv_listing *listing, const json_t *items, bool has_header)
{
	struct libscols_table *table = scols_new_table();
	bool shown[COLUMNS_MAX] = {}, has_colours = clv_output_has_colours(stdout);
	int width = clv_output_width(), r = 0;
	json_t *row;
	size_t i;

	if (!table)
		return -ENOMEM;
	choose_columns(listing, items, width, shown);
	scols_table_set_termforce(
		table, width > 0 ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (width > 0)
		scols_table_set_termwidth(table, (size_t)width);
	scols_table_enable_colors(table, has_colours);
	scols_table_enable_noheadings(table, !has_header);
	r = add_columns(table, listing, shown, has_colours);
	json_array_foreach (items, i, row) {
		if (r == 0)
			r = add_row(table, listing, shown, row);
	}
	if (r == 0)
		r = print_lines(table);
	scols_unref_table(table);
	return r;
}

static int print_names(const struct clv_listing *listing, const json_t *items)
{
	json_t *row;
	size_t i;

	json_array_foreach (items, i, row) {
		const char *name =
			json_string_value(json_object_get(row, listing->name_key));

		if (name && puts(name) < 0)
			return -EIO;
	}
	return 0;
}

static int print_json(const json_t *value, size_t flags)
{
	if (json_dumpf(value, stdout, JSON_FLAGS | flags) < 0 || putchar('\n') < 0)
		return -EIO;
	return 0;
}

static int finish(int r)
{
	if (fflush(stdout) < 0 && r == 0)
		return -errno;
	return r;
}

static bool is_format(const char *format, const char *name)
{
	return format && strcmp(format, name) == 0;
}

bool clv_output_is_data(const char *format)
{
	return is_format(format, "json") || is_format(format, "yaml");
}

int clv_output_value(const char *format, const json_t *value)
{
	if (is_format(format, "yaml"))
		return finish(clv_yaml_write(value, false, stdout));
	return finish(print_json(value, JSON_INDENT(2)));
}

int clv_output_rows(
	const struct clv_listing *listing, const char *format, const json_t *rows)
{
	if (is_format(format, "name"))
		return finish(print_names(listing, rows));
	if (json_array_size(rows) == 0)
		return 0;
	return finish(print_table(listing, rows, true));
}

int clv_output_list(
	const struct clv_listing *listing, const char *format, const json_t *list)
{
	const json_t *items = json_object_get(list, "items");

	if (clv_output_is_data(format))
		return clv_output_value(format, list);
	if (json_array_size(items) == 0 && !is_format(format, "name"))
		fprintf(stderr, "%s\n", listing->none);
	return clv_output_rows(listing, format, items);
}

static int output_row(const struct clv_listing *listing, const char *format,
	const json_t *object, bool has_header)
{
	json_t *items = json_array();
	int r = -ENOMEM;

	if (items && json_array_append(items, (json_t *)object) == 0)
		r = is_format(format, "name") ? print_names(listing, items)
					      : print_table(listing, items, has_header);
	json_decref(items);
	return finish(r);
}

int clv_output_object(
	const struct clv_listing *listing, const char *format, const json_t *object)
{
	if (clv_output_is_data(format))
		return clv_output_value(format, object);
	return output_row(listing, format, object, true);
}

int clv_output_next(const struct clv_listing *listing, const char *format,
	const json_t *object, bool is_first)
{
	if (is_format(format, "json"))
		return finish(print_json(object, JSON_COMPACT));
	if (is_format(format, "yaml"))
		return finish(clv_yaml_write(object, true, stdout));
	return output_row(listing, format, object, is_first);
}
