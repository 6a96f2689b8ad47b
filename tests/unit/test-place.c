/* SPDX-License-Identifier: Apache-2.0 */
/* Where a gate finds its lease, and what the program's variables can change about it. */
#include "gate/attach/place.h"

#include "arbiter/attach.h"
#include "base/error.h"
#include "base/paths.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static struct clv_error err;

static const char *in_folder(const char *name)
{
	static char path[2][128];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static void write_text(const char *name, const char *text)
{
	FILE *file = fopen(in_folder(name), "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int find(const char *lease, const char *if_no_agent, struct clv_lease_place *ret)
{
	unsetenv("CLEAVE_LEASE");
	unsetenv("CLEAVE_IF_NO_AGENT");
	if (lease)
		setenv("CLEAVE_LEASE", lease, 1);
	if (if_no_agent)
		setenv("CLEAVE_IF_NO_AGENT", if_no_agent, 1);
	*ret = (struct clv_lease_place){};
	return clv_lease_find_in(folder, ret, &err);
}

/* A link to a socket that no agent has made. */
static int set_up(void **state)
{
	strcpy(folder, "/tmp/cleave-place-XXXXXX");
	return !mkdtemp(folder) ||
	       symlink("/nonexistent/second", in_folder("first")) < 0 ||
	       symlink(in_folder("first"), in_folder("lease.sock")) < 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {
		"first", "lease.sock", "other", CLV_LEASE_OPEN};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_folder(names[i]));
	return rmdir(folder);
}

static void test_the_lease_is_found(void **state)
{
	static const char *const by[] = {NULL, "", "/nonexistent/second"};
	struct clv_lease_place place;

	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		assert_int_equal(find(by[i], NULL, &place), 0);
		assert_true(place.is_known);
		assert_false(place.may_be_ungated);
		assert_string_equal(
			place.socket, i == 2 ? by[i] : in_folder("lease.sock"));
	}
	assert_int_equal(find(in_folder("first"), NULL, &place), 0);
	assert_int_equal(find(in_folder("lease.sock"), NULL, &place), 0);
}

/* By another name of the same file; the link is what is connected to. */
static void test_another_name(void **state)
{
	struct clv_lease_place place;

	unlink(in_folder("lease.sock"));
	unlink(in_folder("first"));
	assert_int_equal(mkfifo(in_folder("other"), 0600), 0);
	assert_int_equal(symlink(in_folder("other"), in_folder("lease.sock")), 0);
	assert_int_equal(link(in_folder("other"), in_folder("first")), 0);
	assert_int_equal(find(in_folder("first"), NULL, &place), 0);
	assert_string_equal(place.socket, in_folder("lease.sock"));
}

static void test_another_lease(void **state)
{
	struct clv_lease_place place;
	char expected[512];

	write_text("other", "");
	assert_int_equal(find(in_folder("other"), "open", &place), -EPERM);
	assert_false(place.may_be_ungated);
	snprintf(expected, sizeof(expected),
		"CLEAVE_LEASE names %s/other, and the program was started in the lease "
		"of "
		"%s/lease.sock",
		folder, folder);
	assert_string_equal(err.msg, expected);
	assert_int_equal(find("/nonexistent", "open", &place), -EPERM);
}

static void test_open_is_not_the_programs_choice(void **state)
{
	struct clv_lease_place place;

	assert_int_equal(find(NULL, "open", &place), 0);
	assert_false(place.may_be_ungated);
	write_text(CLV_LEASE_OPEN, "");
	assert_int_equal(find(NULL, "open", &place), 0);
	assert_true(place.may_be_ungated);
	assert_int_equal(find(NULL, "closed", &place), 0);
	assert_false(place.may_be_ungated);
	assert_int_equal(find(NULL, NULL, &place), 0);
	assert_false(place.may_be_ungated);
}

/* A program that gets no device: nothing else decides. */
static void test_a_reason(void **state)
{
	static const char *const texts[][2] = {
		{"no share; ask for one\nmore", "no share; ask for one"},
		{"a\tb\033[2J", "a?b?[2J"},
		{"", "it was started without a lease on purpose"},
	};
	struct clv_lease_place place;

	write_text(CLV_LEASE_OPEN, "");
	unlink(in_folder("lease.sock"));
	assert_int_equal(symlink(in_folder("other"), in_folder("lease.sock")), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_text("other", texts[i][0]);
		assert_int_equal(find("/nonexistent", "open", &place), -ENODEV);
		assert_string_equal(err.msg, texts[i][1]);
		assert_false(place.may_be_ungated);
	}
}

/* Beside this test there is no lease. */
static void test_without_a_lease(void **state)
{
	struct clv_lease_place place;

	setenv("CLEAVE_LEASE", "/nonexistent", 1);
	setenv("CLEAVE_IF_NO_AGENT", "open", 1);
	assert_int_equal(clv_lease_find(CLV_ATTACH_API_OPENCL, &place, &err), 0);
	assert_false(place.is_known);
	assert_true(place.may_be_ungated);
	assert_string_equal(place.socket, "/nonexistent");
	unsetenv("CLEAVE_LEASE");
	unsetenv("CLEAVE_IF_NO_AGENT");
	assert_int_equal(clv_lease_find(CLV_ATTACH_API_OPENCL, &place, &err), 0);
	assert_false(place.may_be_ungated);
	assert_string_equal(place.socket, "/run/cleave/lease.sock");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_lease_is_found),
		TEST(test_another_name),
		TEST(test_another_lease),
		TEST(test_open_is_not_the_programs_choice),
		TEST(test_a_reason),
		TEST(test_without_a_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
