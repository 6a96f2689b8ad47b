/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of `cleave top` at every width: none is too long, and the most important
 * columns are there at 60. */
#include "cli/lease/top-view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char devices_text[] =
	"{\"items\": [{\"name\": \"gpu0\", \"model\": \"A model with a long name\","
	" \"share_promised\": 0.8, \"memory_bytes\": 17179869184,"
	" \"memory_promised_bytes\": 8589934592, \"memory_used_bytes\": 1073741824}]}";

static const char leases_text[] =
	"{\"items\": [{\"name\": \"train\", \"device\": \"gpu0\", \"state\": \"active\","
	" \"class\": \"latency\", \"share\": 0.3, \"share_used\": 0.5,"
	" \"memory_bytes\": 536870912, \"memory_used_bytes\": 268435456,"
	" \"holding\": true, \"waiting\": false, \"processes\": [{\"pid\": 7}],"
	" \"command\": \"python3\"},"
	" {\"name\": \"a-name-that-is-far-longer-than-its-column\", \"device\": \"gpu0\","
	" \"state\": \"queued\", \"class\": \"batch\", \"share\": 0.333333,"
	" \"share_used\": 0, \"memory_bytes\": 1099511627776, \"memory_used_bytes\": 0,"
	" \"queue_position\": 1, \"processes\": [], \"command\": \"bad\\u001b[31m\"}]}";

static struct clv_top_view layout(int width)
{
	json_t *devices = json_loads(devices_text, 0, NULL);
	json_t *leases = json_loads(leases_text, 0, NULL);
	struct clv_top_view view;

	assert_non_null(devices);
	assert_non_null(leases);
	assert_int_equal(clv_top_layout(devices, leases, width, "12:00:00", &view), 0);
	json_decref(devices);
	json_decref(leases);
	return view;
}

static void test_no_line_is_too_long(void **state)
{
	for (int width = 20; width <= 300; width++) {
		struct clv_top_view view = layout(width);

		assert_int_equal(view.n_lines, 5);
		assert_int_equal(view.n_fixed, 3);
		for (size_t i = 0; i < view.n_lines; i++) {
			assert_true(strlen(view.lines[i].text) <= (size_t)width);
			assert_null(strchr(view.lines[i].text, 033));
		}
		free(view.lines);
	}
}

static void test_sixty_columns(void **state)
{
	struct clv_top_view view = layout(60);

	assert_string_equal(view.lines[0].text, "cleave 12:00:00  leases 2  queued 1");
	assert_string_equal(view.lines[1].text,
		"gpu0 promised 80% used 50%  memory 1G of 16G, 8G promised  A");
	assert_string_equal(view.lines[2].text,
		"NAME       CLASS   SHARE  USED              MEMORY  PR STATE");
	assert_string_equal(view.lines[3].text,
		"train      latency   30%   50% [#|#  ]   256M/512M   1 run  ");
	assert_string_equal(view.lines[4].text,
		"a-name-tha batch   33.3%    0% [ |   ]        0/1T   0 queue");
	assert_int_equal(view.lines[3].style, CLV_TOP_HOLDING);
	assert_int_equal(view.lines[4].style, CLV_TOP_QUEUED);
	free(view.lines);
}

static void test_wide_has_everything(void **state)
{
	struct clv_top_view view = layout(200);

	assert_non_null(strstr(view.lines[2].text, "COMMAND"));
	assert_non_null(strstr(view.lines[3].text, "python3"));
	assert_non_null(strstr(view.lines[4].text, "a-name-that-is-far-longe"));
	free(view.lines);
}

static void test_no_answer_is_no_crash(void **state)
{
	struct clv_top_view view;

	assert_int_equal(clv_top_layout(NULL, NULL, 80, "", &view), 0);
	assert_int_equal(view.n_lines, 2);
	free(view.lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_line_is_too_long),
		cmocka_unit_test(test_sixty_columns),
		cmocka_unit_test(test_wide_has_everything),
		cmocka_unit_test(test_no_answer_is_no_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
