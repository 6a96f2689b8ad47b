/* SPDX-License-Identifier: Apache-2.0 */
/* The console's files as a browser gets them. The table here is the test's own; the one
 * built into cleaved is checked too, whatever its contents. */
#include "agent/api/console/api-console.h"
#include "agent/api/console/console-files.h"
#include "agent/http/problem.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const unsigned char page[] = {0x1f, 0x8b, 1, 2}, script[] = {0x1f, 0x8b, 3};
static const struct clv_console_file files[] = {
	{"assets/app-1.js", "text/javascript", script, sizeof(script), "\"5c21\""},
	{"index.html", "text/html", page, sizeof(page), "\"9a6e\""},
};

static int ask(const char *method, const char *path, const char *tags,
	const char *connect, struct clv_console_answer *ret)
{
	struct clv_console_request request = {.method = method,
		.path = path,
		.if_none_match = tags,
		.connect = connect};

	return clv_console_answer(files, CLV_ARRAY_SIZE(files), &request, ret, NULL);
}

static const char *header(const struct clv_console_answer *answer, const char *name)
{
	for (size_t i = 0; i < answer->n_headers; i++) {
		if (strcmp(answer->headers[i].name, name) == 0)
			return answer->headers[i].value;
	}
	return "";
}

static void test_front_page(void **state)
{
	static const char *const paths[] = {"/", "/console/", "/console/index.html"};
	struct clv_console_answer answer;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(paths); i++) {
		assert_int_equal(ask("GET", paths[i], NULL, NULL, &answer), 0);
		assert_int_equal(answer.status, 200);
		assert_ptr_equal(answer.body, page);
		assert_int_equal(answer.n_bytes, sizeof(page));
		assert_string_equal(header(&answer, "Content-Type"), "text/html");
		assert_string_equal(header(&answer, "Content-Encoding"), "gzip");
		assert_string_equal(header(&answer, "Cache-Control"), "no-cache");
		assert_string_equal(header(&answer, "ETag"), "\"9a6e\"");
		assert_string_equal(header(&answer, "X-Content-Type-Options"), "nosniff");
	}
	assert_int_equal(ask("GET", "/console", NULL, NULL, &answer), 0);
	assert_int_equal(answer.status, 308);
	assert_string_equal(header(&answer, "Location"), "/console/");
}

static void test_asset_is_kept(void **state)
{
	struct clv_console_answer answer;

	assert_int_equal(ask("HEAD", "/console/assets/app-1.js", NULL, NULL, &answer), 0);
	assert_int_equal(answer.n_bytes, sizeof(script));
	assert_string_equal(
		header(&answer, "Cache-Control"), "public, max-age=31536000, immutable");
}

static void test_known_tag(void **state)
{
	static const struct {
		const char *tags;
		unsigned int status;
	} rows[] = {
		{"\"9a6e\"", 304},
		{"W/\"9a6e\"", 304},
		{"\"1111\", \"9a6e\"", 304},
		{"\"9a6e\",\"1111\"", 304},
		{"*", 304},
		{"\"1111\"", 200},
		{"", 200},
		{"9a6e", 200},
	};
	struct clv_console_answer answer;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		assert_int_equal(ask("GET", "/", rows[i].tags, NULL, &answer), 0);
		assert_int_equal(answer.status, rows[i].status);
		assert_true((answer.body == NULL) == (rows[i].status == 304));
		assert_string_equal(header(&answer, "ETag"), "\"9a6e\"");
	}
}

static void test_policy(void **state)
{
	char long_list[4096];
	struct clv_console_answer answer;
	const char *policy;

	assert_int_equal(ask("GET", "/", NULL, NULL, &answer), 0);
	policy = header(&answer, "Content-Security-Policy");
	assert_non_null(strstr(policy, "default-src 'none'; script-src 'self';"));
	assert_null(strstr(policy, "unsafe"));
	assert_string_equal(strstr(policy, "connect-src"), "connect-src 'self'");

	assert_int_equal(
		ask("GET", "/", NULL, "https://b:7780 https://[::1]:7780", &answer), 0);
	policy = header(&answer, "Content-Security-Policy");
	assert_string_equal(strstr(policy, "connect-src"),
		"connect-src 'self' https://b:7780 https://[::1]:7780");

	assert_int_equal(
		ask("GET", "/", NULL, "https://b; script-src *", &answer), -EINVAL);
	assert_int_equal(ask("GET", "/", NULL, "https://b\r\nX: y", &answer), -EINVAL);
	memset(long_list, 'a', sizeof(long_list) - 1);
	long_list[sizeof(long_list) - 1] = '\0';
	assert_int_equal(ask("GET", "/", NULL, long_list, &answer), -EINVAL);
}

static void test_refused(void **state)
{
	static const char *const absent[] = {"/console/none.js", "/console/../index.html",
		"/console//index.html", "/console/assets", "/console/assets/",
		"/index.html/", "/console/index.html/"};
	struct clv_console_request request = {.method = "GET", .path = "/"};
	struct clv_console_answer answer;
	struct clv_error err;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(absent); i++)
		assert_int_equal(ask("GET", absent[i], NULL, NULL, &answer), -ENOENT);
	assert_int_equal(ask("POST", "/", NULL, NULL, &answer), -CLV_E_METHOD);
	assert_int_equal(clv_console_answer(files, 0, &request, &answer, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "without its console"));
}

/* Each refusal says what would work. */
static void test_what_would_work(void **state)
{
	char many[sizeof(((struct clv_console_answer *)NULL)->policy) + 1];
	const struct {
		struct clv_console_request request;
		const char *works;
	} refused[] = {
		{{.method = "POST", .path = "/console/"}, ": programs use the API"},
		{{.method = "GET", .path = "/console/none"}, ": it begins at /console/"},
		{{.method = "GET", .path = "/console/", .connect = "https://a;b"},
			": write https://host:port"},
		{{.method = "GET", .path = "/console/", .connect = many},
			": name fewer nodes"},
	};
	struct clv_console_answer answer;
	struct clv_error err;

	memset(many, 'a', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	for (size_t i = 0; i < CLV_ARRAY_SIZE(refused); i++) {
		assert_true(clv_console_answer(files, CLV_ARRAY_SIZE(files),
				    &refused[i].request, &answer, &err) < 0);
		assert_non_null(strstr(err.msg, refused[i].works));
	}
}

static void test_built_in(void **state)
{
	struct clv_console_request request = {.method = "GET", .path = "/"};
	struct clv_console_answer answer;

	for (size_t i = 0; i < clv_console_n_files; i++) {
		const struct clv_console_file *file = &clv_console_files[i];

		assert_true(file->n_bytes > 2);
		assert_int_equal(file->body[0], 0x1f);
		assert_int_equal(file->body[1], 0x8b);
		assert_int_equal(file->etag[0], '"');
		assert_true(strlen(file->type) > 0);
	}
	assert_null(clv_console_files[clv_console_n_files].path);
	if (clv_console_n_files > 0)
		assert_int_equal(clv_console_answer(clv_console_files,
					 clv_console_n_files, &request, &answer, NULL),
			0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_front_page),
		cmocka_unit_test(test_asset_is_kept),
		cmocka_unit_test(test_known_tag),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_what_would_work),
		cmocka_unit_test(test_built_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
