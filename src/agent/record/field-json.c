/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the API as JSON, by the tables of their fields. */
#include "agent/record/field-json.h"

#include "agent/record/lease-record.h"
#include "agent/record/scope.h"
#include "agent/user/owner.h"
#include "base/clock.h"
#include "base/units.h"

#include <assert.h>
#include <string.h>

static json_t *text_to_json(const char *text)
{
	json_t *string = json_string(text);

	/* json_string() refuses text that is not UTF-8. */
	return string ? string : json_string("");
}

static json_t *time_to_json(uint64_t real_ns)
{
	char text[32];

	clv_clock_format_rfc3339(real_ns, text);
	return json_string(text);
}

static json_t *owner_to_json(uid_t owner)
{
	return clv_owner_is_user(owner) ? json_integer(owner) : json_null();
}

static json_t *value_to_json(enum clv_field_kind kind, const void *member)
{
	switch (kind) {
	case CLV_FIELD_TEXT:
		return text_to_json(member);
	case CLV_FIELD_BOOL:
		return json_boolean(*(const bool *)member);
	case CLV_FIELD_I32:
		return json_integer(*(const int32_t *)member);
	case CLV_FIELD_U32:
		return json_integer(*(const uint32_t *)member);
	case CLV_FIELD_U64:
		return json_integer((json_int_t) * (const uint64_t *)member);
	case CLV_FIELD_PPM:
		return json_real((double)*(const uint32_t *)member / CLV_PPM);
	case CLV_FIELD_PPM64:
		return json_real((double)*(const uint64_t *)member / CLV_PPM);
	case CLV_FIELD_NS:
		return json_real((double)*(const int64_t *)member / (double)CLV_NS_PER_S);
	case CLV_FIELD_TIME:
		return time_to_json(*(const uint64_t *)member);
	case CLV_FIELD_CLASS:
		return json_string(clv_class_to_string(*(const enum clv_class *)member));
	case CLV_FIELD_ADMIT:
		return json_string(clv_admit_to_string(*(const enum clv_admit *)member));
	case CLV_FIELD_SCOPE:
		return json_string(clv_scope_to_string(*(const enum clv_scope *)member));
	case CLV_FIELD_OWNER:
		return owner_to_json(*(const uid_t *)member);
	default:
		return json_null();
	}
}

/* Whether the member is 0, "" or false. */
static bool is_empty(const struct clv_field *field, const char *member)
{
	if (field->kind == CLV_FIELD_TEXT)
		return member[0] == '\0';
	for (size_t i = 0; i < field->room; i++) {
		if (member[i] != 0)
			return false;
	}
	return true;
}

static json_t *member_to_json(
	const struct clv_field *field, const struct clv_field_view *view)
{
	const void *from =
		field->source == CLV_FIELD_OF_SAMPLE ? view->sample : view->record;
	const char *member = (const char *)from + field->offset;
	bool may_be_null = field->type[strlen(field->type) - 1] == '?';

	/* Owner 0 is root, not "none". */
	if (may_be_null && field->kind != CLV_FIELD_OWNER && is_empty(field, member))
		return json_null();
	return value_to_json(field->kind, member);
}

json_t *clv_field_to_json(
	const struct clv_field_table *table, const struct clv_field_view *view)
{
	json_t *object = json_object();
	size_t n_functions = 0;

	for (size_t i = 0; i < table->n; i++) {
		const struct clv_field *field = &table->rows[i];
		const struct clv_field_show *function;

		if (!field->type || field->source == CLV_FIELD_BY_CALLER)
			continue;
		if (field->source != CLV_FIELD_BY_FUNCTION) {
			json_object_set_new_nocheck(
				object, field->name, member_to_json(field, view));
			continue;
		}
		assert(n_functions < view->n_functions);
		function = &view->functions[n_functions++];
		assert(strcmp(function->name, field->name) == 0);
		json_object_set_new_nocheck(
			object, field->name, function->show(view->object));
	}
	assert(n_functions == view->n_functions);
	return object;
}
