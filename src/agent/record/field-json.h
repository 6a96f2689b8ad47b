/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

#include <jansson.h>

/* The functions of the fields with CLV_FIELD_BY_FUNCTION, in the order of the table. */
struct clv_field_show {
	const char *name;
	json_t *(*show)(const void *object);
};

/* The structs that an object's fields are read from. */
struct clv_field_view {
	const void *record, *sample;
	const void *object; /* the argument of the functions */
	const struct clv_field_show *functions;
	size_t n_functions;
};

/* Makes a JSON object of the fields of answers, in the order of the table.  The caller
 * owns the result. */
json_t *clv_field_to_json(
	const struct clv_field_table *table, const struct clv_field_view *view);
