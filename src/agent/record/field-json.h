/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/field.h"

#include <jansson.h>

/* How the fields by function are shown, a row for each in the order of the table. */
struct clv_field_show {
	const char *name;
	json_t *(*show)(const void *object);
};

/* What an object's fields are read from. */
struct clv_field_view {
	const void *record, *sample;
	const void *object; /* what the functions get */
	const struct clv_field_show *functions;
	size_t n_functions;
};

/* The shown fields of the table, in its order.  The caller owns the result. */
json_t *clv_field_to_json(
	const struct clv_field_table *table, const struct clv_field_view *view);
