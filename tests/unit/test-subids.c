/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/user/subids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "alice:100000:65536\n"
			   "\n"
			   "# a comment: 165536\n"
			   "bob:165536:65536\n"
			   "mallory:100000\n"
			   "mallory:x:9\n"
			   ":300000:10\n"
			   "1007:400000:1\n"
			   "carol:165536:65537\n"
			   "dave:4294967290:99999999999\n"
			   "eve:500000:10";

static const struct {
	uid_t uid;
	const char *name; /* NULL: in no range */
} rows[] = {
	{99999, NULL},
	{100000, "alice"},
	{165535, "alice"},
	{165536, "bob"}, /* the first range with it */
	{231071, "bob"},
	{231072, "carol"},
	{231073, NULL},
	{300000, NULL}, /* a line without a name */
	{400000, "1007"},
	{400001, NULL},
	{500009, "eve"}, /* a last line without an end */
	{500010, NULL},
	{4294967294u, "dave"},
	{0, NULL},
};

static void test_whose(void **state)
{
	char name[8];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(clv_subids_find(text, rows[i].uid, name, sizeof(name)),
			rows[i].name != NULL);
		if (rows[i].name)
			assert_string_equal(name, rows[i].name);
	}
	assert_false(clv_subids_find("", 1, name, sizeof(name)));
}

/* A name that the caller has no room for is not cut off to that of another user. */
static void test_long_name(void **state)
{
	char name[4];

	assert_false(clv_subids_find("abcd:1:9", 5, name, sizeof(name)));
	assert_true(clv_subids_find("abc:1:9", 5, name, sizeof(name)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whose),
		cmocka_unit_test(test_long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
