/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

#include <sqlite3.h>
#include <stdio.h>

/* SQL statements for records, derived from their tables of fields.  Each statement names
 * its columns, so the order of the columns in the file does not matter. */

/* Return a statement that the caller frees; NULL: out of memory.  put inserts a row, or,
 * if one with the same value of the first column exists, updates the columns that have
 * "changes" set.  read selects all columns; rest is its WHERE or ORDER BY clause. */
char *clv_store_fields_put(const char *name, const struct clv_field_table *table);
char *clv_store_fields_read(
	const char *name, const struct clv_field_table *table, const char *rest);

/* Binds the members of the record.  Texts are not copied: the record must outlive the
 * execution of the statement. */
void clv_store_fields_bind(
	sqlite3_stmt *put, const struct clv_field_table *table, const void *record);
/* Sets the stored members of the record.  An unknown class or admit becomes the default,
 * an unknown scope _CLV_SCOPE_INVALID. */
void clv_store_fields_get(
	sqlite3_stmt *row, const struct clv_field_table *table, void *record);

/* The latest version of the state file that added a column of the table, and the
 * statements that add the columns of one version. */
int clv_store_fields_version(const struct clv_field_table *table);
void clv_store_fields_add_columns(
	FILE *out, const char *name, const struct clv_field_table *table, int version);
