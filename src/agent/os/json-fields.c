/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between structs and JSON objects, driven by tables of fields. */
#include "agent/os/json-fields.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

json_t *clv_json_text(const char *text)
{
	_cleanup_free_ char *clean = NULL;
	json_t *value = json_string(text);

	if (value)
		return value;
	clean = strdup(text);
	for (char *p = clean; p && *p; p++) {
		if ((unsigned char)*p >= 0x80 || (unsigned char)*p < 0x20)
			*p = '?';
	}
	return json_string(clean ? clean : "");
}

void clv_json_set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, clv_json_text(text));
}

/* The widths of the numbers, and their ranges. */
static const struct {
	size_t n_bytes;
	json_int_t least, most;
} numbers[] = {
	[CLV_JSON_U8] = {1, 0, UINT8_MAX},
	[CLV_JSON_U16] = {2, 0, UINT16_MAX},
	[CLV_JSON_U32] = {4, 0, UINT32_MAX},
	[CLV_JSON_I32] = {4, INT32_MIN, INT32_MAX},
	[CLV_JSON_U64] = {8, 0, INT64_MAX},
};

static json_int_t get_number(enum clv_json_type type, const void *from)
{
	union {
		int32_t i32;
		uint64_t u64; /* little-endian: a narrower type is the first bytes of this
			       */
	} value = {.u64 = 0};

	memcpy(&value, from, numbers[type].n_bytes);
	return type == CLV_JSON_I32 ? value.i32 : (json_int_t)value.u64;
}

void clv_json_write(json_t *object, const struct clv_json_table *table, const void *from)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct clv_json_field *field = &table->rows[i];
		const char *member = (const char *)from + field->offset;

		if (field->type == CLV_JSON_TEXT)
			clv_json_set_text(object, field->key, member);
		else if (field->type == CLV_JSON_BOOL)
			json_object_set_new(
				object, field->key, json_boolean(*(const bool *)member));
		else
			json_object_set_new(object, field->key,
				json_integer(get_number(field->type, member)));
	}
}

static bool read_text(const json_t *value, size_t room, char *into)
{
	const char *text = json_string_value(value);

	if (!text || strlen(text) >= room)
		return false;
	memcpy(into, text, strlen(text) + 1);
	return true;
}

static bool read_number(const json_t *value, enum clv_json_type type, void *into)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < numbers[type].least ||
		number > numbers[type].most)
		return false;
	memcpy(into, &number, numbers[type].n_bytes);
	return true;
}

static bool read_field(
	const json_t *value, const struct clv_json_field *field, void *into)
{
	if (field->type == CLV_JSON_TEXT)
		return read_text(value, field->room, into);
	if (field->type != CLV_JSON_BOOL)
		return read_number(value, field->type, into);
	*(bool *)into = json_is_true(value);
	return json_is_boolean(value);
}

int clv_json_read(const json_t *object, const struct clv_json_table *table, void *into,
	struct clv_error *err)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct clv_json_field *field = &table->rows[i];

		if (!read_field(json_object_get(object, field->key), field,
			    (char *)into + field->offset))
			return clv_error_set(err, -EINVAL,
				"%s is missing, of the wrong type or out of range",
				field->key);
	}
	return 0;
}
