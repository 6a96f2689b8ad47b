/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

#include <sqlite3.h>
#include <stdio.h>

/* Records in tables of the state file, by their tables of fields.  Columns are named in
 * each statement: their order in the file does not matter. */

/* Statements, to be freed; NULL without memory.  put: inserts, or, where the first
 * column's value is there, updates what changes.  read: all rows, oldest first. */
char *clv_store_fields_put(const char *name, const struct clv_field_table *table);
char *clv_store_fields_read(
	const char *name, const struct clv_field_table *table, const char *rest);

/* Texts stay the record's until the statement has run. */
void clv_store_fields_bind(
	sqlite3_stmt *put, const struct clv_field_table *table, const void *record);
/* Fills in the members that are kept; a text that no class or admit has is the default
 * one. */
void clv_store_fields_get(
	sqlite3_stmt *row, const struct clv_field_table *table, void *record);

/* The last version that brought a column; and the statements that add a version's. */
int clv_store_fields_version(const struct clv_field_table *table);
void clv_store_fields_add_columns(
	FILE *out, const char *name, const struct clv_field_table *table, int version);
