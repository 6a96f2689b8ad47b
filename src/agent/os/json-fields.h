/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* Converts structs to JSON objects and back, by tables of their members. */

enum clv_json_type {
	CLV_JSON_TEXT, /* char[] */
	CLV_JSON_BOOL,
	CLV_JSON_U8,
	CLV_JSON_U16,
	CLV_JSON_U32,
	CLV_JSON_I32,
	CLV_JSON_U64,
};

struct clv_json_field {
	const char *key;
	enum clv_json_type type;
	size_t offset, room; /* of the member, in bytes */
	const char *about;   /* for the schema of the API; NULL: the key suffices */
};

/* The members of an object that have the same names and values in JSON. */
struct clv_json_table {
	const struct clv_json_field *rows;
	size_t n;
};

#define CLV_JSON_FIELD(type, key, kind, member, ...)                               \
	{                                                                          \
		key, kind, offsetof(type, member), sizeof(((type *)NULL)->member), \
			__VA_ARGS__                                                \
	}

/* Drivers sometimes return text that is not UTF-8: its non-ASCII bytes become '?'. */
json_t *clv_json_text(const char *text);
void clv_json_set_text(json_t *object, const char *key, const char *text);

void clv_json_write(json_t *object, const struct clv_json_table *table, const void *from);

/* Reads all fields into a struct; other keys are ignored.  -EINVAL: a field is missing,
 * has another type or is out of range. */
int clv_json_read(const json_t *object, const struct clv_json_table *table, void *into,
	struct clv_error *err);
