/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/table.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Prints the API's objects: as a table, as unchanged JSON or YAML, or as names only. */

/* format: "table" (or NULL), "json", "yaml", "name".  list: {"items": [...]}.  Returns 0
 * or -errno. */
int clv_output_list(
	const struct clv_listing *listing, const char *format, const json_t *list);

/* One object: a table of one row, or the object itself. */
int clv_output_object(
	const struct clv_listing *listing, const char *format, const json_t *object);

/* One object of a stream: JSON on one line, a YAML document, or a row of the table of
 * which state, all 0 at first, has the layout. */
int clv_output_next(const struct clv_listing *listing, const char *format,
	const json_t *object, struct clv_table_state *state);

/* Whether the format is JSON or YAML. */
bool clv_output_is_data(const char *format);

/* Prints any value of the API, as YAML for "yaml", else as JSON. */
int clv_output_value(const char *format, const json_t *value);

/* Prints rows as part of a larger output: a table, or names for "name".  No rows print
 * nothing. */
int clv_output_rows(
	const struct clv_listing *listing, const char *format, const json_t *rows);

/* Prints one line, through clv_terminal_sanitize(). */
void clv_output_line(FILE *stream, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
