/* SPDX-License-Identifier: Apache-2.0 */
/* The choices that the schemas list are those that the code has names for, each once. */
#include "agent/api/object/schemas.h"
#include "agent/apply/apply-internal.h"
#include "agent/layout/reapply.h"
#include "agent/publish/actions.h"
#include "agent/record/lease-record.h"
#include "agent/record/scope.h"
#include "core/device/assignable.h"
#include "core/device/health.h"
#include "core/device/node.h"
#include "core/layout/layout.h"
#include "core/share/advise.h"
#include "core/share/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The names from 0 on; NULL after the last. */
#define NAMES(what, max, call)                         \
	static const char *what(int i)                 \
	{                                              \
		return i < (int)(max) ? (call) : NULL; \
	}
NAMES(class_name, _CLV_CLASS_MAX, clv_class_to_string((enum clv_class)i))
NAMES(scope_name, _CLV_SCOPE_MAX, clv_scope_to_string((enum clv_scope)i))
NAMES(assignable_name, _CLV_ASSIGNABLE_MAX,
	clv_assignable_to_string((enum clv_assignable)i))
NAMES(admit_name, _CLV_ADMIT_MAX, clv_admit_to_string((enum clv_admit)i))
NAMES(advice_name, _CLV_ADVICE_MAX, clv_advice_kind_to_string((enum clv_advice_kind)i))
NAMES(health_name, _CLV_HEALTH_STATE_MAX,
	clv_health_state_to_string((enum clv_health_state)i))
NAMES(on_busy_name, _CLV_ON_BUSY_MAX, clv_on_busy_to_string((enum clv_on_busy)i))
NAMES(action_name, _CLV_ACTION_STATE_MAX,
	clv_action_state_to_string((enum clv_action_state)i))
NAMES(operation_name, _STATE_MAX, clv_operation_states[i])
static const char *wanted_name(int i)
{
	return clv_reapply_states[i];
}

NAMES(any_scheme_name, _CLV_SCHEME_MAX, clv_scheme_to_string((enum clv_scheme)i))

/* What is shown has a scheme. */
NAMES(scheme_name, _CLV_SCHEME_MAX - 1, clv_scheme_to_string((enum clv_scheme)(i + 1)))
NAMES(confidence_name, 3,
	clv_advise_confidence(i == 0   ? 0
			      : i == 1 ? CLV_ADVISE_MEDIUM_AFTER_S
				       : CLV_ADVISE_HIGH_AFTER_S))

static const struct {
	const char *schema, *field; /* schema NULL: of any */
	const char *(*name)(int i); /* NULL: the code has no table of these names */
} choices[] = {
	{NULL, "class", class_name},
	{NULL, "scope", scope_name},
	{NULL, "admit", admit_name},
	{"NodeDevice", "scheme", any_scheme_name},
	{"NodeDevice", "assignable", assignable_name},
	{NULL, "scheme", scheme_name},
	{"Advice", "kind", advice_name},
	{"Advice", "confidence", confidence_name},
	{"Health", "state", health_name},
	{"Operation", "state", operation_name},
	{"Action", "state", action_name},
	{"ActionRequest", "do", NULL},
	{"ActionResult", "state", NULL},
	{"ShareChange", "change", NULL},
	{"Plan", "on_busy", on_busy_name},
	{"WantedDevice", "state", wanted_name},
	{"Stage", "state", NULL},
	{"Lease", "state", NULL},
	{"Lease", "memory_held_by", NULL},
	{"LeaseRequest", "isolation", NULL},
	{"SmLimit", "held_by", NULL},
	{"Device", "executor", NULL},
};

static bool has(const char *type, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = type; *at; at += strcspn(at, "|?"), at += *at != '\0') {
		if (strncmp(at, name, n) == 0 && strchr("|?", at[n]))
			return true;
	}
	return false;
}

static size_t count(const char *type)
{
	size_t n = 1;

	for (; *type; type++)
		n += *type == '|';
	return n;
}

static void check_names(const char *where, const char *type, const char *(*name)(int i))
{
	size_t n = 0;

	for (; name(n); n++) {
		if (!has(type, name(n)))
			fail_msg("%s is %s, without %s", where, type, name(n));
	}
	if (n != count(type))
		fail_msg("%s is %s, and the code has %zu names", where, type, n);
}

static void check(const char *schema, const struct clv_schema_field *field)
{
	char where[96];

	snprintf(where, sizeof(where), "%s.%s", schema, field->name);
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		if (strcmp(choices[i].field, field->name) != 0 ||
			(choices[i].schema && strcmp(choices[i].schema, schema) != 0))
			continue;
		if (choices[i].name)
			check_names(where, field->type, choices[i].name);
		return;
	}
	fail_msg("no row of this test has %s (%s)", where, field->type);
}

static void test_choices(void **state)
{
	size_t n, n_choices = 0;
	const struct clv_schema *schemas = clv_schemas(&n);
	struct clv_schema_field field;
	bool is_required;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; clv_schema_at(&schemas[i], k, &field, &is_required);
			k++) {
			if (!strchr(field.type, '|'))
				continue;
			check(schemas[i].name, &field);
			n_choices++;
		}
	}
	assert_true(n_choices >= sizeof(choices) / sizeof(choices[0]));
}

/* A name that is only the beginning of another is none of the choices. */
static void test_has(void **state)
{
	assert_true(has("a|bc|d?", "bc") && has("a|bc|d?", "d") && has("a", "a"));
	assert_false(has("a|bc|d?", "b") || has("a|bc", "c") || has("a|bc", ""));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
