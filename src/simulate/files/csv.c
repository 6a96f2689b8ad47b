/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values: lines, fields, and columns by name. */
#include "simulate/files/csv.h"

#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static_assert(CLV_CSV_LINE_MAX == 16384, "the message of read_line() says the length");

void clv_csv_init(struct clv_csv *csv, FILE *file, const char *name)
{
	csv->file = file;
	csv->name = name;
	csv->line = 0;
	csv->n_fields = 0;
}

int clv_csv_fail(const struct clv_csv *csv, unsigned column, struct clv_error *err,
	int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	clv_error_setv(err, code, format, args);
	va_end(args);
	return err ? clv_error_prefix(
			     err, "%.200s:%" PRIu64 ":%u", csv->name, csv->line, column)
		   : code;
}

/* The byte order mark that some programs write before the first line. */
static const char mark[] = {'\xef', '\xbb', '\xbf'};

static int fail_line(
	struct clv_csv *csv, unsigned n, const char *what, struct clv_error *err)
{
	int c;

	/* The caller may go on with the next line. */
	while ((c = getc_unlocked(csv->file)) != EOF && c != '\n')
		;
	return clv_csv_fail(csv, n + 1, err, -EINVAL, "%s", what);
}

/* Reads one line into csv->text.  Returns 1, 0 at the end, or an error. */
static int read_line(struct clv_csv *csv, struct clv_error *err)
{
	unsigned n = 0;
	int c;

	csv->line++;
	while ((c = getc_unlocked(csv->file)) != EOF && c != '\n') {
		if (c == '\0')
			return fail_line(csv, n, "a NUL byte: the file is not text", err);
		if (n == sizeof(csv->text) - 1)
			return fail_line(
				csv, n, "a line has at most 16383 characters", err);
		csv->text[n++] = (char)c;
		if (csv->line == 1 && n == sizeof(mark) &&
			memcmp(csv->text, mark, n) == 0)
			n = 0;
	}
	if (c == EOF && ferror(csv->file))
		return clv_error_errno(err, EIO, "%.200s", csv->name);
	if (n > 0 && csv->text[n - 1] == '\r')
		n--;
	csv->text[n] = '\0';
	return c != EOF || n > 0;
}

/* Removes the quotes of a field in place, and moves *at to its end. */
static int read_quoted(struct clv_csv *csv, char **at, struct clv_error *err)
{
	char *to = *at, *from = *at + 1;
	unsigned column = (unsigned)(*at - csv->text) + 1;

	for (;; from++) {
		if (*from == '\0')
			return clv_csv_fail(
				csv, column, err, -EINVAL, "the quote is not closed");
		if (*from == '"' && *++from != '"')
			break;
		*to++ = *from;
	}
	if (*from != '\0' && *from != ',')
		return clv_csv_fail(csv, (unsigned)(from - csv->text) + 1, err, -EINVAL,
			"a comma is expected between fields");
	*at = from;
	*to = '\0'; /* before `from`: two quotes were removed */
	return 0;
}

static int split(struct clv_csv *csv, struct clv_error *err)
{
	char *at = csv->text, last;

	csv->n_fields = 0;
	do {
		unsigned column = (unsigned)(at - csv->text) + 1;

		if (csv->n_fields == CLV_CSV_FIELDS_MAX)
			return clv_csv_fail(csv, column, err, -EINVAL,
				"a row has at most %d fields", CLV_CSV_FIELDS_MAX);
		csv->fields[csv->n_fields++] =
			(struct clv_csv_field){.text = at, .column = column};
		if (*at == '"') {
			int r = read_quoted(csv, &at, err);

			if (r < 0)
				return r;
		} else {
			at += strcspn(at, ",");
		}
		last = *at;
		*at++ = '\0';
	} while (last == ',');
	return 1;
}

int clv_csv_next(struct clv_csv *csv, struct clv_error *err)
{
	int r;

	do {
		r = read_line(csv, err);
		if (r <= 0)
			return r;
	} while (csv->text[0] == '\0');
	return split(csv, err);
}

/* Whether a field of the header is this name; blanks around it do not count. */
static bool is_name(const char *text, const char *name)
{
	size_t length = strlen(name);

	text += strspn(text, " ");
	return strncmp(text, name, length) == 0 &&
	       text[length + strspn(text + length, " ")] == '\0';
}

bool clv_csv_has(const struct clv_csv *csv, const char *name)
{
	for (unsigned i = 0; i < csv->n_fields; i++) {
		if (is_name(csv->fields[i].text, name))
			return true;
	}
	return false;
}

static int find_column(
	const struct clv_csv *csv, const char *name, int *ret, struct clv_error *err)
{
	*ret = -1;
	for (unsigned i = 0; i < csv->n_fields; i++) {
		if (!is_name(csv->fields[i].text, name))
			continue;
		if (*ret >= 0)
			return clv_csv_fail(csv, csv->fields[i].column, err, -EINVAL,
				"the column '%s' appears twice", name);
		*ret = (int)i;
	}
	return 0;
}

int clv_csv_map(const struct clv_csv *csv, const struct clv_csv_column *columns,
	unsigned n_columns, struct clv_csv_map *ret, struct clv_error *err)
{
	ret->columns = columns;
	ret->n_columns = n_columns;
	for (unsigned i = 0; i < n_columns; i++) {
		int r = find_column(csv, columns[i].name, &ret->at[i], err);

		if (r < 0)
			return r;
		if (ret->at[i] < 0 && columns[i].is_required)
			return clv_csv_fail(csv, 1, err, -EINVAL,
				"the column '%s' is missing", columns[i].name);
	}
	return 0;
}

int clv_csv_read(const struct clv_csv *csv, const struct clv_csv_map *map, void *into,
	struct clv_error *err)
{
	for (unsigned i = 0; i < map->n_columns; i++) {
		const struct clv_csv_column *column = &map->columns[i];
		const struct clv_csv_field *field;
		int r;

		if (map->at[i] < 0)
			continue;
		if ((unsigned)map->at[i] >= csv->n_fields)
			return clv_csv_fail(csv, 1, err, -EINVAL,
				"the row ends before its column '%s'", column->name);
		field = &csv->fields[map->at[i]];
		if (field->text[0] == '\0' && column->is_required)
			return clv_csv_fail(csv, field->column, err, -EINVAL,
				"'%s' is empty", column->name);
		if (field->text[0] == '\0')
			continue;
		r = column->read(csv, field, (char *)into + column->offset, err);
		if (r < 0)
			return r;
	}
	return 0;
}

unsigned clv_csv_column_of(
	const struct clv_csv *csv, const struct clv_csv_map *map, const char *name)
{
	for (unsigned i = 0; i < map->n_columns; i++) {
		if (map->at[i] >= 0 && (unsigned)map->at[i] < csv->n_fields &&
			strcmp(map->columns[i].name, name) == 0)
			return csv->fields[map->at[i]].column;
	}
	return 1;
}

static int read_number(const struct clv_csv *csv, const struct clv_csv_field *field,
	uint64_t most, uint64_t *ret, struct clv_error *err)
{
	uint64_t number = 0;

	if (field->text[0] == '-')
		return clv_csv_fail(csv, field->column, err, -EINVAL,
			"'%.40s' is less than 0", field->text);
	for (const char *c = field->text; *c; c++) {
		if (*c < '0' || *c > '9')
			return clv_csv_fail(csv, field->column, err, -EINVAL,
				"'%.40s' is no whole number", field->text);
		if (number > (most - (uint64_t)(*c - '0')) / 10)
			return clv_csv_fail(csv, field->column, err, -ERANGE,
				"'%.40s' is more than %" PRIu64, field->text, most);
		number = number * 10 + (uint64_t)(*c - '0');
	}
	*ret = number;
	return 0;
}

int clv_csv_read_u64(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err)
{
	return read_number(csv, field, INT64_MAX, into, err);
}

int clv_csv_read_u32(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err)
{
	uint64_t number = 0;
	int r = read_number(csv, field, INT32_MAX, &number, err);

	if (r == 0)
		*(uint32_t *)into = (uint32_t)number;
	return r;
}

int clv_csv_read_text(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err)
{
	(void)csv, (void)err;
	*(const char **)into = field->text;
	return 0;
}

int clv_csv_read_decimal(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err)
{
	double number;
	char *end;

	if (strcasecmp(field->text, "nan") == 0)
		return 0;
	number = strtod(field->text, &end);
	if (end == field->text || *end || !isfinite(number))
		return clv_csv_fail(csv, field->column, err, -EINVAL,
			"'%.40s' is no number", field->text);
	if (number < 0)
		return clv_csv_fail(csv, field->column, err, -EINVAL,
			"'%.40s' is less than 0", field->text);
	if (number > INT32_MAX)
		return clv_csv_fail(csv, field->column, err, -ERANGE,
			"'%.40s' is more than %d", field->text, INT32_MAX);
	*(double *)into = number;
	return 0;
}

bool clv_csv_parse_date(const char *text, uint64_t *ret_s)
{
	struct tm date = {0};
	const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &date);
	time_t time_s = end && !*end ? timegm(&date) : -1;

	if (time_s < 0)
		return false;
	*ret_s = (uint64_t)time_s;
	return true;
}

int clv_csv_read_date(const struct clv_csv *csv, const struct clv_csv_field *field,
	void *into, struct clv_error *err)
{
	if (clv_csv_parse_date(field->text, into))
		return 0;
	return clv_csv_fail(csv, field->column, err, -EINVAL,
		"'%.40s' is no time as 2020-06-09 18:41:01", field->text);
}
