/* SPDX-License-Identifier: Apache-2.0 */
#include "import-check.h"

#include "base/error.h"
#include "base/yaml.h"
#include "import/import.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void write_select(FILE *to, const struct clv_selector *select)
{
	fputs(select->vendor, to);
	if (select->model[0])
		fprintf(to, " %s", select->model);
	for (size_t i = 0; i < select->n_indexes; i++)
		fprintf(to, "%s%" PRIu32 "%s", i ? "," : " [", select->indexes[i],
			i + 1 == select->n_indexes ? "]" : "");
	for (size_t i = 0; i < select->n_names; i++)
		fprintf(to, "%s%s%s", i ? "," : " {", select->names[i],
			i + 1 == select->n_names ? "}" : "");
}

static void write_partition(FILE *to, const struct clv_layout_partition *partition)
{
	fprintf(to, " %s*%" PRIu32, partition->profile, partition->count);
	if (partition->shares.n_equal)
		fprintf(to, "/%" PRIu32, partition->shares.n_equal);
	for (size_t i = 0; i < partition->n_parts; i++)
		fprintf(to, "%s%" PRIu32 "c%s", i ? "," : "(", partition->parts[i],
			i + 1 == partition->n_parts ? ")" : "");
}

static void write_rule(FILE *to, const struct clv_layout_rule *rule)
{
	write_select(to, &rule->select);
	if (rule->has_mig)
		fprintf(to, " mig=%s", rule->mig ? "on" : "off");
	if (rule->has_compute_mode)
		fprintf(to, " %s", clv_compute_mode_to_string(rule->compute_mode));
	if (rule->memory_mode)
		fprintf(to, " %s",
			clv_memory_mode_to_string(
				(enum clv_memory_mode)rule->memory_mode));
	for (size_t i = 0; i < rule->n_partitions; i++)
		write_partition(to, &rule->partitions[i]);
	if (rule->has_partitions && rule->n_partitions == 0)
		fputs(" none", to);
	if (rule->shares.n_equal)
		fprintf(to, " shares=%" PRIu32, rule->shares.n_equal);
	fputs(rule->preserve ? " preserve\n" : "\n", to);
}

static void check_layout(
	size_t at, const struct import_case *c, const struct clv_layout *layout)
{
	char text[4096] = "";
	FILE *to = fmemopen(text, sizeof(text), "w");

	assert_non_null(to);
	assert_string_equal(layout->name, "f");
	for (size_t i = 0; i < layout->n_rules; i++) {
		assert_true(layout->rules[i].line > 0);
		write_rule(to, &layout->rules[i]);
	}
	fclose(to);
	if (strcmp(text, c->layout) != 0)
		fail_msg("case %zu becomes\n%snot\n%s", at, text, c->layout);
}

static size_t count_words(const struct import_case *c)
{
	size_t n = 0;

	while (n < sizeof(c->says) / sizeof(c->says[0]) && c->says[n])
		n++;
	return n;
}

static void check_remarks(
	size_t at, const struct import_case *c, const struct clv_import *import)
{
	size_t n = count_words(c);

	for (size_t i = 0; i < import->n_remarks; i++) {
		const struct clv_import_remark *remark = &import->remarks[i];
		char place[32];

		snprintf(place, sizeof(place), "f:%" PRIu32 ":", remark->line);
		if (strncmp(remark->text, place, strlen(place)) != 0)
			fail_msg("case %zu: '%s' has no place", at, remark->text);
		if (i >= n || !strstr(remark->text, c->says[i]))
			fail_msg("case %zu remarks '%s', not '%s'", at, remark->text,
				i < n ? c->says[i] : "nothing");
	}
	if (import->n_remarks < n)
		fail_msg("case %zu does not remark '%s'", at, c->says[import->n_remarks]);
}

static void check_failure(
	size_t at, const struct import_case *c, int r, const struct clv_error *err)
{
	if (err->code != r || strchr(err->msg, '\n'))
		fail_msg("case %zu: %d is said to be %d: %s", at, r, err->code, err->msg);
	for (size_t i = 0; i < count_words(c); i++) {
		if (!strstr(err->msg, c->says[i]))
			fail_msg("case %zu: '%s' does not say '%s'", at, err->msg,
				c->says[i]);
	}
}

static void check_import(size_t at, const struct import_case *c)
{
	struct clv_import_options options = {.select = c->select};
	struct clv_import import = {0}, again = {0};
	struct clv_error err = {.code = 7};
	struct clv_yaml *yaml;
	int r;

	r = clv_import_parse(c->file, strlen(c->file), "f", &yaml, &err);
	if (r == 0) {
		r = clv_import(NULL, yaml, &options, &import, &err);
		assert_int_equal(clv_import(NULL, yaml, &options, &again, NULL), r);
		clv_yaml_free(yaml);
	}
	if (!c->layout) {
		if (r == 0)
			fail_msg("case %zu is not refused", at);
		assert_null(import.format);
		check_failure(at, c, r, &err);
		return;
	}
	if (r < 0)
		fail_msg("case %zu: %s", at, err.msg);
	assert_int_equal(err.code, 7);
	assert_non_null(import.format);
	check_layout(at, c, &import.layout);
	check_remarks(at, c, &import);
	clv_import_clear(&import);
	clv_import_clear(&again);
}

void check_imports(const struct import_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_import(i, &cases[i]);
}
