/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of requests, compared with their schema: a field that it does not have, or one
 * that is missing, a wrong type, and a value out of range are errors.  So consoles and
 * other clients can rely on what they read. */
#include "agent/api/request/request-object.h"

#include "agent/api/object/schemas.h"
#include "agent/http/http.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX_BYTES 512u
#define INTEGER_MAX (INT64_C(1) << 53) /* what a double has */
#define TYPE_MAX 64

static int check_object(
	const char *schema_name, const json_t *value, struct clv_error *err);

static int check_text(const char *field, const json_t *value, struct clv_error *err)
{
	const char *text = json_string_value(value);

	if (!text)
		return clv_error_set(err, -EINVAL, "%s must be a string", field);
	if (strlen(text) > TEXT_MAX_BYTES)
		return clv_error_set(err, -ERANGE, "%s is over %u bytes: shorten it",
			field, TEXT_MAX_BYTES);
	if (!clv_text_is_line(text))
		return clv_error_set(err, -EINVAL,
			"%s must be one line without control characters", field);
	return 0;
}

static int check_time(const char *field, const json_t *value, struct clv_error *err)
{
	const char *text = json_string_value(value);
	int64_t seconds;

	if (!text || clv_clock_parse_rfc3339(text, &seconds) < 0)
		return clv_error_set(
			err, -EINVAL, "%s must be a time of RFC 3339 in UTC", field);
	return 0;
}

static int check_integer(const char *field, const json_t *value, struct clv_error *err)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		json_integer_value(value) > INTEGER_MAX)
		return clv_error_set(
			err, -ERANGE, "%s must be a whole number from 0 to 2^53", field);
	return 0;
}

static int check_number(const char *field, const json_t *value, struct clv_error *err)
{
	double number = json_number_value(value);

	/* Written so that NaN is refused too. */
	if (!json_is_number(value) || !(number >= 0 && number <= 1))
		return clv_error_set(
			err, -ERANGE, "%s must be a number from 0 to 1", field);
	return 0;
}

static int check_boolean(const char *field, const json_t *value, struct clv_error *err)
{
	return json_is_boolean(value)
		       ? 0
		       : clv_error_set(err, -EINVAL, "%s must be true or false", field);
}

/* type: "text|other". */
static int check_choice(
	const char *field, const char *type, const json_t *value, struct clv_error *err)
{
	const char *text = json_string_value(value);
	size_t n_text = text ? strlen(text) : 0;

	for (const char *p = type; text && *p != '\0';) {
		size_t n = strcspn(p, "|");

		if (n == n_text && memcmp(p, text, n) == 0)
			return 0;
		p += n + (p[n] == '|');
	}
	return clv_error_set(err, -EINVAL, "%s must be one of %s", field, type);
}

static const struct {
	const char *type;
	int (*check)(const char *field, const json_t *value, struct clv_error *err);
} simple[] = {
	{"string", check_text},
	{"time", check_time},
	{"integer", check_integer},
	{"number", check_number},
	{"boolean", check_boolean},
};

/* A type that is no list. */
static int check_item(
	const char *field, const char *type, const json_t *value, struct clv_error *err)
{
	for (size_t i = 0; i < sizeof(simple) / sizeof(simple[0]); i++) {
		if (strcmp(simple[i].type, type) == 0)
			return simple[i].check(field, value, err);
	}
	return type[0] >= 'A' && type[0] <= 'Z' ? check_object(type, value, err)
						: check_choice(field, type, value, err);
}

static int check_value(
	const struct clv_schema_field *field, const json_t *value, struct clv_error *err)
{
	char inner[TYPE_MAX];
	size_t i;
	json_t *item;
	int r = 0;

	if (field->type[0] != '[')
		return check_item(field->name, field->type, value, err);
	if (!json_is_array(value))
		return clv_error_set(err, -EINVAL, "%s must be a list", field->name);
	snprintf(inner, sizeof(inner), "%.*s", (int)strlen(field->type) - 2,
		field->type + 1);
	json_array_foreach (value, i, item) {
		if (r >= 0)
			r = check_item(field->name, inner, item, err);
	}
	return r;
}

static const struct clv_schema *find_schema(const char *name)
{
	const struct clv_schema *schemas;
	size_t n;

	schemas = clv_schemas(&n);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(schemas[i].name, name) == 0)
			return &schemas[i];
	}
	return NULL;
}

static int check_object(
	const char *schema_name, const json_t *value, struct clv_error *err)
{
	const struct clv_schema *schema = find_schema(schema_name);
	struct clv_schema_field field;
	bool is_required;
	size_t n_known = 0;
	int r = 0;

	if (!json_is_object(value))
		return clv_error_set(
			err, -EINVAL, "a %s must be a JSON object", schema_name);
	for (size_t i = 0; r >= 0 && clv_schema_at(schema, i, &field, &is_required);
		i++) {
		const json_t *member = json_object_get(value, field.name);

		n_known += member != NULL;
		if (member)
			r = check_value(&field, member, err);
		else if (is_required)
			r = clv_error_set(err, -EINVAL, "%s is missing in a %s",
				field.name, schema_name);
	}
	if (r >= 0 && json_object_size(value) != n_known)
		r = clv_error_set(err, -EINVAL,
			"a %s has an unknown field: /openapi.json lists the fields",
			schema_name);
	return r;
}

int clv_request_parse_object(const char *schema, const char *data, size_t n_bytes,
	json_t **ret, struct clv_error *err)
{
	json_error_t problem;
	json_t *root;
	int r;

	if (n_bytes > CLV_REQUEST_MAX_BYTES)
		return clv_error_set(err, -EMSGSIZE,
			"the body is over %u bytes: a %s must be smaller",
			CLV_REQUEST_MAX_BYTES, schema);
	root = json_loadb(data, n_bytes, JSON_REJECT_DUPLICATES, &problem);
	if (!root) {
		clv_text_make_printable(problem.text);
		return clv_error_set(err, -EINVAL,
			"the body is not valid JSON (line %d, column %d): %.120s",
			problem.line, problem.column, problem.text);
	}
	r = check_object(schema, root, err);
	if (r < 0) {
		json_decref(root);
		return r;
	}
	*ret = root;
	return 0;
}
