/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that a YAML reader could misinterpret are quoted; others are not. */
#include "cli/frame/yaml-out.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static char *to_yaml(const char *json, bool is_marked)
{
	json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
	char *text = NULL;
	size_t n_bytes = 0;
	FILE *stream = open_memstream(&text, &n_bytes);

	assert_non_null(value);
	assert_int_equal(clv_yaml_write(value, is_marked, stream), 0);
	fclose(stream);
	json_decref(value);
	return text;
}

static void test_values(void **state)
{
	static const struct {
		const char *json;
		const char *yaml;
	} cases[] = {
		{"{\"a\": \"plain-text_1.so\"}", "a: plain-text_1.so\n"},
		{"{\"a\": \"/usr/bin/true\"}", "a: /usr/bin/true\n"},
		{"{\"a\": \"true\"}", "a: \"true\"\n"},
		{"{\"a\": \"No\"}", "a: \"No\"\n"},
		{"{\"y\": \"n\"}", "\"y\": \"n\"\n"},
		{"{\"a\": \"12\"}", "a: \"12\"\n"},
		{"{\"a\": \"1e5\"}", "a: \"1e5\"\n"},
		{"{\"a\": \"\"}", "a: \"\"\n"},
		{"{\"a\": \"2026-01-31T12:00:00.000Z\"}",
			"a: \"2026-01-31T12:00:00.000Z\"\n"},
		{"{\"a\": \"x: y\"}", "a: \"x: y\"\n"},
		{"{\"a\": \"two\\nlines\"}", "a: \"two\\nlines\"\n"},
		{"{\"a\": null, \"b\": true, \"c\": false}",
			"a: null\nb: true\nc: false\n"},
		{"{\"a\": 0.3, \"b\": 1.0, \"c\": 17179869184}",
			"a: 0.3\nb: 1.0\nc: 17179869184\n"},
		{"{\"a\": 1e-6}", "a: 1.0e-6\n"},
		{"{\"items\": []}", "items: []\n"},
		{"{\"items\": [{\"a\": 1, \"b\": [2]}]}",
			"items:\n- a: 1\n  b:\n  - 2\n"},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = to_yaml(cases[i].json, false);

		assert_string_equal(text, cases[i].yaml);
	}
}

static void test_documents_of_a_stream_are_marked(void **state)
{
	_cleanup_free_ char *text = to_yaml("{\"id\": 1}", true);

	assert_string_equal(text, "---\nid: 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_documents_of_a_stream_are_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
