/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the SQL of records from their tables of fields, and binds and reads their
 * columns. */
#include "agent/store/store-fields.h"

#include "agent/record/lease-record.h"
#include "agent/record/scope.h"
#include "agent/store/store-internal.h"

#include <string.h>

/* The first stored field from this row on; NULL: there is none. */
static const struct clv_field *next_stored(
	const struct clv_field_table *table, const struct clv_field *from)
{
	while (from < table->rows + table->n && !from->column)
		from++;
	return from < table->rows + table->n ? from : NULL;
}

static void write_columns(FILE *out, const struct clv_field_table *table)
{
	const struct clv_field *first = next_stored(table, table->rows);

	for (const struct clv_field *f = first; f; f = next_stored(table, f + 1))
		fprintf(out, "%s%s", f == first ? "" : ",", f->column);
}

static void write_update(FILE *out, const struct clv_field_table *table)
{
	const struct clv_field *first = next_stored(table, table->rows);
	bool has_begun = false;
	int n = 0;

	for (const struct clv_field *f = first; f; f = next_stored(table, f + 1)) {
		n++;
		if (!f->changes)
			continue;
		if (!has_begun)
			fprintf(out, " ON CONFLICT(%s) DO UPDATE SET ", first->column);
		fprintf(out, "%s%s=?%d", has_begun ? "," : "", f->column, n);
		has_begun = true;
	}
}

static void write_put(FILE *out, const char *name, const struct clv_field_table *table)
{
	const struct clv_field *first = next_stored(table, table->rows);
	int n = 0;

	fprintf(out, "INSERT INTO %s(", name);
	write_columns(out, table);
	fputs(") VALUES(", out);
	for (const struct clv_field *f = first; f; f = next_stored(table, f + 1))
		fprintf(out, "%s?%d", f == first ? "" : ",", ++n);
	fputs(")", out);
	write_update(out, table);
}

char *clv_store_fields_put(const char *name, const struct clv_field_table *table)
{
	char *text = NULL;
	size_t n_bytes = 0;
	FILE *out = open_memstream(&text, &n_bytes);

	if (out)
		write_put(out, name, table);
	return out && fclose(out) == 0 ? text : NULL;
}

char *clv_store_fields_read(
	const char *name, const struct clv_field_table *table, const char *rest)
{
	char *text = NULL;
	size_t n_bytes = 0;
	FILE *out = open_memstream(&text, &n_bytes);

	if (!out)
		return NULL;
	fputs("SELECT ", out);
	write_columns(out, table);
	fprintf(out, " FROM %s %s", name, rest);
	return fclose(out) == 0 ? text : NULL;
}

static const char *text_of(enum clv_field_kind kind, const void *member)
{
	if (kind == CLV_FIELD_CLASS)
		return clv_class_to_string(*(const enum clv_class *)member);
	if (kind == CLV_FIELD_ADMIT)
		return clv_admit_to_string(*(const enum clv_admit *)member);
	if (kind == CLV_FIELD_SCOPE)
		return clv_scope_to_string(*(const enum clv_scope *)member);
	return kind == CLV_FIELD_TEXT ? member : NULL;
}

static sqlite3_int64 number_of(enum clv_field_kind kind, const void *member)
{
	switch (kind) {
	case CLV_FIELD_BOOL:
		return *(const bool *)member;
	case CLV_FIELD_I32:
		return *(const int32_t *)member;
	case CLV_FIELD_U32:
	case CLV_FIELD_PPM:
		return *(const uint32_t *)member;
	case CLV_FIELD_OWNER:
		return *(const uid_t *)member == (uid_t)-1
			       ? -1
			       : (sqlite3_int64) * (const uid_t *)member;
	default:
		return (sqlite3_int64) * (const uint64_t *)member;
	}
}

void clv_store_fields_bind(
	sqlite3_stmt *put, const struct clv_field_table *table, const void *record)
{
	int at = 0;

	for (const struct clv_field *f = next_stored(table, table->rows); f;
		f = next_stored(table, f + 1)) {
		const void *member = (const char *)record + f->offset;
		const char *text = text_of(f->kind, member);

		at++;
		if (text)
			clv_store_bind_text(put, at, text);
		else if (f->kind == CLV_FIELD_BYTES)
			sqlite3_bind_blob(put, at, member, (int)f->room, SQLITE_STATIC);
		else
			sqlite3_bind_int64(put, at, number_of(f->kind, member));
	}
}

static void set_number(enum clv_field_kind kind, sqlite3_int64 number, void *member)
{
	switch (kind) {
	case CLV_FIELD_BOOL:
		*(bool *)member = number != 0;
		break;
	case CLV_FIELD_I32:
		*(int32_t *)member = (int32_t)number;
		break;
	case CLV_FIELD_U32:
	case CLV_FIELD_PPM:
	case CLV_FIELD_OWNER:
		*(uint32_t *)member = (uint32_t)number;
		break;
	default:
		*(uint64_t *)member = (uint64_t)number;
	}
}

static void set(const struct clv_field *field, sqlite3_stmt *row, int at, void *member)
{
	const char *text = clv_store_text(row, at);
	int value;

	switch (field->kind) {
	case CLV_FIELD_TEXT:
		snprintf(member, field->room, "%s", text);
		break;
	case CLV_FIELD_CLASS:
		value = clv_class_from_string(text);
		*(enum clv_class *)member =
			value < 0 ? CLV_CLASS_NORMAL : (enum clv_class)value;
		break;
	case CLV_FIELD_ADMIT:
		value = clv_admit_from_string(text);
		*(enum clv_admit *)member =
			value < 0 ? CLV_ADMIT_HOLDERS : (enum clv_admit)value;
		break;
	case CLV_FIELD_SCOPE:
		*(enum clv_scope *)member = clv_scope_from_string(text);
		break;
	case CLV_FIELD_BYTES:
		if ((size_t)sqlite3_column_bytes(row, at) == field->room)
			memcpy(member, sqlite3_column_blob(row, at), field->room);
		break;
	default:
		set_number(field->kind, sqlite3_column_int64(row, at), member);
	}
}

void clv_store_fields_get(
	sqlite3_stmt *row, const struct clv_field_table *table, void *record)
{
	int at = 0;

	for (const struct clv_field *f = next_stored(table, table->rows); f;
		f = next_stored(table, f + 1))
		set(f, row, at++, (char *)record + f->offset);
}

static bool is_text(enum clv_field_kind kind)
{
	return kind == CLV_FIELD_TEXT || kind == CLV_FIELD_CLASS ||
	       kind == CLV_FIELD_ADMIT || kind == CLV_FIELD_SCOPE;
}

int clv_store_fields_version(const struct clv_field_table *table)
{
	int version = 0;

	for (const struct clv_field *f = next_stored(table, table->rows); f;
		f = next_stored(table, f + 1)) {
		if (f->since > version)
			version = f->since;
	}
	return version;
}

void clv_store_fields_add_columns(
	FILE *out, const char *name, const struct clv_field_table *table, int version)
{
	for (const struct clv_field *f = next_stored(table, table->rows); f;
		f = next_stored(table, f + 1)) {
		if (f->since == version)
			fprintf(out, "ALTER TABLE %s ADD COLUMN %s %s;", name, f->column,
				is_text(f->kind) ? "TEXT DEFAULT ''"
						 : "INTEGER DEFAULT 0");
	}
}
