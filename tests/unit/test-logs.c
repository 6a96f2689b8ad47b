/* SPDX-License-Identifier: Apache-2.0 */
/* What containers write, as lines of bounded length and number. */
#include "bridge/services/engine/logs.h"

#include "base/text.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <cmocka.h>

struct row {
	const char *output;
	size_t room;
	bool is_cut;
	const char *lines; /* as JSON */
};

static const struct row rows[] = {
	{"", 100, false, "[]"},
	{"a", 100, false, "[\"a\"]"},
	{"\n", 100, false, "[\"\",\"\"]"},
	{"a\nb", 100, false, "[\"a\",\"b\"]"},
	{"a\nb\nc\nd", 100, false, "[\"b\",\"c\",\"d\"]"},
	{"a\n\nb", 100, false, "[\"a\",\"\",\"b\"]"},
	{"a\tb\r\nc\rd\r", 100, false, "[\"a b\",\"d\"]"},
	{"\033[1mbold\x7f", 100, false, "[\"?[1mbold?\"]"},
	{"\xff\xc3 x", 100, false, "[\"?? x\"]"},
	/* Each line needs its quotation marks and a comma, and what JSON escapes. */
	{"first\nsecond\nthird", 17, true, "[\"second\",\"third\"]"},
	{"first\nsecond\nthird", 16, true, "[\"third\"]"},
	{"\"\"", 7, false, "[\"\\\"\\\"\"]"},
	{"\"\"", 6, true, "[]"},
};

static void test_rows(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *output = strdup(rows[i].output), *text;
		bool is_cut;
		json_t *lines = clv_logs_split(output, 3, rows[i].room, &is_cut);

		text = json_dumps(lines, JSON_COMPACT);
		assert_string_equal(text, rows[i].lines);
		assert_int_equal(is_cut, rows[i].is_cut);
		free(text);
		json_decref(lines);
		free(output);
	}
}

/* At whatever byte a line is cut, it is text. */
static void test_long_lines(void **state)
{
	for (size_t n = 0; n < 4; n++) {
		char output[2000] = "xxx";
		const char *line;
		json_t *lines;
		bool is_cut;

		output[n] = '\0';
		while (strlen(output) < 1900)
			strcat(output, "\xe2\x82\xac");
		lines = clv_logs_split(output, 3, 1000, &is_cut);
		line = json_string_value(json_array_get(lines, 0));
		assert_true(strlen(line) == 500 && clv_text_is_line(line));
		assert_false(is_cut);
		json_decref(lines);
	}
}

struct told {
	sd_event *event;
	json_t *lines;
	bool is_cut;
};

static void on_end(void *userdata, json_t *lines, bool is_cut, const char *why)
{
	struct told *told = userdata;

	told->lines = json_incref(lines);
	told->is_cut = is_cut;
	sd_event_exit(told->event, 0);
}

/* A line of which not even all that is read has the begin. */
static void test_one_line(void **state)
{
	static const char script[] =
		"#!/bin/sh\nhead -c 70000 /dev/zero | tr '\\000' x\n";
	char folder[] = "/tmp/test-logs-XXXXXX", path[64], paths[512];
	struct told told = {0};
	struct clv_logs *logs;
	FILE *file;
	sigset_t ends;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/podman", folder);
	file = fopen(path, "w");
	assert_true(file && fputs(script, file) >= 0 && fclose(file) == 0);
	assert_int_equal(chmod(path, 0755), 0);
	snprintf(paths, sizeof(paths), "%s:/usr/bin:/bin", folder);
	setenv("PATH", paths, 1);
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	assert_true(sd_event_new(&told.event) >= 0);
	logs = clv_logs_read(told.event, "web", 10, 32768, on_end, &told, NULL);
	assert_non_null(logs);
	assert_int_equal(sd_event_loop(told.event), 0);
	assert_int_equal(json_array_size(told.lines), 1);
	assert_int_equal(
		strspn(json_string_value(json_array_get(told.lines, 0)), "x"), 500);
	assert_true(told.is_cut);
	clv_logs_free(logs);
	json_decref(told.lines);
	sd_event_unref(told.event);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
