/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: their names, their texts, and whether a device that is read again shows that one
 * was done. */
#include "core/plan/plan.h"

#include "base/cleanup.h"
#include "plan-world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_kinds(void **state)
{
	for (int i = 0; i < _CLV_STEP_KIND_MAX; i++) {
		const char *text = clv_step_kind_to_string((enum clv_step_kind)i);

		assert_int_equal(clv_step_kind_from_string(text), i);
	}
	assert_string_equal(
		clv_step_kind_to_string(CLV_STEP_DESTROY_PART), "destroy-part");
	assert_int_equal(clv_step_kind_from_string("create-it"), -EINVAL);
	assert_int_equal(clv_step_kind_from_string(""), -EINVAL);
}

static void test_words(void **state)
{
	static const struct {
		struct clv_step step;
		const char *text;
	} rows[] = {
		/* clang-format off */
		{ { CLV_STEP_CREATE, .partition = "gpu1/1g.5gb@4" }, "create gpu1/1g.5gb@4" },
		{ { CLV_STEP_CREATE_PART, .partition = "gpu1/3g.20gb@4/1c@0" },
			"create gpu1/3g.20gb@4/1c@0" },
		{ { CLV_STEP_DESTROY, .partition = "gpu1/1g.5gb@4" }, "destroy gpu1/1g.5gb@4" },
		{ { CLV_STEP_DESTROY_PART, .partition = "gpu1/3g.20gb@4/1c@0" },
			"destroy gpu1/3g.20gb@4/1c@0" },
		{ { CLV_STEP_MIG_MODE, 1, .value = 1 }, "turn on MIG of gpu1" },
		{ { CLV_STEP_MIG_MODE, 1, .value = 0 }, "turn off MIG of gpu1" },
		{ { CLV_STEP_COMPUTE_MODE, 1, .value = CLV_CPX }, "set gpu1 to CPX" },
		{ { CLV_STEP_MEMORY_MODE, 1, .value = CLV_NPS4 }, "request NPS4 on gpu1" },
		{ { CLV_STEP_RELOAD, 1 }, "reload the driver of gpu1" },
		{ { CLV_STEP_VF_COUNT, 1, .value = 0 }, "set gpu1 to 0 virtual functions" },
		{ { CLV_STEP_VF_COUNT, 1, .value = 1 }, "set gpu1 to 1 virtual function" },
		{ { CLV_STEP_VF_QUOTA, 1, .value = 3 },
			"set the quota of virtual function 3 of gpu1" },
		/* clang-format on */
	};
	struct clv_node node;

	plan_node("T4\nT4", &node);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		char text[128];

		clv_step_describe(&rows[i].step, &node, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
	clv_node_clear(&node);
}

#define PART(kind, start_, size_)                                                    \
	{                                                                            \
		kind, .inside = "gpu0/3g.20gb@0", .start = (start_), .size = (size_) \
	}
#define INSTANCE(kind)                              \
	{                                           \
		kind, .partition = "gpu0/3g.20gb@0" \
	}
#define QUOTA(...)                                                      \
	{                                                               \
		CLV_STEP_VF_QUOTA, .value = 1, .quota = { __VA_ARGS__ } \
	}

static void test_done(void **state)
{
	static const struct {
		const char *device;
		struct clv_step step;
		bool is_done;
	} rows[] = {
		/* clang-format off */
		{ "A100-40GB on 3g.20gb@0",  INSTANCE(CLV_STEP_CREATE), true },
		{ "A100-40GB on 3g.20gb@4",  INSTANCE(CLV_STEP_CREATE), false },
		{ "A100-40GB on 3g.20gb@0~", INSTANCE(CLV_STEP_CREATE), false },
		{ "A100-40GB on 3g.20gb@0~",
			{ CLV_STEP_CREATE, .partition = "gpu0/3g.20gb@0", .has_parts = true }, true },
		{ "A100-40GB on 3g.20gb@0~", INSTANCE(CLV_STEP_DESTROY), false },
		{ "A100-40GB on",            INSTANCE(CLV_STEP_DESTROY), true },
		/* parts: one that fills its instance is not listed */
		{ "A100-40GB on 3g.20gb@0",  PART(CLV_STEP_CREATE_PART, 0, 3), true },
		{ "A100-40GB on 3g.20gb@0",  PART(CLV_STEP_DESTROY_PART, 0, 3), false },
		{ "A100-40GB on 3g.20gb@0",  PART(CLV_STEP_CREATE_PART, 0, 1), false },
		{ "A100-40GB on 3g.20gb@0",  PART(CLV_STEP_CREATE_PART, 1, 1), false },
		{ "A100-40GB on 3g.20gb@0",  PART(CLV_STEP_DESTROY_PART, 0, 1), true },
		{ "A100-40GB on 3g.20gb@0(1c@0+1c@2)", PART(CLV_STEP_CREATE_PART, 2, 1), true },
		{ "A100-40GB on 3g.20gb@0(1c@0+1c@2)", PART(CLV_STEP_CREATE_PART, 1, 1), false },
		{ "A100-40GB on 3g.20gb@0(2c@0)", PART(CLV_STEP_CREATE_PART, 0, 1), false },
		{ "A100-40GB on 3g.20gb@0(1c@0)", PART(CLV_STEP_DESTROY_PART, 0, 1), false },
		{ "A100-40GB on 3g.20gb@0(1c@0)", PART(CLV_STEP_DESTROY_PART, 0, 3), true },
		{ "A100-40GB on 3g.20gb@0~", PART(CLV_STEP_CREATE_PART, 0, 3), false },
		{ "A100-40GB on 3g.20gb@0~", PART(CLV_STEP_DESTROY_PART, 0, 3), true },
		{ "A100-40GB on",            PART(CLV_STEP_CREATE_PART, 0, 3), false },
		{ "A100-40GB on",            PART(CLV_STEP_DESTROY_PART, 0, 3), true },
		/* modes */
		{ "A100-40GB",               { CLV_STEP_MIG_MODE, .value = 0 }, true },
		{ "A100-40GB pending",       { CLV_STEP_MIG_MODE, .value = 0 }, false },
		{ "A100-40GB on",            { CLV_STEP_MIG_MODE, .value = 0 }, false },
		{ "A100-40GB on",            { CLV_STEP_MIG_MODE, .value = 1 }, true },
		{ "MI300X CPX/NPS1",         { CLV_STEP_COMPUTE_MODE, .value = CLV_CPX }, true },
		{ "MI300X CPX/NPS1",         { CLV_STEP_COMPUTE_MODE, .value = CLV_SPX }, false },
		{ "MI300X CPX/NPS4",         { CLV_STEP_MEMORY_MODE, .value = CLV_NPS4 }, true },
		{ "MI300X asked=NPS4",       { CLV_STEP_MEMORY_MODE, .value = CLV_NPS4 }, true },
		{ "MI300X asked=NPS2",       { CLV_STEP_MEMORY_MODE, .value = CLV_NPS4 }, false },
		{ "MI300X asked=NPS4",       { CLV_STEP_RELOAD, .value = CLV_NPS4 }, false },
		{ "MI300X",                  { CLV_STEP_RELOAD, .value = CLV_NPS4 }, false },
		{ "MI300X CPX/NPS4",         { CLV_STEP_RELOAD, .value = CLV_NPS4 }, true },
		/* functions */
		{ "VF vf=2",                 { CLV_STEP_VF_COUNT, .value = 2 }, true },
		{ "VF vf=2",                 { CLV_STEP_VF_COUNT, .value = 0 }, false },
		{ "VF vf=1 each=4G",         QUOTA(.memory_bytes = 4ull << 30), true },
		{ "VF vf=1 each=4097M",      QUOTA(.memory_bytes = 4ull << 30), true },
		{ "VF vf=1 each=4095M",      QUOTA(.memory_bytes = 4ull << 30), false },
		{ "VF vf=1 each=8G",         QUOTA(.memory_bytes = 4ull << 30), false },
		{ "VF vf=1 type=A",          QUOTA(.type = "A"), true },
		{ "VF vf=1 type=A",          QUOTA(.type = "B"), false },
		{ "VF vf=1 driver=xe",       QUOTA(.driver = "xe"), true },
		{ "VF vf=1 driver=xe",       QUOTA(.driver = "vfio-pci"), false },
		{ "VF vf=1",                 QUOTA(.contexts = 1), false },
		{ "VF vf=1",                 QUOTA(.priority = "low"), false },
		{ "VF",                      QUOTA(.contexts = 1), false },
		{ "VF vf=1",                 { CLV_STEP_VF_QUOTA, .value = 0 }, false },
		{ "VF vf=1",                 { CLV_STEP_VF_QUOTA, .value = 2 }, false },
		/* none */
		{ "T4",                      { _CLV_STEP_KIND_MAX }, false },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_node node;

		plan_node(rows[i].device, &node);
		if (clv_step_is_done(&rows[i].step, &node.devices[0]) != rows[i].is_done)
			fail_msg("row %zu: %s", i, rows[i].device);
		clv_node_clear(&node);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
