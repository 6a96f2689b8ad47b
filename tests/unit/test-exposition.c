/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as text in both formats, compared byte by byte. */
#include "agent/api/show/exposition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct clv_family counter = {
	"x_seconds", CLV_METRIC_COUNTER, "seconds", "How long."};
static const struct clv_family info = {"x", CLV_METRIC_INFO, "", "What."};
static const struct clv_family gauge = {"x", CLV_METRIC_GAUGE, "", "How many."};
static const struct clv_family histogram = {
	"w_seconds", CLV_METRIC_HISTOGRAM, "seconds", "Waits."};

static void end(struct clv_exposition *to, const char *expected)
{
	size_t n_bytes;
	char *text = clv_exposition_end(to, &n_bytes);

	assert_int_equal(n_bytes, strlen(expected));
	assert_memory_equal(text, expected, n_bytes);
	free(text);
}

static void test_prometheus(void **state)
{
	struct clv_exposition to = {.is_open_metrics = false};

	clv_exposition_family(&to, &counter);
	clv_exposition_value(&to, &counter, NULL, 1.5);
	clv_exposition_family(&to, &info);
	clv_exposition_value(&to, &info, NULL, 1);
	end(&to, "# HELP x_seconds_total How long.\n# TYPE x_seconds_total counter\n"
		 "x_seconds_total 1.5\n"
		 "# HELP x_info What.\n# TYPE x_info gauge\nx_info 1\n");
}

static void test_open_metrics(void **state)
{
	struct clv_exposition to = {.is_open_metrics = true};

	clv_exposition_family(&to, &counter);
	clv_exposition_value(&to, &counter, NULL, 1.5);
	clv_exposition_family(&to, &info);
	clv_exposition_value(&to, &info, NULL, 1);
	end(&to, "# HELP x_seconds How long.\n# TYPE x_seconds counter\n"
		 "# UNIT x_seconds seconds\nx_seconds_total 1.5\n"
		 "# HELP x What.\n# TYPE x info\nx_info 1\n# EOF\n");
}

static void test_labels(void **state)
{
	struct clv_labels labels = {
		{{"a", "1"}, {0}, {"b", ""}, {"c", "q\"b\\n\n."}, {"d", NULL}}};
	struct clv_labels none = {0};
	struct clv_exposition to = {.is_open_metrics = false};

	clv_exposition_value(&to, &gauge, &labels, 12345678901234);
	clv_exposition_value(&to, &gauge, &none, -0.25);
	end(&to, "x{a=\"1\",c=\"q\\\"b\\\\n\\n.\"} 12345678901234\nx -0.25\n");
}

static void test_histogram(void **state)
{
	static const char *const lines[] = {"w_seconds_bucket{a=\"1\",le=\"0.0001\"} 1\n",
		"w_seconds_bucket{a=\"1\",le=\"0.0025\"} 2\n",
		"w_seconds_bucket{a=\"1\",le=\"1.0\"} 2\n",
		"w_seconds_bucket{a=\"1\",le=\"+Inf\"} 3\n",
		"w_seconds_sum{a=\"1\"} 100.0021\n", "w_seconds_count{a=\"1\"} 3\n"};
	struct clv_labels labels = {{{"a", "1"}}};
	struct clv_histogram waits = {0};
	struct clv_exposition to = {.is_open_metrics = false};
	size_t n_bytes;
	char *text;

	/* At a bound, between two, and above all. */
	clv_histogram_add(&waits, 100 * CLV_NS_PER_US);
	clv_histogram_add(&waits, 2 * CLV_NS_PER_MS);
	clv_histogram_add(&waits, 100 * CLV_NS_PER_S);
	clv_exposition_histogram(
		&to, &histogram, &labels, waits.counts, waits.sum_ns, 1e-9);
	text = clv_exposition_end(&to, &n_bytes);
	assert_non_null(text);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_non_null(strstr(text, lines[i]));
	free(text);
}

/* More than fits in any room at first. */
static void test_many_samples(void **state)
{
	static const char line[] = "x{a=\"some value\"} 1\n";
	struct clv_labels labels = {{{"a", "some value"}}};
	struct clv_exposition to = {.is_open_metrics = false};
	const size_t n_line = sizeof(line) - 1, n = 100000;
	size_t n_bytes;
	char *text;

	for (size_t i = 0; i < n; i++)
		clv_exposition_value(&to, &gauge, &labels, 1);
	text = clv_exposition_end(&to, &n_bytes);
	assert_non_null(text);
	assert_int_equal(n_bytes, n * n_line);
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(text + i * n_line, line, n_line);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prometheus),
		cmocka_unit_test(test_open_metrics),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_many_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
