/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* What the objects of the API consist of.  The tests hold every answer against these. */

struct clv_schema_field {
	const char *name;
	/* "string", "text|other" (one of these), "integer", "number", "boolean", "time",
	 * "object", a schema, "[X]" for a list; with "?" behind it: or null. */
	const char *type;
	const char *about;
};

struct clv_schema {
	const char *name;
	const struct clv_schema_field *fields;
	size_t n_fields;
	size_t n_required; /* the first so many are always there */
};

const struct clv_schema *clv_schemas(size_t *ret_n);

/* A type as above in JSON Schema. */
json_t *clv_schema_of_type(const char *type);
