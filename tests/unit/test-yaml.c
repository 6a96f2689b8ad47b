/* SPDX-License-Identifier: Apache-2.0 */
/* The YAML reader: accepted documents, and one-line errors that begin with the place.
 * Documents that would cost too much are refused early. */
#include "base/yaml.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct bad {
	const char *text;
	int code;
	const char *message;
};

/* The structure that the tests' maps are read into. */
struct sample {
	char name[8];
	uint64_t number;
	bool flag;
	int choice;
	size_t n_items;
};

static int read_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(
		value, into, sizeof(((struct sample *)NULL)->name), err);
}

static int read_number(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_number(value, 3, 12, into, err);
}

static int read_any_number(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_number(value, 0, UINT64_MAX, into, err);
}

static int read_flag(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(value, into, err);
}

static int read_choice(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[] = {"red", "green", "blue"};
	int which = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (which >= 0)
		*(int *)into = which;
	return which;
}

static int read_item(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, 0, 9, &number, err);

	if (r >= 0)
		((struct sample *)into)->n_items++;
	return r;
}

static int read_items(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_item, into, err);
}

static const struct clv_yaml_field fields[] = {
	{"name", read_name, true, offsetof(struct sample, name)},
	{"number", read_number, false, offsetof(struct sample, number)},
	{"any-number", read_any_number, false, offsetof(struct sample, number)},
	{"flag", read_flag, false, offsetof(struct sample, flag)},
	{"choice", read_choice, false, offsetof(struct sample, choice)},
	{"items", read_items, false, 0},
};

static int parse(const char *text, struct clv_yaml **ret, struct clv_error *err)
{
	return clv_yaml_parse(text, strlen(text), "f.yaml", ret, err);
}

static int read_sample(const char *text, struct sample *ret, struct clv_error *err)
{
	struct clv_yaml *yaml;
	int r = parse(text, &yaml, err);

	if (r < 0)
		return r;
	*ret = (struct sample){0};
	r = clv_yaml_read_map(
		clv_yaml_root(yaml), fields, CLV_ARRAY_SIZE(fields), ret, err);
	clv_yaml_free(yaml);
	return r;
}

static void check_refused(const struct bad *bad, int r, const struct clv_error *err)
{
	if (r != bad->code || err->code != r)
		fail_msg("'%s' gives %d: %s", bad->text, r, err->msg);
	if (strcmp(err->msg, bad->message) != 0)
		fail_msg("'%s' says '%s', not '%s'", bad->text, err->msg, bad->message);
}

/* --- Documents --- */

/* clang-format off */
static const struct bad bad_documents[] = {
	{ "",                 -EINVAL, "f.yaml: the document is empty" },
	{ "# nothing\n",      -EINVAL, "f.yaml: the document is empty" },
	{ "a: [1, 2\n",       -EINVAL,
		"f.yaml:2:1: did not find expected ',' or ']': invalid YAML" },
	{ "a: b: c\n",        -EINVAL,
		"f.yaml:1:5: mapping values are not allowed in this context: invalid YAML" },
	{ "a: 1\n\tb: 2\n",   -EINVAL,
		"f.yaml:2:1: found a tab character that violates indentation: invalid YAML" },
	{ "a: *nobody\n",     -EINVAL, "f.yaml:1:4: found undefined alias: invalid YAML" },
	/* bytes that are not text: columns count characters, not bytes */
	{ "a: 1\nb: \xff\n",  -EINVAL,
		"f.yaml:2:4: invalid leading UTF-8 octet: invalid YAML" },
	{ "a: \xc3\xa4\xc3\n", -EINVAL,
		"f.yaml:1:6: invalid trailing UTF-8 octet: invalid YAML" },
	{ "a: \x01\n",        -EINVAL,
		"f.yaml:1:4: control characters are not allowed: invalid YAML" },
	/* keys */
	{ "{a: 1, a: 2}",     -EINVAL, "f.yaml:1:8: the key 'a' appears twice" },
	{ "a: 1\nb: 2\n\"a\": 1\n", -EINVAL, "f.yaml:3:1: the key 'a' appears twice" },
	{ "{x: &v 1, a: *v, a: *v}", -EINVAL, "f.yaml:1:18: the key 'a' appears twice" },
	{ "{x: &v 1, a: *v, x: *v}", -EINVAL, "f.yaml:1:18: the key 'x' appears twice" },
	{ "? [a]\n: 1\n",     -EINVAL, "f.yaml:1:3: a key must be a text" },
	{ "? {a: b}\n: 1\n",  -EINVAL, "f.yaml:1:3: a key must be a text" },
	{ "~: 1\n",           -EINVAL, "f.yaml:1:1: a key must be a text" },
	{ ": 1\n",            -EINVAL, "f.yaml:1:1: did not find expected key: invalid YAML" },
	{ "\"a\\0b\": 1\n",   -EINVAL, "f.yaml:1:1: a key must be a text" },
	/* a text must be compared and printed completely */
	{ "a: \"b\\0c\"\n",   -EINVAL, "f.yaml:1:4: a text must not contain a NUL byte" },
	/* one document */
	{ "a: 1\n---\nb: 2\n", -EINVAL,
		"f.yaml:2:1: a second document begins here: only one is expected" },
	{ "---\n---\na: 1\n", -EINVAL,
		"f.yaml:2:1: a second document begins here: only one is expected" },
	{ "a: 1\n...\nb: 2\n", -EINVAL,
		"f.yaml:3:1: a second document begins here: only one is expected" },
	{ "a: 1\n---\n",      -EINVAL,
		"f.yaml:2:1: a second document begins here: only one is expected" },
	{ "%TAG !e! tag:e,1:\n---\na\n", -EINVAL,
		"f.yaml:1:1: %TAG is not supported: remove it" },
	/* an alias of its own parent */
	{ "&a [*a]",          -EINVAL, "f.yaml:1:1: nested more than 32 levels deep" },
	{ "&a {b: *a}",       -EINVAL, "f.yaml:1:1: nested more than 32 levels deep" },
};
/* clang-format on */

static void test_bad_documents(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(bad_documents); i++) {
		struct clv_error err = {0};
		struct clv_yaml *yaml = (struct clv_yaml *)&err;
		int r = parse(bad_documents[i].text, &yaml, &err);

		check_refused(&bad_documents[i], r, &err);
		assert_ptr_equal(yaml, &err);
		assert_int_equal(parse(bad_documents[i].text, &yaml, NULL), r);
	}
}

static void test_good_documents(void **state)
{
	static const char *const rows[] = {"a", "---\na: 1\n",
		"%YAML 1.1\n---\na: 1\n...\n", "{\"a\": [1, 2.5, true, null, \"x\"]}",
		"a: &x {b: 1}\nc: *x\n",
		/* a byte order mark at the start, in octal, without a digit after it */
		"\357\273\277a: 1\n", "a:\n- b\n-\n  - c\n"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {.code = 7};
		struct clv_yaml *yaml;

		if (parse(rows[i], &yaml, &err) < 0)
			fail_msg("row %zu: %s", i, err.msg);
		assert_int_equal(err.code, 7);
		assert_null(clv_yaml_free(yaml));
	}
	assert_null(clv_yaml_free(NULL));
}

static void test_tree(void **state)
{
	static const char text[] = "map: {x: 1, y: [a, b]}\n"
				   "list:\n"
				   "  - ~\n"
				   "  - 'null'\n"
				   "none:\n"
				   "shared: &s [1]\n"
				   "again: *s\n";
	struct clv_yaml_value root, map, list, y, none, shared, again, other;
	struct clv_yaml *yaml;

	assert_int_equal(parse(text, &yaml, NULL), 0);
	root = clv_yaml_root(yaml);
	assert_int_equal(clv_yaml_kind(root), CLV_YAML_MAP);
	assert_int_equal(clv_yaml_count(root), 5);
	assert_string_equal(clv_yaml_text(clv_yaml_key(root, 1)), "list");
	assert_string_equal(clv_yaml_text(root), "");

	assert_true(clv_yaml_find(root, "map", &map));
	assert_true(clv_yaml_find(map, "y", &y));
	assert_int_equal(clv_yaml_kind(y), CLV_YAML_LIST);
	assert_string_equal(clv_yaml_text(clv_yaml_item(y, 1)), "b");
	assert_int_equal(clv_yaml_line(y), 1);

	assert_true(clv_yaml_find(root, "list", &list));
	assert_int_equal(clv_yaml_kind(clv_yaml_item(list, 0)), CLV_YAML_NULL);
	assert_int_equal(clv_yaml_kind(clv_yaml_item(list, 1)), CLV_YAML_TEXT);
	assert_int_equal(clv_yaml_line(clv_yaml_item(list, 1)), 4);

	assert_true(clv_yaml_find(root, "none", &none));
	assert_int_equal(clv_yaml_kind(none), CLV_YAML_NULL);
	assert_int_equal(clv_yaml_count(none), 0);
	assert_true(clv_yaml_find(root, "shared", &shared));
	assert_true(clv_yaml_find(root, "again", &again));
	assert_int_equal(shared.index, again.index);

	other = root;
	assert_false(clv_yaml_find(root, "nothing", &other));
	assert_false(clv_yaml_find(list, "x", &other));
	assert_int_equal(other.index, root.index);
	clv_yaml_free(yaml);
}

/* --- Documents that cost too much --- */

#define MEGABYTE CLV_YAML_MAX_BYTES

/* Repeats a text, with the number of the copy in place of %zu. */
static char *repeat(const char *format, size_t n)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	for (size_t i = 0; i < n; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		fprintf(to, format, i);
#pragma GCC diagnostic pop
	}
	assert_int_equal(fclose(to), 0);
	return text;
}

/* Each took libyaml minutes, or seconds, in a document of the largest size. */
static void test_costly_documents(void **state)
{
	static const struct {
		const char *format;
		size_t n;
		int code;
		const char *message;
	} rows[] = {
		/* clang-format off */
		{ "[",             1000000, -EINVAL, "f.yaml:1:34: nested more than 32 levels deep" },
		{ "{a: ",           250000, -EINVAL, "f.yaml:1:133: nested more than 32 levels deep" },
		{ "- ",             500000, -EINVAL, "f.yaml:1:67: nested more than 32 levels deep" },
		{ "? ",             500000, -EINVAL, "f.yaml:1:67: nested more than 32 levels deep" },
		{ "- &a%zu x\n",     80000, -E2BIG,  "f.yaml:257:3: more than 256 anchors" },
		{ "- &a%1$zu x\n- *a%1$zu\n", 40000, -E2BIG,
			"f.yaml:513:3: more than 256 anchors" },
		{ "%%TAG !e%zu! tag:e\n", 40000, -EINVAL,
			"f.yaml:1:1: %TAG is not supported: remove it" },
		{ "k%zu: 1\n",         257, -E2BIG,  "f.yaml:1:1: more than 256 keys" },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = repeat(rows[i].format, rows[i].n);
		struct bad bad = {rows[i].format, rows[i].code, rows[i].message};
		struct clv_error err = {0};
		struct clv_yaml *yaml;

		check_refused(&bad, parse(text, &yaml, &err), &err);
	}
}

static void test_aliases_are_bounded(void **state)
{
	static const char nines[] = "a: &a [x, x, x, x, x, x, x, x, x]\n"
				    "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
				    "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
				    "d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
				    "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
				    "f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n";
	_cleanup_free_ char *many = repeat(", *a", 4097);
	_cleanup_free_ char *text = NULL;
	struct clv_error err = {0};
	struct clv_yaml *yaml;

	assert_int_equal(parse(nines, &yaml, &err), -E2BIG);
	assert_string_equal(err.msg,
		"f.yaml:1:32: too large: at most 200000 values with aliases expanded");
	assert_true(asprintf(&text, "[&a x%s]", many) > 0);
	assert_int_equal(parse(text, &yaml, &err), -E2BIG);
	assert_string_equal(err.msg, "f.yaml:1:16392: more than 4096 aliases");
}

/* By the caller's limit: values by their tokens, empty ones, and those of aliases. */
static void test_values_are_bounded(void **state)
{
	static const struct {
		const char *text;
		size_t n_values;
		const char *position;
	} rows[] = {
		/* clang-format off */
		{ "[a, b, c]",               4, "1:8" },
		{ "{a: b, c: [], d: {}}",    7, "1:18" },
		{ "-\n-\n-\n",               4, "3:2" },
		{ "[&a [b, c], *a, *a]",    10, "1:9" },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		size_t n_bytes = strlen(rows[i].text), n = rows[i].n_values;
		_cleanup_free_ char *message = NULL;
		struct clv_error err = {0};
		struct clv_yaml *yaml;

		assert_int_equal(clv_yaml_parse_small(
					 rows[i].text, n_bytes, "f.yaml", n, &yaml, &err),
			0);
		clv_yaml_free(yaml);
		assert_int_equal(clv_yaml_parse_small(rows[i].text, n_bytes, "f.yaml",
					 n - 1, &yaml, &err),
			-E2BIG);
		assert_true(asprintf(&message,
				    "f.yaml:%s: too large: at most %zu values with "
				    "aliases expanded",
				    rows[i].position, n - 1) > 0);
		assert_string_equal(err.msg, message);
	}
}

static void test_size_is_bounded(void **state)
{
	_cleanup_free_ char *text = malloc(MEGABYTE + 1);
	struct clv_error err = {0};
	struct clv_yaml *yaml;

	assert_non_null(text);
	memset(text, ' ', MEGABYTE + 1);
	memcpy(text, "a: 1\n", 5);
	assert_int_equal(clv_yaml_parse(text, MEGABYTE, "f.yaml", &yaml, &err), 0);
	clv_yaml_free(yaml);
	assert_int_equal(
		clv_yaml_parse(text, MEGABYTE + 1, "f.yaml", &yaml, &err), -E2BIG);
	assert_string_equal(err.msg, "f.yaml: the document is larger than 1048576 bytes");
}

/* --- Files --- */

static void test_files(void **state)
{
	char path[] = "/tmp/clv-yaml-XXXXXX", expected[128];
	int fd = mkstemp(path);
	struct clv_error err = {0};
	struct clv_yaml *yaml;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a: [\n", 5), 5);
	close(fd);
	assert_int_equal(clv_yaml_parse_file(path, &yaml, &err), -EINVAL);
	snprintf(expected, sizeof(expected), "%s:2:1: ", path);
	assert_memory_equal(err.msg, expected, strlen(expected));
	unlink(path);
	assert_int_equal(clv_yaml_parse_file(path, &yaml, &err), -ENOENT);
	snprintf(
		expected, sizeof(expected), "cannot read %s: %s", path, strerror(ENOENT));
	assert_string_equal(err.msg, expected);
	assert_int_equal(clv_yaml_parse_file("/tmp", &yaml, &err), -EISDIR);
}

/* --- Values --- */

/* clang-format off */
static const struct bad bad_samples[] = {
	{ "name",             -EINVAL, "f.yaml:1:1: keys with values are expected here" },
	{ "[name]",           -EINVAL, "f.yaml:1:1: keys with values are expected here" },
	{ "--- ~\n",          -EINVAL, "f.yaml:1:5: keys with values are expected here" },
	{ "{}",               -EINVAL, "f.yaml:1:1: the key 'name' is missing" },
	{ "flag: on\n",       -EINVAL, "f.yaml:1:1: the key 'name' is missing" },
	{ "name: a\nnumbre: 1\n", -EINVAL,
		"f.yaml:2:1: unknown key 'numbre': did you mean 'number'?" },
	{ "name: a\nxyz: 1\n", -EINVAL, "f.yaml:2:1: unknown key 'xyz': known keys are "
		"name, number, any-number, flag, choice, items" },
	{ "name: a\n\"x\\ny\": 1\n", -EINVAL, "f.yaml:2:1: unknown key 'x?y': known keys are "
		"name, number, any-number, flag, choice, items" },
	/* texts */
	{ "name:\n",          -EINVAL, "f.yaml:1:6: a text is expected here" },
	{ "name: ''\n",       -EINVAL, "f.yaml:1:7: a text is expected here: this one is empty" },
	{ "name: [a]\n",      -EINVAL, "f.yaml:1:7: a text is expected here" },
	{ "name: {a: b}\n",   -EINVAL, "f.yaml:1:7: a text is expected here" },
	{ "name: ~\n",        -EINVAL, "f.yaml:1:7: a text is expected here" },
	{ "name: 12345678\n", -ERANGE, "f.yaml:1:7: this text has 8 bytes: at most 7" },
	{ "name: \"a\\nb\"\n", -EINVAL, "f.yaml:1:7: this text has a line break or a control "
		"character in it: leave it out" },
	{ "name: \"\\u2028\"\n", -EINVAL, "f.yaml:1:7: this text has a line break or a "
		"control character in it: leave it out" },
	{ "name: \"\\x7f\"\n", -EINVAL, "f.yaml:1:7: this text has a line break or a control "
		"character in it: leave it out" },
	/* numbers */
	{ "{name: a, number: }",    -EINVAL, "f.yaml:1:19: a whole number is expected here" },
	{ "{name: a, number: [4]}", -EINVAL, "f.yaml:1:19: a whole number is expected here" },
	{ "{name: a, number: -4}",  -EINVAL, "f.yaml:1:19: a whole number is expected here" },
	{ "{name: a, number: +4}",  -EINVAL, "f.yaml:1:19: a whole number is expected here" },
	{ "{name: a, number: ' 4'}", -EINVAL, "f.yaml:1:19: a whole number is expected here" },
	{ "{name: a, number: 4.0}", -EINVAL, "f.yaml:1:19: a whole number is expected here" },
	{ "{name: a, number: 0x4}", -EINVAL, "f.yaml:1:19: a whole number is expected here" },
	{ "{name: a, number: 4k}",  -EINVAL, "f.yaml:1:19: a whole number is expected here" },
	{ "{name: a, number: 2}",   -ERANGE, "f.yaml:1:19: 2 is out of range: from 3 to 12" },
	{ "{name: a, number: 13}",  -ERANGE, "f.yaml:1:19: 13 is out of range: from 3 to 12" },
	{ "{name: a, any-number: 18446744073709551616}", -ERANGE,
		"f.yaml:1:23: 18446744073709551616 is out of range: from 0 to "
		"18446744073709551615" },
	/* words */
	{ "{name: a, flag: }",      -EINVAL, "f.yaml:1:17: '' is neither on nor off" },
	{ "{name: a, flag: 1}",     -EINVAL, "f.yaml:1:17: '1' is neither on nor off" },
	{ "{name: a, flag: ON}",    -EINVAL, "f.yaml:1:17: 'ON' is neither on nor off" },
	{ "{name: a, choice: pink}", -EINVAL,
		"f.yaml:1:19: 'pink' is none of red, green, blue" },
	{ "{name: a, choice: [red]}", -EINVAL,
		"f.yaml:1:19: '' is none of red, green, blue" },
	/* a quoted text truncated in the middle of a character */
	{ "{name: a, choice: x123456789012345678901234567890123456789"
	  "\xc3\xa4}", -EINVAL, "f.yaml:1:19: 'x123456789012345678901234567890123456789' "
		"is none of red, green, blue" },
	{ "{name: a, choice: 123456789012345678901234567890123456789"
	  "\xc3\xa4}", -EINVAL, "f.yaml:1:19: '123456789012345678901234567890123456789?' "
		"is none of red, green, blue" },
	/* lists: the first wrong item */
	{ "{name: a, items: [1, 2, 33, 44]}", -ERANGE,
		"f.yaml:1:25: 33 is out of range: from 0 to 9" },
	{ "{name: a, items: x}",    -EINVAL, "f.yaml:1:18: a whole number is expected here" },
};
/* clang-format on */

static void test_bad_values(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(bad_samples); i++) {
		struct clv_error err = {0};
		struct sample sample;

		check_refused(&bad_samples[i],
			read_sample(bad_samples[i].text, &sample, &err), &err);
		assert_int_equal(read_sample(bad_samples[i].text, &sample, NULL),
			bad_samples[i].code);
	}
}

static void test_good_values(void **state)
{
	static const struct {
		const char *text;
		struct sample sample;
	} rows[] = {
		/* clang-format off */
		{ "name: a\n",                       { "a", 0, false, 0, 0 } },
		{ "{\"name\": \"1234567\"}",         { "1234567", 0, false, 0, 0 } },
		{ "{name: 7, number: 3}",            { "7", 3, false, 0, 0 } },
		{ "{name: a, number: 012}",          { "a", 12, false, 0, 0 } },
		{ "{name: a, number: '4'}",          { "a", 4, false, 0, 0 } },
		{ "{name: a, any-number: 18446744073709551615}",
		                                     { "a", UINT64_MAX, false, 0, 0 } },
		{ "{name: a, flag: on}",             { "a", 0, true, 0, 0 } },
		{ "{name: a, flag: yes}",            { "a", 0, true, 0, 0 } },
		{ "{name: a, flag: true}",           { "a", 0, true, 0, 0 } },
		{ "{name: a, flag: no}",             { "a", 0, false, 0, 0 } },
		{ "{name: a, flag: off, choice: blue}", { "a", 0, false, 2, 0 } },
		{ "{name: a, items: []}",            { "a", 0, false, 0, 0 } },
		{ "{name: a, items: 5}",             { "a", 0, false, 0, 1 } },
		{ "{name: a, items: [1, 2, 3]}",     { "a", 0, false, 0, 3 } },
		{ "{name: \xc3\xa4 \xe2\x82\xac}",   { "\xc3\xa4 \xe2\x82\xac", 0, false, 0, 0 } },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		const struct sample *wanted = &rows[i].sample;
		struct clv_error err = {.code = 7};
		struct sample sample;

		if (read_sample(rows[i].text, &sample, &err) != 0)
			fail_msg("'%s': %s", rows[i].text, err.msg);
		assert_int_equal(err.code, 7);
		assert_string_equal(sample.name, wanted->name);
		assert_int_equal(sample.number, wanted->number);
		assert_int_equal(sample.flag, wanted->flag);
		assert_int_equal(sample.choice, wanted->choice);
		assert_int_equal(sample.n_items, wanted->n_items);
	}
}

/* --- Texts from outside --- */

static void test_printable(void **state)
{
	static const struct {
		const char *text;
		const char *shown;
	} rows[] = {
		/* clang-format off */
		{ "plain ~",                 "plain ~" },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "a\nb\tc\x7f",             "a?b?c?" },
		{ "\xc2\x85|\xe2\x80\xa8|\xef\xbb\xbf|\xef\xbf\xbe", "??|???|???|???" },
		{ "\xe2\x80\xae|\xe2\x81\xa6|\xe2\x81\xa9", "???|???|???" },
		{ "cut\xe2\x82",             "cut??" },
		{ "\xa4\xff\xf8\x88\x80\x80\x80", "???????" },
		{ "\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\xaf", "?????????" },
		{ "\xed\xa0\x80",            "???" },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		char text[32];

		assert_int_equal(clv_text_is_line(rows[i].text),
			strcmp(rows[i].text, rows[i].shown) == 0);
		snprintf(text, sizeof(text), "%s", rows[i].text);
		clv_text_make_printable(text);
		assert_string_equal(text, rows[i].shown);
	}
}

static int replace_text(
	struct clv_yaml_value value, void *userdata, char **ret, struct clv_error *err)
{
	const char *text = clv_yaml_text(value);

	if (strcmp(text, "bad") == 0)
		return clv_yaml_fail(value, err, -EINVAL, "this one");
	if (text[0] == 'x')
		*ret = strdup(userdata);
	return 0;
}

/* Values are replaced, keys are not; an empty text stays a text. */
static void test_replaced_texts(void **state)
{
	static const char text[] = "x: [x, y, &a xx, *a]\nz: {b: x}\n";
	struct clv_error err = {0};
	struct clv_yaml_value found;
	struct clv_yaml *yaml;

	assert_int_equal(clv_yaml_parse(text, strlen(text), "f", &yaml, &err), 0);
	assert_int_equal(clv_yaml_replace_texts(yaml, replace_text, (void *)"", &err), 0);
	assert_true(clv_yaml_find(clv_yaml_root(yaml), "x", &found));
	assert_int_equal(clv_yaml_kind(clv_yaml_item(found, 0)), CLV_YAML_TEXT);
	assert_string_equal(clv_yaml_text(clv_yaml_item(found, 0)), "");
	assert_string_equal(clv_yaml_text(clv_yaml_item(found, 1)), "y");
	assert_string_equal(clv_yaml_text(clv_yaml_item(found, 3)), "");
	clv_yaml_free(yaml);
	assert_int_equal(clv_yaml_parse("a: bad", 6, "f", &yaml, &err), 0);
	assert_int_equal(
		clv_yaml_replace_texts(yaml, replace_text, (void *)"", &err), -EINVAL);
	assert_string_equal(err.msg, "f:1:4: this one");
	clv_yaml_free(yaml);
}

static int take_prefixed(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	++*(int *)into;
	return 0;
}

static void test_keys_by_their_beginning(void **state)
{
	static const struct clv_yaml_field prefixed[] = {{"x-*", take_prefixed}};
	struct clv_error err = {0};
	struct clv_yaml *yaml;
	int n = 0;

	assert_int_equal(
		clv_yaml_parse("{x-: 1, x-a: 2, b: 3}", 21, "f", &yaml, &err), 0);
	assert_int_equal(
		clv_yaml_read_map(clv_yaml_root(yaml), prefixed, 1, &n, &err), -EINVAL);
	assert_int_equal(n, 2);
	assert_non_null(strstr(err.msg, "f:1:17: unknown key 'b'"));
	clv_yaml_free(yaml);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_documents),
		cmocka_unit_test(test_good_documents),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_costly_documents),
		cmocka_unit_test(test_aliases_are_bounded),
		cmocka_unit_test(test_values_are_bounded),
		cmocka_unit_test(test_size_is_bounded),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_good_values),
		cmocka_unit_test(test_printable),
		cmocka_unit_test(test_replaced_texts),
		cmocka_unit_test(test_keys_by_their_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
