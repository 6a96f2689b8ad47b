/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for all formats: detection, the choice of a configuration, and ConfigMaps. */
#include "import-check.h"

#include "base/error.h"
#include "import/import.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIG_PARTED(name) name ": [{devices: all, mig-enabled: false}]"

static struct clv_yaml *parse(const char *text)
{
	struct clv_yaml *yaml;
	struct clv_error err;

	if (clv_yaml_parse(text, strlen(text), "f", &yaml, &err) < 0)
		fail_msg("%s", err.msg);
	return yaml;
}

static void test_guesses(void **state)
{
	static const struct {
		const char *text;
		const char *format;
	} rows[] = {
		{"version: v1\nmig-configs: {" MIG_PARTED("a") "}\n", "mig-parted"},
		{"sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}\n",
			"device-plugin"},
		{"gpu-config-profiles: {a: {profiles: [{computePartition: SPX, "
		 "memoryPartition: NPS1, numGPUsAssigned: 1}]}}\n",
			"device-config-manager"},
		{"x-internal-integrations: {multiTenantGpu: {instanceType: g5.xlarge, "
		 "timeSlicingReplicas: 2}}\n",
			"compose"},
	};

	assert_int_equal(sizeof(rows) / sizeof(rows[0]), clv_import_n_formats);
	for (size_t i = 0; i < clv_import_n_formats; i++) {
		struct clv_yaml *yaml = parse(rows[i].text);
		struct clv_import import = {0};

		assert_string_equal(clv_import_formats[i].name, rows[i].format);
		assert_true(clv_import_formats[i].title[0] != '\0');
		assert_int_equal(clv_import(NULL, yaml, NULL, &import, NULL), 0);
		assert_ptr_equal(import.format, &clv_import_formats[i]);
		clv_import_clear(&import);
		assert_int_equal(
			clv_import(rows[i].format, yaml, NULL, &import, NULL), 0);
		clv_import_clear(&import);
		assert_null(import.remarks);
		clv_yaml_free(yaml);
	}
}

static void test_named_formats(void **state)
{
	struct clv_yaml *yaml = parse("version: v1\nmig-configs: {}\n");
	struct clv_import import = {0};
	struct clv_error err = {0};

	assert_int_equal(clv_import("compost", yaml, NULL, &import, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "no format is called 'compost'"));
	for (size_t i = 0; i < clv_import_n_formats; i++)
		assert_non_null(strstr(err.msg, clv_import_formats[i].name));
	/* A given format is not guessed. */
	assert_int_equal(clv_import("compose", yaml, NULL, &import, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "multiTenantGpu"));
	clv_yaml_free(yaml);
}

static void test_nothing_known(void **state)
{
	static const struct import_case cases[] = {
		{"a: b\n", NULL, NULL,
			{"f:1:1: none of the formats", "mig-parted (has 'mig-configs')",
				"device-plugin (has 'sharing')",
				"device-config-manager (has 'gpu-config-profiles')",
				"compose (has 'services')", "ConfigMap"}},
		{"[]\n", NULL, NULL, {"none of the formats"}},
		{"text\n", NULL, NULL, {"none of the formats"}},
		{"version: 1\ndevices: []\n", NULL, NULL, {"this is a layout already"}},
		{"mig-configs: {\"a\\nb\": [], \"c\\td\": []}\nversion: v1\n", NULL, NULL,
			{"a?b, c?d"}},
		{"\"a\\nb\": 1\nsharing: {}\n", NULL, NULL, {"unknown key 'a?b'"}},
	};

	CHECK_IMPORTS(cases);
}

static void test_selection(void **state)
{
#define TWO "version: v1\nmig-configs: {" MIG_PARTED("one") ", " MIG_PARTED("two") "}\n"
	static const struct import_case cases[] = {
		{TWO, NULL, NULL,
			{"f:2:14: this has 2",
				"choose the configuration with --select: one, two"}},
		{TWO, "two", "nvidia mig=off\n", {NULL}},
		{TWO, "tow", NULL,
			{"no configuration is called 'tow': did you mean 'two'?"}},
		{TWO, "something", NULL, {"there are one, two"}},
		{TWO, "", NULL, {"no configuration is called ''"}},
		{"version: v1\nmig-configs: {" MIG_PARTED("one") "}\n", "two", NULL,
			{"no configuration is called 'two': there are one"}},
	};

	CHECK_IMPORTS(cases);
}

static void test_long_lists(void **state)
{
	char text[4096] = "version: v1\nmig-configs: {";
	struct clv_import import = {0};
	struct clv_error err = {0};
	struct clv_yaml *yaml;

	for (int i = 0; i < 80; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			"configuration-%d: [], ", i);
	strcat(text, "}");
	yaml = parse(text);
	assert_int_equal(clv_import(NULL, yaml, NULL, &import, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "this has 80"));
	assert_string_equal(err.msg + strlen(err.msg) - 5, ", ...");
	clv_yaml_free(yaml);
}

static void test_configmaps(void **state)
{
#define MAP "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
#define INNER(name) "    version: v1\n    mig-configs: {" MIG_PARTED(name) "}\n"
	static const struct import_case cases[] = {
		{MAP "data:\n  config.yaml: |\n" INNER("a"), NULL, "nvidia mig=off\n",
			{NULL}},
		{MAP "data:\n  config.yaml: |\n" INNER("a"), "a", "nvidia mig=off\n",
			{NULL}},
		{MAP "data:\n  config.yaml: |\n" INNER("a"), "config.yaml/a",
			"nvidia mig=off\n", {NULL}},
		{MAP "data:\n  config.yaml: |\n" INNER("a"), "config.yaml",
			"nvidia mig=off\n", {NULL}},
		{MAP "data:\n  config.yaml: |\n" INNER("a"), "b", NULL,
			{"no configuration is called 'b'"}},
		/* line numbers of the embedded file */
		{MAP "data:\n  config.yaml: |\n    version: v1\n    mig-config: {}\n    "
		     "mig-configs: {}\n",
			NULL, NULL, {"f:7:1: unknown key 'mig-config'"}},
		{MAP "data:\n  one: |\n    a: b\n  two: |\n    version: v1\n    c: d\n   "
		     " "
		     "mig-configs: {}\n",
			"two", NULL, {"f:9:1: unknown key 'c'"}},
		/* a quoted value has no lines of its own */
		{MAP "data: {\"a\": \"version: v1\\nmig-config: {}\\nmig-configs: "
		     "{}\"}\n",
			NULL, NULL, {"f (the text in line 4):2:1: unknown key"}},
		{MAP "data:\n  one: |\n" INNER("a") "  two: |\n" INNER("b"), NULL, NULL,
			{"f:5:3:", "choose the entry of the ConfigMap", "one, two"}},
		{MAP "data:\n  one: |\n" INNER("a") "  two: |\n" INNER("b"), "two",
			"nvidia mig=off\n", {NULL}},
		{MAP "data:\n  one: |\n" INNER("a") "  two: |\n" INNER("b"), "two/b",
			"nvidia mig=off\n", {NULL}},
		{MAP "data:\n  one: |\n" INNER("a") "  two: |\n" INNER("b"), "two/a",
			NULL, {"no configuration is called 'a'"}},
		{MAP "data:\n  one: |\n" INNER("a") "  two: |\n" INNER("b"), "tow", NULL,
			{"no entry of the ConfigMap is called 'tow': did you mean "
			 "'two'?"}},
		{MAP, NULL, NULL, {"this ConfigMap is empty"}},
		{MAP "data: {}\n", NULL, NULL, {"there is no entry of the ConfigMap"}},
		{MAP "data: {a: {b: c}}\n", NULL, NULL, {"a file's content is expected"}},
		{MAP "data: {a: \"\"}\n", NULL, NULL, {"a file's content is expected"}},
		{MAP "data: [a]\n", NULL, NULL, {"names of files and their contents"}},
		{MAP "data: [a, b]\n", "a", NULL, {"names of files and their contents"}},
		{MAP "data:\n  a: |\n    b: [\n", NULL, NULL, {"f:7:1:", "invalid YAML"}},
		{"kind: Secret\ndata: {}\n", NULL, NULL, {"none of the formats"}},
	};

	CHECK_IMPORTS(cases);
}

/* Manifests of Kubernetes: others stand before and after the one to import. */
static void test_documents(void **state)
{
#define OTHER "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: x}\n"
#define CONFIG "version: v1\nmig-configs: {" MIG_PARTED("a") "}\n"
	static const struct import_case cases[] = {
		{OTHER "---\n" MAP "data:\n  config.yaml: |\n" INNER("a") OTHER, NULL,
			"nvidia mig=off\n", {NULL}},
		{OTHER "---\n" CONFIG, "a", "nvidia mig=off\n", {NULL}},
		{CONFIG OTHER, NULL, "nvidia mig=off\n", {NULL}},
		{"# comment\n---\n# another\n---\n" CONFIG "---\n---\n", NULL,
			"nvidia mig=off\n", {NULL}},
		{"%YAML 1.1\n---\n" CONFIG "...\n---\n{}\n", NULL, "nvidia mig=off\n",
			{NULL}},
		{"--- {"
		 "version: v1, mig-configs: {" MIG_PARTED("a") "}}\n---\n1\n",
			NULL, "nvidia mig=off\n", {NULL}},
		/* another ConfigMap, of something else */
		{"---\n" MAP "data:\n  clients.yaml: |\n    version: v1\n---\n" MAP
		 "data:\n  config.yaml: |\n" INNER("a"),
			NULL, "nvidia mig=off\n", {NULL}},
		/* not a separator: it is inside a text */
		{MAP "data:\n  config.yaml: |\n    ---\n" INNER("a"), NULL,
			"nvidia mig=off\n", {NULL}},
		/* line numbers are those of the file */
		{OTHER "---\n" MAP "data:\n  config.yaml: |\n    version: v1\n"
		       "    mig-config: {}\n    mig-configs: {}\n",
			NULL, NULL, {"f:12:1: unknown key 'mig-config'"}},
		{OTHER "---\na: [\n---\n" CONFIG, NULL, NULL, {"f:7:", "invalid YAML"}},
		{OTHER OTHER, NULL, NULL, {"none of its 2 documents can be imported"}},
		{CONFIG OTHER "---\n" CONFIG, NULL, NULL,
			{"f:8:1: a second document that can be imported",
				"the one in line 1"}},
		{"---\n...\n---\n" CONFIG "...\n", NULL, "nvidia mig=off\n", {NULL}},
		{"---\n---\n", NULL, NULL, {"none of the formats"}},
	};

	CHECK_IMPORTS(cases);
}

/* Each document is read by itself, so their number is bounded. */
static void test_many_documents(void **state)
{
	char text[512] = "";
	struct clv_yaml *yaml;
	struct clv_error err = {0};

	for (int i = 0; i < 65; i++)
		strcat(text, "---\n1\n");
	assert_int_equal(clv_import_parse(text, strlen(text), "f", &yaml, &err), -E2BIG);
	assert_string_equal(err.msg, "f: more than 64 documents");
	assert_int_equal(
		clv_import_parse(text, strlen(text) - 6, "f", &yaml, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "none of its 64 documents"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guesses),
		cmocka_unit_test(test_named_formats),
		cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_configmaps),
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_many_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
