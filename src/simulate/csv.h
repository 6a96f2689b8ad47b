/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct clv_error;

/* Comma-separated values, a row at a time, however long the file is.  A field may be
 * quoted, with "" for a quote in it; no field has a line break.  Whatever is wrong is
 * said as NAME:LINE:COLUMN.  Embedded in its user, one thread. */

#define CLV_CSV_FIELDS_MAX 64
#define CLV_CSV_LINE_MAX 16384

struct clv_csv_field {
	char *text;      /* until the next row */
	unsigned column; /* of its first character, from 1 */
};

struct clv_csv {
	FILE *file;       /* borrowed */
	const char *name; /* borrowed: what messages call it */
	uint64_t line;    /* of the row, from 1 */
	unsigned n_fields;
	struct clv_csv_field fields[CLV_CSV_FIELDS_MAX];
	char text[CLV_CSV_LINE_MAX];
};

void clv_csv_init(struct clv_csv *csv, FILE *file, const char *name);

/* The next row that is not empty: 1; 0 at the end; -EINVAL, -EIO. */
int clv_csv_next(struct clv_csv *csv, struct clv_error *err);

/* Stores and returns code, with the place in front. */
int clv_csv_fail(const struct clv_csv *csv, unsigned column, struct clv_error *err,
	int code, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A column that is looked for, and who reads it.  Tables of these are static. */
struct clv_csv_column {
	const char *name;
	/* into: the address of the member; an empty field is not handed over. */
	int (*read)(const struct clv_csv *csv, const struct clv_csv_field *field,
		void *into, struct clv_error *err);
	size_t offset;
	int is_required; /* the column, and something in it */
};

#define CLV_CSV_COLUMNS_MAX 24

/* Where the columns of a table are in a file. */
struct clv_csv_map {
	const struct clv_csv_column *columns;
	unsigned n_columns;
	int at[CLV_CSV_COLUMNS_MAX]; /* -1: the file has it not */
};

/* The row at hand is the header. Columns that the table does not know are left alone.
 * -EINVAL: one is missing or there twice. */
int clv_csv_map(const struct clv_csv *csv, const struct clv_csv_column *columns,
	unsigned n_columns, struct clv_csv_map *ret, struct clv_error *err);
/* Fills into from the row at hand; what the file has not is left alone. */
int clv_csv_read(const struct clv_csv *csv, const struct clv_csv_map *map, void *into,
	struct clv_error *err);

/* Readers.  Numbers are whole, and not below 0. */
int clv_csv_read_u64(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err);
int clv_csv_read_u32(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err);
/* const char *, until the next row. */
int clv_csv_read_text(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err);
