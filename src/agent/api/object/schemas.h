/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_field_table;

/* What the objects of the API consist of, and of which of agent/record's tables of fields
 * the others are made.  The tests hold every answer against these. */

struct clv_schema_field {
	const char *name;
	/* "string", "text|other" (one of these), "integer", "number", "boolean", "time",
	 * "object", a schema, "[X]" for a list; with "?" behind it: or null. */
	const char *type;
	const char *about;
};

struct clv_schema {
	const char *name;
	const struct clv_schema_field *fields; /* behind those of the table */
	size_t n_fields;
	/* The first so many are always there, and those that a table shows. */
	size_t n_required;
	const struct clv_field_table *table;
	unsigned int by; /* of the table what these requests may have; 0: what is shown */
};

const struct clv_schema *clv_schemas(size_t *ret_n);

/* The field at this place, from 0 on.  Returns false behind the last. */
bool clv_schema_at(const struct clv_schema *schema, size_t at,
	struct clv_schema_field *ret, bool *ret_is_required);

/* A type as above in JSON Schema. */
json_t *clv_schema_of_type(const char *type);
