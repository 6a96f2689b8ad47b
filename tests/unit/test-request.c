/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests the API accepts, and its errors for the others; and which hellos the
 * attach socket accepts. */
#include "agent/api/request/request-placement.h"
#include "agent/api/request/request.h"
#include "agent/attach/hello.h"
#include "arbiter/attach.h"
#include "arbiter/page.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/share/share.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_full_request(void **state)
{
	static const char body[] =
		"{\"name\":\"train\",\"device\":\"gpu0\",\"command\":\"/bin/x\","
		"\"share\":0.3,\"cap\":0.5,\"memory_bytes\":1024,\"class\":\"batch\","
		"\"sm\":0.25,\"wait\":true,\"overcommit\":true}";
	struct clv_lease_request request;

	assert_int_equal(
		clv_request_parse_lease(body, sizeof(body) - 1, &request, NULL), 0);
	assert_string_equal(request.name, "train");
	assert_string_equal(request.device, "gpu0");
	assert_string_equal(request.command, "/bin/x");
	assert_int_equal(request.share.compute_ppm, 300000);
	assert_int_equal(request.share.cap_ppm, 500000);
	assert_int_equal(request.share.memory_bytes, 1024);
	assert_int_equal(request.share.class, CLV_CLASS_BATCH);
	assert_true(request.wait && request.overcommit);
	assert_int_equal(request.sm_ppm, 250000);
	assert_int_equal(clv_request_parse_lease("{\"sm\":1}", 8, &request, NULL), 0);
	assert_int_equal(request.sm_ppm, 0);
}

static void test_devices_by_name(void **state)
{
	static const char body[] = "{\"devices\":[\"gpu0\",\"GPU-2\"]}";
	struct clv_lease_request request;

	assert_int_equal(
		clv_request_parse_lease(body, sizeof(body) - 1, &request, NULL), 0);
	assert_string_equal(request.devices, ",gpu0,GPU-2,");
	assert_int_equal(request.count, 2);
	assert_int_equal(request.share.compute_ppm, 1000000);
}

static void test_refused_requests(void **state)
{
	static const struct {
		const char *body;
		int code;
	} cases[] = {
		{"", -EINVAL},
		{"null", -EINVAL},
		{"{\"share\":0}", -ERANGE},
		{"{\"share\":1.0000001}", -ERANGE},
		{"{\"share\":-0.0}", -ERANGE},
		{"{\"share\":0.0000001}", -ERANGE},
		{"{\"share\":null}", -EINVAL},
		{"{\"devices\":\"gpu0\"}", -EINVAL},
		{"{\"devices\":[\"gpu0\"]}", -EINVAL},
		{"{\"devices\":[\"gpu0\",\"\"]}", -EINVAL},
		{"{\"devices\":[\"gpu0\",\"a,b\"]}", -EINVAL},
		{"{\"devices\":[\"gpu0\",1]}", -EINVAL},
		{"{\"devices\":[\"gpu0\",\"gpu1\"],\"count\":2}", -EINVAL},
		{"{\"devices\":[\"gpu0\",\"gpu1\"],\"share\":0.5}", -EINVAL},
		{"{\"share\":[0.3]}", -EINVAL},
		{"{\"memory_bytes\":1.0}", -EINVAL},
		{"{\"memory_bytes\":-9223372036854775808}", -ERANGE},
		{"{\"memory_bytes\":9223372036854775808}", -EINVAL},
		{"{\"class\":\"\"}", -EINVAL},
		{"{\"cap\":0}", -ERANGE},
		{"{\"share_range\":0.3}", -EINVAL},
		{"{\"share_range\":{\"least\":0.3}}", -EINVAL},
		{"{\"share_range\":{\"least\":0.3,\"more\":0.6}}", -EINVAL},
		{"{\"share_range\":{\"least\":0.7,\"most\":0.6}}", -EINVAL},
		{"{\"share_range\":{\"least\":0,\"most\":0.6}}", -ERANGE},
		{"{\"share\":0.1,\"share_range\":{\"least\":0.1,\"most\":0.6}}", -EINVAL},
		{"{\"count\":2,\"share_range\":{\"least\":1,\"most\":1}}", -EINVAL},
		{"{\"sm\":0}", -ERANGE},
		{"{\"sm\":1.01}", -ERANGE},
		{"{\"sm\":\"25%\"}", -EINVAL},
		{"{\"count\":2,\"sm\":0.5}", -EINVAL},
		{"{\"share\":0.1,\"admit\":\"socket\"}", -EINVAL},
		{"{\"share\":0.1,\"keep\":true,\"admit\":1}", -EINVAL},
		{"{\"share\":0.1,\"keep\":true,\"user\":4294967295}", -EINVAL},
		{"{\"isolation\":\"hardware\",\"memory_bytes\":1,\"sm\":0.5}", -EINVAL},
		{"{\"name\":\"-x\"}", -EINVAL},
		{"{\"name\":\"l0123456789abcdef\"}", -EINVAL},
		{"{\"device\":\"\"}", -EINVAL},
		{"{\"command\":7}", -EINVAL},
		{"{\"wait\":\"true\"}", -EINVAL},
		{"{\"x\":1}", -EINVAL},
		{"{} x", -EINVAL},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		struct clv_lease_request request = {.name = "untouched"};
		struct clv_error err = {0};
		int r = clv_request_parse_lease(
			cases[i].body, strlen(cases[i].body), &request, &err);

		if (r != cases[i].code)
			fail_msg("%s: %d (%s)", cases[i].body, r, err.msg);
		assert_int_equal(err.code, r);
		assert_true(err.msg[0] != '\0' && !strchr(err.msg, '\n'));
		assert_string_equal(request.name, "untouched");
	}
}

static void test_placements(void **state)
{
	static const struct {
		const char *body;
		int code;
		size_t n, n_gone;
	} cases[] = {
		{"{\"leases\":[]}", 0, 0, 0},
		{"{\"leases\":[{\"lease\":{\"share\":0.3}}],\"gone\":[\"a\",\"b\"]}", 0,
			1, 2},
		{"{\"leases\":[{\"lease\":{\"share\":0.3},\"instead_of\":\"a\",\"ends_"
		 "first\":true}]}",
			0, 1, 0},
		{"", -EINVAL, 0, 0},
		{"[]", -EINVAL, 0, 0},
		{"{}", -EINVAL, 0, 0},
		{"{\"gone\":[]}", -EINVAL, 0, 0},
		{"{\"leases\":{}}", -EINVAL, 0, 0},
		{"{\"leases\":[],\"more\":1}", -EINVAL, 0, 0},
		{"{\"leases\":[],\"gone\":[1]}", -EINVAL, 0, 0},
		{"{\"leases\":[1]}", -EINVAL, 0, 0},
		{"{\"leases\":[{}]}", -EINVAL, 0, 0},
		{"{\"leases\":[{\"lease\":{\"share\":2}}]}", -ERANGE, 0, 0},
		{"{\"leases\":[{\"lease\":{\"share\":0.3},\"at\":1}]}", -EINVAL, 0, 0},
		{"{\"leases\":[{\"lease\":{\"share\":0.3,\"keep\":true,\"user\":1}}]}",
			-EINVAL, 0, 0},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		struct clv_placements_request request;
		struct clv_error err = {0};
		int r = clv_request_parse_placements(
			cases[i].body, strlen(cases[i].body), &request, &err);

		if (r != cases[i].code)
			fail_msg("%s: %d (%s)", cases[i].body, r, err.msg);
		assert_true(r == 0 || (err.msg[0] != '\0' && !strchr(err.msg, '\n')));
		if (r == 0) {
			assert_int_equal(request.n, cases[i].n);
			assert_int_equal(request.n_gone, cases[i].n_gone);
		}
		clv_placements_request_clear(&request);
	}
}

static void test_smallest_share(void **state)
{
	static const char body[] = "{\"share\":0.000001}";
	struct clv_lease_request request;

	assert_int_equal(
		clv_request_parse_lease(body, sizeof(body) - 1, &request, NULL), 0);
	assert_int_equal(request.share.compute_ppm, 1);
}

static void test_command_is_cut_between_characters(void **state)
{
	struct clv_lease_request request;
	char body[700] = "{\"command\":\"";
	size_t length;

	for (int i = 0; i < 200; i++)
		strcat(body, "\xc3\xbc");
	strcat(body, "\"}");
	assert_int_equal(clv_request_parse_lease(body, strlen(body), &request, NULL), 0);
	length = strlen(request.command);
	assert_int_equal(length, 254);
	assert_memory_equal(request.command + length - 2, "\xc3\xbc", 2);
}

static void test_resize(void **state)
{
	struct clv_lease_request request;

	assert_int_equal(
		clv_request_parse_resize("{\"cap\":null}", 12, &request, NULL), 0);
	assert_true(request.has_cap && !request.has_share && !request.has_class);
	assert_int_equal(request.share.cap_ppm, 0);
	assert_int_equal(clv_request_parse_resize("{}", 2, &request, NULL), -EINVAL);
	assert_int_equal(
		clv_request_parse_resize("{\"wait\":true}", 13, &request, NULL), -EINVAL);
}

static void test_numbers(void **state)
{
	uint64_t value = 7;

	assert_int_equal(clv_request_parse_number("n", "0", 10, &value, NULL), 0);
	assert_int_equal(value, 0);
	assert_int_equal(clv_request_parse_number("n", "10", 10, &value, NULL), 0);
	assert_int_equal(value, 10);
	for (const char *const *text = (const char *const[]){"11", "", "-1", "+1", " 1",
		     "1 ", "0x1", "99999999999999999999999", NULL};
		*text; text++)
		assert_int_equal(
			clv_request_parse_number("n", *text, 10, &value, NULL), -EINVAL);
	assert_int_equal(value, 10);
}

static const struct clv_attach_hello good_hello = {
	.magic = CLV_ATTACH_MAGIC,
	.version = CLV_ATTACH_VERSION,
	.api = CLV_ATTACH_API_OPENCL,
	.page_version = CLV_PAGE_VERSION,
	.old_slot = CLV_ATTACH_NO_SLOT,
};

static void test_hello(void **state)
{
	struct clv_attach_hello hello = good_hello;
	struct clv_error err = {0};

	assert_int_equal(clv_attach_hello_check(&hello, sizeof(hello), &err), 0);
	assert_string_equal(err.msg, "");
	for (size_t n = 0; n < sizeof(hello); n++)
		assert_int_equal(clv_attach_hello_check(&hello, n, NULL), -EPROTO);
	hello.magic ^= 1;
	assert_int_equal(clv_attach_hello_check(&hello, sizeof(hello), NULL), -EPROTO);
}

static void test_hello_of_another_version(void **state)
{
	struct clv_attach_hello hello = good_hello;
	struct clv_error err = {0};
	char longer[100] = {0};

	hello.version = 41;
	assert_int_equal(
		clv_attach_hello_check(&hello, sizeof(hello), &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.msg, "41"));
	assert_non_null(strstr(err.msg, " 1:"));
	/* A later hello may be longer or shorter: its version is still recognized. */
	memcpy(longer, &hello, sizeof(hello));
	assert_int_equal(
		clv_attach_hello_check(longer, sizeof(longer), NULL), -EPROTONOSUPPORT);
	assert_int_equal(clv_attach_hello_check(&hello, 8, NULL), -EPROTONOSUPPORT);
	hello = good_hello;
	hello.page_version = 2;
	assert_int_equal(
		clv_attach_hello_check(&hello, sizeof(hello), NULL), -EPROTONOSUPPORT);
	hello = good_hello;
	hello.api = 77;
	assert_int_equal(
		clv_attach_hello_check(&hello, sizeof(hello), NULL), -EPROTONOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_request),
		cmocka_unit_test(test_devices_by_name),
		cmocka_unit_test(test_refused_requests),
		cmocka_unit_test(test_placements),
		cmocka_unit_test(test_smallest_share),
		cmocka_unit_test(test_command_is_cut_between_characters),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_hello_of_another_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
