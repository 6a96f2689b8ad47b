/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of JSON values with range checks. */
#include "agent/api/request/take.h"

#include "agent/record/field.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int clv_take_text(const char *field, const json_t *value, char *ret, size_t room,
	struct clv_error *err)
{
	const char *text = json_string_value(value);

	if (!text)
		return clv_error_set(err, -EINVAL, "%s must be a string", field);
	if (json_string_length(value) != strlen(text))
		return clv_error_set(err, -EINVAL, "%s must not contain a NUL", field);
	if (strlen(text) >= room)
		return clv_error_set(err, -ERANGE, "%s is over %zu bytes: shorten it",
			field, room - 1);
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}

int clv_take_fraction(
	const char *field, const json_t *value, uint32_t *ret, struct clv_error *err)
{
	double number = json_number_value(value);

	if (!json_is_number(value))
		return clv_error_set(err, -EINVAL,
			"%s must be a number, more than 0 and at most 1", field);
	/* Written so that NaN is refused too. */
	if (!(number > 0 && number <= 1))
		return clv_error_set(err, -ERANGE,
			"%s is %g: it must be more than 0 and at most 1", field, number);
	if (number * CLV_PPM < 0.5)
		return clv_error_set(err, -ERANGE, "%s is %g: the smallest is 0.000001",
			field, number);
	*ret = (uint32_t)(number * CLV_PPM + 0.5);
	return 0;
}

int clv_take_bool(
	const char *field, const json_t *value, bool *ret, struct clv_error *err)
{
	if (!json_is_boolean(value))
		return clv_error_set(err, -EINVAL, "%s must be true or false", field);
	*ret = json_is_true(value);
	return 0;
}

static int take_number(const struct clv_field *field, const json_t *value, uint64_t *ret,
	struct clv_error *err)
{
	const struct clv_field_request *asked = &field->asked;
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < (json_int_t)asked->least ||
		(uint64_t)number > asked->most)
		return clv_error_set(err, -ERANGE,
			"%s must be a whole number %s%s%sfrom %" PRIu64 " to %" PRIu64,
			field->name, asked->unit ? "of " : "",
			asked->unit ? asked->unit : "", asked->unit ? " " : "",
			asked->least, asked->most);
	*ret = (uint64_t)number;
	return 0;
}

int clv_take_field(const struct clv_field *field, const json_t *value, void *request,
	struct clv_error *err)
{
	void *member = (char *)request + field->asked.offset;
	uint64_t number = 0;
	int r;

	switch (field->asked.kind) {
	case CLV_FIELD_TEXT:
		return clv_take_text(field->name, value, member, field->asked.room, err);
	case CLV_FIELD_BOOL:
		return clv_take_bool(field->name, value, member, err);
	case CLV_FIELD_PPM:
		return clv_take_fraction(field->name, value, member, err);
	default:
		r = take_number(field, value, &number, err);
	}
	if (r >= 0 && field->asked.kind == CLV_FIELD_U32)
		*(uint32_t *)member = (uint32_t)number;
	else if (r >= 0)
		*(uint64_t *)member = number;
	return r;
}
