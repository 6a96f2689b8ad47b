/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define CLV_TABLE_COLUMNS_MAX 24
#define CLV_CELL_MAX 512

/* What happens on a narrow terminal to a cell for which there is no room, after columns
 * have been dropped. */
enum clv_column_fit {
	WHOLE, /* nothing: what identifies a row is never cut */
	CUT,   /* its end is replaced by an ellipsis */
	WRAP,  /* it continues on further lines */
};

struct clv_column {
	const char *header;
	/* Writes the text of one row's cell; "" for an empty cell. */
	void (*format)(const json_t *row, char ret[CLV_CELL_MAX]);
	bool is_right; /* numbers */
	enum clv_column_fit fit;
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

/* The layout of a table that is printed row by row: columns only grow wider.  All 0: no
 * row was printed, and the header comes first. */
struct clv_table_state {
	size_t widths[CLV_TABLE_COLUMNS_MAX]; /* in characters */
	bool has_header;
};

/* Prints rows, an array of objects, on stdout.  state: NULL for a whole table.  0 or
 * -errno. */
int clv_table_print(const struct clv_listing *listing, const json_t *rows,
	struct clv_table_state *state);
