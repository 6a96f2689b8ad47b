/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Prints the API's objects: as a table, as unchanged JSON or YAML, or as names only. */

#define CLV_CELL_MAX 512

struct clv_column {
	const char *header;
	/* Writes the text of one row's cell; "" for an empty cell. */
	void (*format)(const json_t *row, char ret[CLV_CELL_MAX]);
	bool is_right;   /* numbers */
	bool is_trunc;   /* may be cut on a narrow terminal */
	short rank;      /* on a narrow terminal the highest ranks are dropped; 0 stays */
	bool is_rare;    /* hidden if all its cells are empty */
	const char *key; /* if format is NULL: the member to show, a string or a number */
};

struct clv_listing {
	const struct clv_column *columns;
	size_t n_columns;
	const char *name_key; /* for "-o name" */
	const char *none;     /* printed on stderr instead of an empty table */
};

/* format: "table" (or NULL), "json", "yaml", "name".  list: {"items": [...]}.  Returns 0
 * or -errno. */
int clv_output_list(
	const struct clv_listing *listing, const char *format, const json_t *list);

/* One object: a table of one row, or the object itself. */
int clv_output_object(
	const struct clv_listing *listing, const char *format, const json_t *object);

/* One object of a stream: JSON on one line, a YAML document, or a row of a table, which
 * has its header if is_first. */
int clv_output_next(const struct clv_listing *listing, const char *format,
	const json_t *object, bool is_first);

/* Whether the format is JSON or YAML. */
bool clv_output_is_data(const char *format);

/* Prints any value of the API, as YAML for "yaml", else as JSON. */
int clv_output_value(const char *format, const json_t *value);

/* Prints rows as part of a larger output: a table, or names for "name".  No rows print
 * nothing. */
int clv_output_rows(
	const struct clv_listing *listing, const char *format, const json_t *rows);

/* Whether the stream is a terminal that can rewrite lines. */
bool clv_output_is_live(FILE *stream);

/* Whether to use colours on the stream: clv_output_is_live(), and NO_COLOR is not set. */
bool clv_output_has_colours(FILE *stream);

/* Columns of the terminal on stdout or on stream; 0 if it is not a terminal. */
int clv_output_width(void);
int clv_output_width_of(FILE *stream);

/* Prints one line, through clv_output_sanitize(). */
void clv_output_line(FILE *stream, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Replaces control characters with '?', so that text from another process cannot control
 * the terminal. */
void clv_output_sanitize(char *text);
