/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of fields: every row is complete, and the values derived from them are
 * correct. */
#include "agent/record/device-fields.h"
#include "agent/record/event-fields.h"
#include "agent/record/field-json.h"
#include "agent/record/lease-fields.h"
#include "agent/record/lease-record.h"
#include "agent/record/lease-request.h"
#include "agent/record/scope.h"
#include "agent/record/standing-fields.h"
#include "agent/record/tenant-fields.h"
#include "agent/record/token-fields.h"
#include "agent/store/store-fields.h"
#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *name;
	const struct clv_field_table *table;
} tables[] = {
	{"device", &clv_device_fields},
	{"event", &clv_event_fields},
	{"lease", &clv_lease_fields},
	{"partition", &clv_partition_fields},
	{"standing", &clv_standing_fields},
	{"tenant", &clv_tenant_fields},
	{"token", &clv_token_fields},
};

static const size_t sizes[_CLV_FIELD_KIND_MAX] = {
	[CLV_FIELD_BOOL] = sizeof(bool),
	[CLV_FIELD_I32] = sizeof(int32_t),
	[CLV_FIELD_U32] = sizeof(uint32_t),
	[CLV_FIELD_U64] = sizeof(uint64_t),
	[CLV_FIELD_PPM] = sizeof(uint32_t),
	[CLV_FIELD_PPM64] = sizeof(uint64_t),
	[CLV_FIELD_NS] = sizeof(uint64_t),
	[CLV_FIELD_TIME] = sizeof(uint64_t),
	[CLV_FIELD_CLASS] = sizeof(enum clv_class),
	[CLV_FIELD_ADMIT] = sizeof(enum clv_admit),
	[CLV_FIELD_SCOPE] = sizeof(enum clv_scope),
	[CLV_FIELD_OWNER] = sizeof(uid_t),
};

static void check_member(const char *what, enum clv_field_kind kind, size_t room)
{
	bool is_right = kind == CLV_FIELD_NONE ? room == 0
			: kind == CLV_FIELD_TEXT || kind == CLV_FIELD_BYTES
				? room > 1
				: room == sizes[kind];

	if (!is_right)
		fail_msg("%s: a member of %zu bytes is not of kind %d", what, room, kind);
}

static void check_asked(const char *what, const struct clv_field *field)
{
	const struct clv_field_request *asked = &field->asked;

	if (asked->number == 0)
		return;
	check_member(what, asked->kind, asked->room);
	assert_true(field->name && asked->type && asked->by != 0);
	if (asked->kind == CLV_FIELD_U32 || asked->kind == CLV_FIELD_U64)
		assert_true(asked->least < asked->most);
	if (asked->passes && (asked->kind != field->kind || asked->room != field->room))
		fail_msg("%s passes into a member that is not like its own", what);
}

static void check_kept(const char *what, const struct clv_field *field)
{
	if (!field->column)
		return;
	assert_true(field->since > 0);
	if (field->kind == CLV_FIELD_NONE || field->source == CLV_FIELD_OF_SAMPLE)
		fail_msg("%s is kept and no member of the record has it", what);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(tables); i++) {
		const struct clv_field_table *table = tables[i].table;

		for (size_t j = 0; j < table->n; j++) {
			const struct clv_field *field = &table->rows[j];
			const char *what = field->name ? field->name : field->column;

			check_member(what, field->kind, field->room);
			check_asked(what, field);
			check_kept(what, field);
			assert_true(field->type || field->column || field->asked.number);
			if (field->type && field->source <= CLV_FIELD_OF_SAMPLE)
				assert_true(field->kind != CLV_FIELD_NONE);
		}
	}
}

static bool is_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static void check_pair(const struct clv_field *a, const struct clv_field *b)
{
	if (is_same(a->column, b->column))
		fail_msg("two rows are kept in %s", a->column);
	if (is_same(a->name, b->name))
		fail_msg("two rows are called %s", a->name);
	if (a->asked.number && a->asked.number == b->asked.number)
		fail_msg("%s and %s have the number %u", a->name, b->name,
			a->asked.number);
}

static void test_rows_are_distinct(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(tables); i++) {
		const struct clv_field_table *table = tables[i].table;
		unsigned int n_asked = 0;

		for (size_t j = 0; j < table->n; j++) {
			n_asked += table->rows[j].asked.number > 0;
			for (size_t k = 0; k < j; k++)
				check_pair(&table->rows[j], &table->rows[k]);
		}
		for (unsigned int n = 1; n <= n_asked; n++) {
			if (!clv_field_asked(table, n))
				fail_msg("%s: no field has the number %u", tables[i].name,
					n);
		}
	}
}

/* A separate table, with features that the table of leases does not use yet. */
struct thing {
	char name[8];
	bool is_new;
	uint32_t share_ppm;
	uint64_t time_real_ns;
};
struct wish {
	uint32_t share_ppm;
};

#define OF(struct_, how, member)                          \
	.kind = how, .offset = offsetof(struct_, member), \
	.room = sizeof(((struct_ *)NULL)->member)

static const struct clv_field thing_rows[] = {
	{"name", "string?", OF(struct thing, CLV_FIELD_TEXT, name), .column = "name",
		.since = 1, .asked = {.number = 2, .by = CLV_FIELD_CREATE}},
	{"state", "string", .source = CLV_FIELD_BY_FUNCTION},
	{"new", "boolean", OF(struct thing, CLV_FIELD_BOOL, is_new), .column = "is_new",
		.since = 3, .changes = true},
	{"share", "number?", OF(struct thing, CLV_FIELD_PPM, share_ppm),
		.column = "share_ppm", .since = 3, .changes = true,
		.asked = {.number = 1,
			.by = CLV_FIELD_CREATE | CLV_FIELD_CHANGE,
			OF(struct wish, CLV_FIELD_PPM, share_ppm),
			.passes = true}},
	{"made_at", "time?", OF(struct thing, CLV_FIELD_TIME, time_real_ns)},
};
static const struct clv_field_table things = {thing_rows, CLV_ARRAY_SIZE(thing_rows)};

static json_t *show_state(const void *object)
{
	return json_string(object);
}

static void check_json(const struct thing *thing, const char *wanted)
{
	static const struct clv_field_show functions[] = {{"state", show_state}};
	struct clv_field_view view = {.record = thing,
		.object = "well",
		.functions = functions,
		.n_functions = 1};
	json_t *object = clv_field_to_json(&things, &view);
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);

	assert_string_equal(text, wanted);
	json_decref(object);
}

static void test_json(void **state)
{
	struct thing thing = {"a", true, 250000, UINT64_C(1769860800000000000)},
		     none = {0};

	check_json(&thing,
		"{\"name\":\"a\",\"state\":\"well\",\"new\":true,\"share\":0.25,"
		"\"made_at\":\"2026-01-31T12:00:00.000Z\"}");
	check_json(&none,
		"{\"name\":null,\"state\":\"well\",\"new\":false,\"share\":null,"
		"\"made_at\":null}");
}

static void test_statements(void **state)
{
	_cleanup_free_ char *put = clv_store_fields_put("things", &things);
	_cleanup_free_ char *read =
		clv_store_fields_read("things", &things, "ORDER BY rowid");
	_cleanup_free_ char *added = NULL;
	size_t n_bytes = 0;
	FILE *out = open_memstream(&added, &n_bytes);

	assert_string_equal(put, "INSERT INTO things(name,is_new,share_ppm) "
				 "VALUES(?1,?2,?3) ON CONFLICT(name) DO UPDATE SET "
				 "is_new=?2,share_ppm=?3");
	assert_string_equal(
		read, "SELECT name,is_new,share_ppm FROM things ORDER BY rowid");
	assert_int_equal(clv_store_fields_version(&things), 3);
	clv_store_fields_add_columns(out, "things", &things, 3);
	fclose(out);
	assert_string_equal(added,
		"ALTER TABLE things ADD COLUMN is_new INTEGER DEFAULT 0;"
		"ALTER TABLE things ADD COLUMN share_ppm INTEGER DEFAULT 0;");
}

static void test_lists(void **state)
{
	char list[64], small[8];

	clv_field_list_asked(&things, CLV_FIELD_CREATE, "and", list, sizeof(list));
	assert_string_equal(list, "share and name");
	clv_field_list_asked(&things, CLV_FIELD_CHANGE, "or", list, sizeof(list));
	assert_string_equal(list, "share");
	clv_field_list_asked(&things, CLV_FIELD_CREATE, "and", small, sizeof(small));
	assert_string_equal(small, "share");
}

static void test_passes(void **state)
{
	struct thing thing = {"a", true, 1, 2};

	clv_field_copy_request(&things, &(struct wish){500000}, &thing);
	assert_int_equal(thing.share_ppm, 500000);
	assert_string_equal(thing.name, "a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_rows_are_distinct),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
