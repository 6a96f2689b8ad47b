/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The one way from the API's objects to the screen: a table for people, JSON and YAML of
 * the objects as they came, or names alone. */

#define CLV_CELL_MAX 512

struct clv_column {
	const char *header;
	/* Writes the cell's text for one row; "" for nothing. */
	void (*format)(const json_t *row, char ret[CLV_CELL_MAX]);
	bool is_right;   /* numbers */
	bool is_trunc;   /* may be cut on a narrow terminal */
	short rank;      /* on a narrow terminal the highest ranks go first; 0 stays */
	bool is_rare;    /* not shown when no row has anything in it */
	const char *key; /* format NULL: the cell is this member, a text or a number */
};

struct clv_listing {
	const struct clv_column *columns;
	size_t n_columns;
	const char *name_key; /* for "-o name" */
	const char *none;     /* said on stderr when a table would be empty */
};

/* format: "table" (or NULL), "json", "yaml", "name".  list: {"items": [...]}.  Returns 0
 * or -errno. */
int clv_output_list(
	const struct clv_listing *listing, const char *format, const json_t *list);

/* One object: a table of one row, or the object itself. */
int clv_output_object(
	const struct clv_listing *listing, const char *format, const json_t *object);

/* One object of a stream: JSON on one line, YAML as a document of its own. */
int clv_output_next(const struct clv_listing *listing, const char *format,
	const json_t *object, bool is_first);

/* Whether the format is the objects as they came: JSON or YAML. */
bool clv_output_is_data(const char *format);

/* Any value of the API: JSON or YAML. */
int clv_output_value(const char *format, const json_t *value);

/* Rows that are part of something larger: a table, or with "name" their names.  Nothing
 * at all when there are none. */
int clv_output_rows(
	const struct clv_listing *listing, const char *format, const json_t *rows);

/* Whether lines on this stream can be rewritten: a terminal, and no dumb one. */
bool clv_output_is_live(FILE *stream);

/* Whether to use colours and cursor movement on this stream: a terminal that can, and no
 * NO_COLOR. */
bool clv_output_has_colours(FILE *stream);

/* Columns of the terminal on stdout, 0 when it is none. */
int clv_output_width(void);
int clv_output_width_of(FILE *stream);

/* One line of text, without what would steer a terminal. */
void clv_output_line(FILE *stream, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Control characters become '?', so that no text of another process steers a terminal. */
void clv_output_sanitize(char *text);
