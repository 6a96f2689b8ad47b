/* SPDX-License-Identifier: Apache-2.0 */
/* Which partition a request for isolated memory gets, or why it gets none: nodes as short
 * texts. */
#include "core/plan/fitting.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "plan-world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
	const char *node;
	const char *memory;
	const char *expected; /* "gpu0 1g.5gb"; "": none */
	int code;
	bool is_taken; /* the first device */
} rows[] = {
	/* clang-format off */
	{"A100-40GB on", "4G", "gpu0 1g.5gb"},
	{"A100-40GB on", "5G", "gpu0 1g.10gb"},
	{"A100-40GB\nA100-40GB on", "4G", "gpu1 1g.5gb"},
	{"T4", "4G", "", -ENODEV},
	{"A100-40GB on 7g.40gb@0!a", "4G", "", -EBUSY},
	{"A100-40GB on", "41G", "", -ENODEV},
	{"CPU cores=4 memory=4G", "2G", "gpu0 cores:2"},
	{"CPU cores=4 memory=4G cores:4@0=0-3!a", "2G", "", -EBUSY},
	/* A third of 4 GiB is rounded down, so three thirds are less than 4 GiB. */
	{"CPU cores=3 memory=4G", "4G", "", -ENODEV},
	{"CPU cores=3 memory=4G\nA100-40GB on 7g.40gb@0!a", "4G", "", -EBUSY},
	{"A100-40GB on 7g.40gb@0!a\nCPU cores=3 memory=4G", "4G", "", -EBUSY},
	{"A100-40GB on\nA100-40GB", "4G", "gpu1 1g.5gb", 0, true},
	{"A100-40GB on", "4G", "", -EBUSY, true},
	{"A100-40GB on", "41G", "", -ENODEV, true},
	{"T4\nA100-40GB on 7g.40gb@0!a", "4G", "", -EBUSY, true},
	{"CPU cores=4 memory=4G", "5G", "", -ENODEV, true},
	/* clang-format on */
};

static void test_fitting(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_fitting fitting = {0};
		struct clv_error err = {0};
		char text[64] = "";
		const bool is_taken[2] = {rows[i].is_taken};
		struct clv_node node;
		uint64_t bytes;
		int r;

		plan_node(rows[i].node, &node);
		assert_int_equal(clv_units_parse_bytes(rows[i].memory, &bytes, NULL), 0);
		r = clv_fitting_find(&node, is_taken, "", bytes, &fitting, &err);
		if (r == 0)
			snprintf(text, sizeof(text), "gpu%u %s", fitting.device,
				fitting.profile);
		if (r != rows[i].code || strcmp(text, rows[i].expected) != 0)
			fail_msg("%s of '%s': %d '%s' %s", rows[i].memory, rows[i].node,
				r, text, err.msg);
		clv_node_clear(&node);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_fitting)};

	return cmocka_run_group_tests_name("fitting", tests, NULL, NULL);
}
