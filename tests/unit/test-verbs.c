/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs' tables: each option has its own field in its verb's settings, and help, man
 * pages and the shells' completion have every option of a table. */
#include "cli/main/table.h"

#include "base/cleanup.h"
#include "cli/frame/cli.h"
#include "cli/frame/help.h"
#include "cli/frame/verbs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef void verb_check(const struct clv_verb *verb, const void *userdata);

static void each_verb(verb_check *check, const void *userdata)
{
	check(clv_cleave_table.root, userdata);
	for (size_t i = 0; i < clv_cleave_table.n; i++)
		check(clv_cleave_table.items[i], userdata);
}

/* --- Settings --- */

static size_t end_of(const struct clv_opt *opt)
{
	return opt->offset + clv_opt_bytes(opt->type);
}

static void check_pair(
	const struct clv_verb *verb, const struct clv_opt *a, const struct clv_opt *b)
{
	if (a->offset < end_of(b) && b->offset < end_of(a))
		fail_msg("%s: --%s and --%s share their place", verb->name, a->name,
			b->name);
	if (strcmp(a->name, b->name) == 0 || (a->letter && a->letter == b->letter))
		fail_msg("%s: --%s and --%s are called alike", verb->name, a->name,
			b->name);
}

static void check_places(const struct clv_verb *verb, const void *userdata)
{
	assert_true(verb->settings_bytes >= sizeof(struct clv_common));
	for (size_t i = 0; i < verb->n_options; i++) {
		const struct clv_opt *opt = &verb->options[i];

		if (end_of(opt) > verb->settings_bytes)
			fail_msg("%s: --%s is outside the settings", verb->name,
				opt->name);
		for (size_t j = 0; j < i; j++)
			check_pair(verb, opt, &verb->options[j]);
	}
}

static void test_each_option_has_a_place_of_its_own(void **state)
{
	each_verb(check_places, NULL);
}

static void check_common(const struct clv_verb *verb, const void *userdata)
{
	static const struct {
		const char *name;
		size_t offset;
	} common[] = {
		{"socket", CLV_OPT_COMMON(socket)},
		{"sim", CLV_OPT_COMMON(sim)},
		{"output", CLV_OPT_COMMON(output)},
		{"help", CLV_OPT_COMMON(help)},
	};

	for (size_t i = 0; i < verb->n_options; i++) {
		const struct clv_opt *opt = &verb->options[i];
		bool is_common = false;

		for (size_t j = 0; j < CLV_ARRAY_SIZE(common); j++) {
			if (strcmp(opt->name, common[j].name) != 0)
				continue;
			is_common = true;
			assert_int_equal(opt->offset, common[j].offset);
		}
		if (!is_common && opt->offset < sizeof(struct clv_common))
			fail_msg("%s: --%s is a common option", verb->name, opt->name);
	}
}

static void test_common_options_are_in_the_common_part(void **state)
{
	each_verb(check_common, NULL);
}

/* --- Texts printed from the tables --- */

static void must_have(
	const struct clv_verb *verb, const char *text, const char *what, bool is_hidden)
{
	if ((strstr(text, what) != NULL) == is_hidden)
		fail_msg("%s: '%s' is %s in: %.4000s", verb->name, what,
			is_hidden ? "there" : "not", text);
}

static void check_help(const struct clv_verb *verb, const void *userdata)
{
	_cleanup_free_ char *text = NULL;
	size_t n_bytes;
	FILE *to = open_memstream(&text, &n_bytes);

	assert_non_null(to);
	clv_help_print(verb, to);
	fclose(to);
	for (size_t i = 0; i < verb->n_options; i++) {
		char what[80];

		snprintf(what, sizeof(what), " --%s", verb->options[i].name);
		must_have(verb, text, what, verb->options[i].is_hidden);
	}
}

static void test_help_has_each_option(void **state)
{
	each_verb(check_help, NULL);
}

static void check_page(const struct clv_verb *verb, const void *userdata)
{
	char source[] = "@OPTIONS@\n";
	_cleanup_free_ char *text = NULL;
	size_t n_bytes;
	FILE *from = fmemopen(source, sizeof(source) - 1, "r");
	FILE *to = open_memstream(&text, &n_bytes);

	assert_non_null(from);
	assert_non_null(to);
	assert_int_equal(clv_help_fill_scdoc(verb, from, to), 0);
	fclose(from);
	fclose(to);
	for (size_t i = 0; i < verb->n_options; i++) {
		char what[80];

		snprintf(what, sizeof(what), "*--%s*", verb->options[i].name);
		must_have(verb, text, what, verb->options[i].is_hidden);
	}
}

static void test_pages_have_each_option(void **state)
{
	each_verb(check_page, NULL);
}

/* Returns the output of `cleave completion SHELL`. Caller frees. */
static char *completion_of(const char *shell)
{
	char *argv[] = {(char *)(uintptr_t)shell, NULL};
	struct clv_common settings = {};
	FILE *file = tmpfile();
	int out = dup(STDOUT_FILENO);
	char *text = calloc(1, 1 << 20);

	assert_non_null(file);
	assert_non_null(text);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	assert_int_equal(clv_verb_completion.run(&settings, 1, argv), CLV_EXIT_OK);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(file);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	return text;
}

/* Returns the branch of a verb, up to the line that ends it. Caller frees. */
static char *branch_of(const struct clv_verb *verb, const char *script)
{
	char start[80];
	const char *from, *to;

	snprintf(start, sizeof(start), "\n\t%s)\n", verb->name[0] ? verb->name : "''");
	from = strstr(script, start);
	if (!from)
		fail_msg("%s: has no branch", verb->name);
	to = strstr(from, ";;\n\t");
	/* bash's branch contains others. */
	while (to && strncmp(to, ";;\n\t\t", 5) == 0)
		to = strstr(to + 1, ";;\n\t");
	return to ? strndup(from, (size_t)(to - from)) : strdup(from);
}

static void check_branch(const struct clv_verb *verb, const void *userdata)
{
	_cleanup_free_ char *branch = NULL;

	/* zsh offers cleave's own options outside the branches. */
	branch = verb->name[0] || strstr(userdata, "complete -o")
			 ? branch_of(verb, userdata)
			 : strdup(userdata);
	for (size_t i = 0; i < verb->n_options; i++) {
		char what[80];

		snprintf(what, sizeof(what), "--%s", verb->options[i].name);
		must_have(verb, branch, what, verb->options[i].is_hidden);
	}
}

static void test_bash_completes_each_option(void **state)
{
	_cleanup_free_ char *script = completion_of("bash");

	each_verb(check_branch, script);
}

static void test_zsh_completes_each_option(void **state)
{
	_cleanup_free_ char *script = completion_of("zsh");

	each_verb(check_branch, script);
}

static void check_fish(const struct clv_verb *verb, const void *userdata)
{
	for (size_t i = 0; i < verb->n_options; i++) {
		char what[160];

		snprintf(what, sizeof(what), "-n '%s%s' -l %s ",
			verb->name[0] ? "__fish_seen_subcommand_from "
				      : "__fish_use_subcommand",
			verb->name, verb->options[i].name);
		must_have(verb, userdata, what, verb->options[i].is_hidden);
	}
}

static void test_fish_completes_each_option(void **state)
{
	_cleanup_free_ char *script = completion_of("fish");

	each_verb(check_fish, script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_option_has_a_place_of_its_own),
		cmocka_unit_test(test_common_options_are_in_the_common_part),
		cmocka_unit_test(test_help_has_each_option),
		cmocka_unit_test(test_pages_have_each_option),
		cmocka_unit_test(test_bash_completes_each_option),
		cmocka_unit_test(test_zsh_completes_each_option),
		cmocka_unit_test(test_fish_completes_each_option),
	};

	clv_verb_table_set(&clv_cleave_table);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
