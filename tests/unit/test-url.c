/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and queries: user texts are encoded, and too long ones are errors. */
#include "client/url.h"

#include "base/cleanup.h"

#include <cleave.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_pieces(void **state)
{
	static const struct {
		const char *name, *expected;
	} cases[] = {
		{"gpu0", "/v1/x/gpu0?name=gpu0&n=7"},
		{"gpu0/1g.10gb@4",
			"/v1/x/gpu0%2F1g.10gb%404?name=gpu0%2F1g.10gb%404&n=7"},
		{"a&b=c?#", "/v1/x/a%26b%3Dc%3F%23?name=a%26b%3Dc%3F%23&n=7"},
		{"\xc3\xbc \x01", "/v1/x/%C3%BC%20%01?name=%C3%BC%20%01&n=7"},
		{"-._~", "/v1/x/-._~?name=-._~&n=7"},
		{"", "/v1/x/?name=&n=7"},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		struct clv_url url = {0};

		clv_url_path(&url, "/v1/x/");
		clv_url_segment(&url, cases[i].name);
		clv_url_query(&url, "name", cases[i].name);
		clv_url_query(&url, "left_out", NULL);
		clv_url_query_number(&url, "n", 7);
		assert_string_equal(url.text, cases[i].expected);
		assert_int_equal(clv_url_check(&url, NULL), 0);
	}
}

static void test_too_long(void **state)
{
	for (size_t n = CLV_URL_MAX - 3; n < CLV_URL_MAX + 3; n++) {
		char name[CLV_URL_MAX + 4] = "";
		struct clv_client_error err = {0};
		struct clv_url url = {0};
		bool has_room = n < CLV_URL_MAX;

		memset(name, 'x', n);
		clv_url_path(&url, name);
		assert_int_equal(clv_url_check(&url, &err), has_room ? 0 : -ENAMETOOLONG);
		assert_int_equal(strlen(url.text), has_room ? n : 0);
		assert_string_equal(err.code, has_room ? "" : "bad_request");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
