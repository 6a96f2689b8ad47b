/* SPDX-License-Identifier: Apache-2.0 */
/* Prints JSON, YAML and names, and lines of text. */
#include "cli/frame/output.h"

#include "cli/frame/terminal.h"
#include "cli/frame/yaml-out.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define JSON_FLAGS (JSON_REAL_PRECISION(12) | JSON_ENSURE_ASCII)

void clv_output_line(FILE *stream, const char *format, ...)
{
	char line[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	clv_terminal_sanitize(line);
	fprintf(stream, "%s\n", line);
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
	return finish(clv_table_print(listing, rows, NULL));
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
	const json_t *object, struct clv_table_state *state)
{
	json_t *items = json_array();
	int r = -ENOMEM;

	if (items && json_array_append(items, (json_t *)object) == 0)
		r = is_format(format, "name") ? print_names(listing, items)
					      : clv_table_print(listing, items, state);
	json_decref(items);
	return finish(r);
}

int clv_output_object(
	const struct clv_listing *listing, const char *format, const json_t *object)
{
	if (clv_output_is_data(format))
		return clv_output_value(format, object);
	return output_row(listing, format, object, NULL);
}

int clv_output_next(const struct clv_listing *listing, const char *format,
	const json_t *object, struct clv_table_state *state)
{
	if (is_format(format, "json"))
		return finish(print_json(object, JSON_COMPACT));
	if (is_format(format, "yaml"))
		return finish(clv_yaml_write(object, true, stdout));
	return output_row(listing, format, object, state);
}
