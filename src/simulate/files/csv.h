/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct clv_error;

/* Reads comma-separated values one row at a time.  A field may be quoted, with "" for a
 * quote in it; no field has a line break.  A byte order mark and a carriage return at the
 * end of a line do not count.  After an error of a row the next one can be read.  Errors
 * begin with NAME:LINE:COLUMN.  Embedded in its owner; not thread-safe. */

#define CLV_CSV_FIELDS_MAX 64
#define CLV_CSV_LINE_MAX 16384

struct clv_csv_field {
	char *text;      /* valid until the next row */
	unsigned column; /* of its first character, from 1 */
};

struct clv_csv {
	FILE *file;       /* borrowed */
	const char *name; /* name in messages; borrowed */
	uint64_t line;    /* of the row, from 1 */
	unsigned n_fields;
	struct clv_csv_field fields[CLV_CSV_FIELDS_MAX];
	char text[CLV_CSV_LINE_MAX];
};

void clv_csv_init(struct clv_csv *csv, FILE *file, const char *name);

/* Reads the next row that is not empty.  Returns 1, 0 at the end, -EINVAL or -EIO. */
int clv_csv_next(struct clv_csv *csv, struct clv_error *err);

/* Sets a message with NAME:LINE:COLUMN in front, and returns code. */
int clv_csv_fail(const struct clv_csv *csv, unsigned column, struct clv_error *err,
	int code, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A known column and its reader.  Tables of these are static. */
struct clv_csv_column {
	const char *name;
	/* into: the address of the member.  Not called for an empty field. */
	int (*read)(const struct clv_csv *csv, const struct clv_csv_field *field,
		void *into, struct clv_error *err);
	size_t offset;
	int is_required; /* the column and a value must be present */
};

#define CLV_CSV_COLUMNS_MAX 24

/* Positions of the known columns in a file. */
struct clv_csv_map {
	const struct clv_csv_column *columns;
	unsigned n_columns;
	int at[CLV_CSV_COLUMNS_MAX]; /* -1: the file does not have it */
};

/* Reads the current row as the header.  Unknown columns are ignored.  -EINVAL if a
 * required column is missing or a known one appears twice. */
int clv_csv_map(const struct clv_csv *csv, const struct clv_csv_column *columns,
	unsigned n_columns, struct clv_csv_map *ret, struct clv_error *err);
/* Fills `into` from the current row; members without a value in the row are unchanged. */
int clv_csv_read(const struct clv_csv *csv, const struct clv_csv_map *map, void *into,
	struct clv_error *err);

/* Whether the current row, the header, has the column. */
bool clv_csv_has(const struct clv_csv *csv, const char *name);
/* The column of a value of the current row, for messages; 1 if the row has none. */
unsigned clv_csv_column_of(
	const struct clv_csv *csv, const struct clv_csv_map *map, const char *name);

/* Readers.  Numbers are not negative, and integers unless it says otherwise. */
int clv_csv_read_u64(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err);
int clv_csv_read_u32(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err);
/* A const char *, valid until the next row. */
int clv_csv_read_text(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err);
/* A double; "NaN" is no value. */
int clv_csv_read_decimal(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err);
/* "2020-06-09 18:41:01" as seconds since 1970, a uint64_t, as if it were UTC. */
int clv_csv_read_date(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err);
bool clv_csv_parse_date(const char *text, uint64_t *ret_s);
