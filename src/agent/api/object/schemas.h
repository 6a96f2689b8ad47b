/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_field_table;
struct clv_json_table;

/* The schemas of the API's objects: fields that are listed here, and those of the tables
 * of fields of agent/record and of members of agent/driver/node-json.h.  Tests check
 * every answer against them. */

struct clv_schema_field {
	const char *name;
	/* "string", "text|other" (one of these), "integer", "number", "boolean", "time",
	 * "object", the name of a schema, "[X]" for a list; with "?" at the end: or
	 * null. */
	const char *type;
	const char *about; /* a description, or NULL */
};

struct clv_schema {
	const char *name;
	const struct clv_schema_field *fields; /* after those of a table */
	size_t n_fields;
	/* The first n_required of fields (of a request: of its fields) are always
	 * present, and all that a table shows. */
	size_t n_required;
	const struct clv_field_table *table;
	const struct clv_json_table *members;
	/* For a request: its fields of the table, CLV_FIELD_*; 0: for an answer. */
	unsigned int by;
};

/* All schemas; static. */
const struct clv_schema *clv_schemas(size_t *ret_n);

/* The field with this index.  Returns false behind the last. */
bool clv_schema_at(const struct clv_schema *schema, size_t at,
	struct clv_schema_field *ret, bool *ret_is_required);

/* A type (see clv_schema_field) as JSON Schema. */
json_t *clv_schema_of_type(const char *type);
