/* SPDX-License-Identifier: Apache-2.0 */
/* The option parser: stored values, the end of options, and errors that name the option
 * and a remedy. */
#include "cli/frame/opt.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/frame/cli.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct test_settings {
	struct clv_common common;
	uint64_t memory_bytes;
	const char *class_name;
	struct clv_opt_share share;
	struct clv_opt_cap cap;
	struct clv_opt_wait wait;
	struct clv_opt_place start;
	uint64_t n_lines;
	uint64_t count;
	bool force;
};

static const struct clv_opt options[] = {
	{.name = "share",
		.letter = 's',
		.type = CLV_OPT_SHARE,
		.argument = "FRACTION",
		.offset = CLV_OPT_AT(struct test_settings, share)},
	{.name = "cap",
		.type = CLV_OPT_CAP,
		.argument = "FRACTION",
		.offset = CLV_OPT_AT(struct test_settings, cap)},
	{.name = "memory",
		.letter = 'm',
		.type = CLV_OPT_BYTES,
		.argument = "SIZE",
		.offset = CLV_OPT_AT(struct test_settings, memory_bytes)},
	{.name = "wait",
		.letter = 'w',
		.type = CLV_OPT_WAIT,
		.argument = "TIMEOUT",
		.offset = CLV_OPT_AT(struct test_settings, wait)},
	{.name = "class",
		.type = CLV_OPT_CHOICE,
		.argument = "CLASS",
		.choices = clv_opt_classes,
		.offset = CLV_OPT_AT(struct test_settings, class_name)},
	{.name = "lines",
		.type = CLV_OPT_COUNT,
		.argument = "N",
		.offset = CLV_OPT_AT(struct test_settings, n_lines)},
	{.name = "count",
		.type = CLV_OPT_POSITIVE,
		.argument = "N",
		.offset = CLV_OPT_AT(struct test_settings, count)},
	{.name = "start",
		.type = CLV_OPT_PLACE,
		.argument = "N",
		.offset = CLV_OPT_AT(struct test_settings, start)},
	{.name = "force",
		.letter = 'f',
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct test_settings, force)},
	CLV_OPT_HELP,
};

static const struct clv_verb wrapper = {
	.name = "run",
	.arguments = "PROGRAM",
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = -1,
	.is_wrapper = true,
};

static const struct clv_verb plain = {
	.name = "set",
	.arguments = "NAME",
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 1,
};

#define WORDS_MAX 12

/* Splits line at spaces in place. */
static int parse(const struct clv_verb *verb, char *line, struct test_settings *settings,
	char **ret_first, struct clv_error *err)
{
	char *argv[WORDS_MAX + 1] = {NULL};
	int argc = 0, first = 0, r;

	for (char *word = strtok(line, " "); word && argc < WORDS_MAX;
		word = strtok(NULL, " "))
		argv[argc++] = word;
	memset(settings, 0, sizeof(*settings));
	r = clv_opt_parse(verb, argc, argv, settings, &first, err);
	*ret_first = r == 0 ? argv[first] : NULL;
	return r;
}

static void test_values(void **state)
{
	char line[] =
		"run -s 30% --cap=none -m1.5GiB --wait=250ms --class batch --lines=7 "
		"--count=4096 -f program";
	struct test_settings settings;
	struct clv_error err;
	char *first;

	assert_int_equal(parse(&wrapper, line, &settings, &first, &err), 0);
	assert_int_equal(settings.share.ppm, 300000);
	assert_true(settings.cap.is_none);
	assert_int_equal(settings.memory_bytes, UINT64_C(3) << 29);
	assert_true(settings.wait.is_given);
	assert_int_equal(settings.wait.timeout_ns, 250000000);
	assert_string_equal(settings.class_name, "batch");
	assert_int_equal(settings.n_lines, 7);
	assert_int_equal(settings.count, 4096);
	assert_true(settings.force);
	assert_string_equal(first, "program");
}

static void test_places(void **state)
{
	static const struct {
		char line[40];
		bool is_good;
		uint32_t value;
	} cases[] = {
		{"set --start=0 x", true, 0},
		{"set --start 4294967295 x", true, UINT32_MAX},
		{"set --start=4294967296 x", false, 0},
		{"set --start=-1 x", false, 0},
		{"set --start=1.5 x", false, 0},
		{"set --start=a x", false, 0},
		{"set x", true, 0},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		struct test_settings settings;
		struct clv_error err = {0};
		char line[40], *first;
		bool is_good;

		memcpy(line, cases[i].line, sizeof(line));
		is_good = parse(&plain, line, &settings, &first, &err) == 0;
		assert_int_equal(is_good, cases[i].is_good);
		if (!is_good) {
			assert_non_null(strstr(err.msg, "--start"));
			continue;
		}
		assert_int_equal(settings.start.value, cases[i].value);
		assert_int_equal(
			settings.start.is_given, strstr(cases[i].line, "--") != NULL);
	}
}

static void test_wait_without_a_time(void **state)
{
	char line[] = "run --wait program";
	struct test_settings settings;
	struct clv_error err;
	char *first;

	assert_int_equal(parse(&wrapper, line, &settings, &first, &err), 0);
	assert_true(settings.wait.is_given);
	assert_int_equal(settings.wait.timeout_ns, 0);
	assert_string_equal(first, "program");
}

static void test_a_share_may_be_a_range(void **state)
{
	char line[] = "run --share 0.1..60% program";
	struct test_settings settings;
	struct clv_error err;
	char *first;

	assert_int_equal(parse(&wrapper, line, &settings, &first, &err), 0);
	assert_int_equal(settings.share.ppm, 100000);
	assert_int_equal(settings.share.most_ppm, 600000);
}

static void test_a_wrapper_leaves_the_program_its_options(void **state)
{
	char line[] = "run -s.5 program --share 2 --nonsense";
	struct test_settings settings;
	struct clv_error err;
	char *first;

	assert_int_equal(parse(&wrapper, line, &settings, &first, &err), 0);
	assert_int_equal(settings.share.ppm, 500000);
	assert_string_equal(first, "program");
}

static void test_others_take_options_behind_arguments(void **state)
{
	char line[] = "set name --share 6/20";
	struct test_settings settings;
	struct clv_error err;
	char *first;

	assert_int_equal(parse(&plain, line, &settings, &first, &err), 0);
	assert_int_equal(settings.share.ppm, 300000);
	assert_string_equal(first, "name");
}

static void test_refusals(void **state)
{
	static const struct {
		const char *line;
		const char *says;
	} cases[] = {
		{"run --share 0 p", "--share: '0' is out of range"},
		{"run --share=nan p", "--share: 'nan' is not a share"},
		{"run --memory -1 p", "--memory: '-1' is not a size"},
		{"run --class=fast p",
			"--class: 'fast' is none of latency, normal, batch"},
		{"run --wait=soon p", "--wait: 'soon' is not a duration"},
		{"run --lines=-1 p", "--lines: '-1' is not a whole number"},
		{"run --sim=a p",
			"--sim comes before the verb: write cleave --sim=FILE run"},
		{"run --count=0 p", "--count: '0' is not from 1 to 4096"},
		{"run --count=4097 p", "--count: '4097' is not from 1 to 4096"},
		{"run --share", "--share needs a value: write --share=FRACTION"},
		{"run -m", "--memory needs a value: write --memory=SIZE"},
		{"run --force=yes p", "--force takes no value"},
		{"run --shrae=.5 p", "did you mean --share?"},
		{"run --xylophone p", "--xylophone is not an option of cleave run"},
		{"run -x p", "-x is not an option of cleave run"},
		{"run -fx p", "-x is not an option of cleave run"},
		{"run", "cleave run needs more arguments"},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		struct test_settings settings;
		struct clv_error err = {};
		char line[64], *first;

		strcpy(line, cases[i].line);
		assert_int_equal(parse(&wrapper, line, &settings, &first, &err) < 0, 1);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("'%s' says: %s", cases[i].line, err.msg);
		assert_null(strchr(err.msg, '\n'));
	}
}

static void test_too_many_arguments(void **state)
{
	char line[] = "set one two";
	struct test_settings settings;
	struct clv_error err;
	char *first;

	assert_int_equal(parse(&plain, line, &settings, &first, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "fewer arguments"));
}

static void test_given_options_are_recorded(void **state)
{
	char line[] = "set --wait -s 0.5 name";
	struct test_settings settings;
	struct clv_error err;
	char *first;

	assert_int_equal(parse(&plain, line, &settings, &first, &err), 0);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(options); i++) {
		bool is_expected = strcmp(options[i].name, "wait") == 0 ||
				   strcmp(options[i].name, "share") == 0;

		assert_int_equal(clv_opt_is_given(&options[i], &settings), is_expected);
	}
}

static void test_help_needs_no_arguments(void **state)
{
	char line[] = "set --help";
	struct test_settings settings;
	struct clv_error err;
	char *first;

	assert_int_equal(parse(&plain, line, &settings, &first, &err), 0);
	assert_true(settings.common.help);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_wait_without_a_time),
		cmocka_unit_test(test_a_share_may_be_a_range),
		cmocka_unit_test(test_a_wrapper_leaves_the_program_its_options),
		cmocka_unit_test(test_others_take_options_behind_arguments),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_too_many_arguments),
		cmocka_unit_test(test_given_options_are_recorded),
		cmocka_unit_test(test_help_needs_no_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
