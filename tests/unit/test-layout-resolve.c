/* SPDX-License-Identifier: Apache-2.0 */
/* Resolved layouts: what each kind of selector becomes, and that the result means the
 * same hardware when the order and the names of the node's devices are others. */
#include "core/layout/layout.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "plan-world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char node_text[] =
	"A100-40GB memory=40G model=NVIDIA_A100 pci=0000:01:00.0\n"
	"A100-40GB memory=40G model=NVIDIA_A100 pci=0000:02:00.0\n"
	"T4 memory=16G model=Tesla_T4\n"
	"MI300X memory=192G vendor=AMD uuid= pci=0000:3b:00.0\n";

/* The same devices in another order and under other names, and one that is new. */
static const char other_text[] =
	"A100-40GB memory=40G model=NVIDIA_A100 uuid=GPU-new\n"
	"MI300X memory=192G vendor=AMD uuid= pci=0000:3b:00.0 name=gpu7\n"
	"T4 memory=16G model=Tesla_T4 uuid=GPU-2 name=gpu1\n"
	"A100-40GB memory=40G model=NVIDIA_A100 uuid=GPU-1 name=gpu0x\n"
	"A100-40GB memory=40G model=NVIDIA_A100 uuid=GPU-0 name=gpu2\n";

struct row {
	const char *rules;
	/* The names of each rule, resolved: ";" after each rule. */
	const char *names;
	/* The rule of each device of the other node; "-": one of its devices is gone. */
	const char *others;
	int code;
};

static const struct row rows[] = {
	/* clang-format off */
	{"- select: {name: gpu1}",               "GPU-1;",                    "...0."},
	{"- select: {index: 1}",                 "GPU-1;",                    "...0."},
	{"- select: {index: [2, 0]}",            "GPU-0,GPU-2;",              "..0.0"},
	{"- select: {index: 3}",                 "0000:3b:00.0;",             ".0..."},
	{"- select: {}",                         "GPU-0,GPU-1,GPU-2,0000:3b:00.0;", ".0000"},
	{"- select: {vendor: nvidia, index: 1}", "GPU-1;",                    "...0."},
	{"- select: {model: A100}",              "GPU-0,GPU-1;",              "...00"},
	{"- select: {homogeneous: true}",        "GPU-0,GPU-1;",              "...00"},
	{"- select: {pci: '0000:02:00.0'}",      "GPU-1;",                    "...0."},
	{"- select: {name: gpu0}\n- select: {uuid: GPU-1}", "GPU-0;GPU-1;",   "...10"},
	/* Rules that select no device go. */
	{"- select: {model: H100, optional: true}", "",                       "....."},
	{"- select: {model: H100, optional: true}\n- select: {index: 2}", "GPU-2;", "..0.."},
	{"- select: {name: [gpu0, gpu9], optional: true}", "GPU-0;",          "....0"},
	{"- select: {name: gpu9}", .code = -ENODEV},
	{"- select: {index: 4}", .code = -ENODEV},
	{"- select: {index: 0}\n- select: {name: gpu0}", .code = -EINVAL},
	/* clang-format on */
};

static char *names_of(const struct clv_layout *layout)
{
	char *text = calloc(1, 512);

	assert_non_null(text);
	for (size_t i = 0; i < layout->n_rules; i++) {
		const struct clv_selector *select = &layout->rules[i].select;

		for (size_t j = 0; j < select->n_names; j++)
			snprintf(text + strlen(text), 512 - strlen(text), "%s%s",
				j ? "," : "", select->names[j]);
		strcat(text, ";");
	}
	return text;
}

static char *match_others(const struct clv_layout *layout)
{
	struct clv_error err = {0};
	int32_t rule_of[8];
	struct clv_node node;
	char *text = calloc(1, 16);

	plan_node(other_text, &node);
	if (clv_layout_match(layout, &node, rule_of, &err) < 0)
		fail_msg("%s", err.msg);
	assert_non_null(text);
	for (size_t i = 0; i < node.n_devices; i++)
		text[i] = rule_of[i] < 0 ? '.' : (char)('0' + rule_of[i]);
	clv_node_clear(&node);
	return text;
}

static void check(const struct row *row)
{
	_cleanup_free_ char *names = NULL, *others = NULL, *text = NULL;
	struct clv_layout layout, again;
	struct clv_error err = {0};
	struct clv_node node;

	plan_node(node_text, &node);
	plan_layout(row->rules, &layout);
	assert_int_equal(clv_layout_resolve(&layout, &node, &err), row->code);
	if (row->code == 0) {
		names = names_of(&layout);
		others = match_others(&layout);
		assert_string_equal(names, row->names);
		assert_string_equal(others, row->others);
		/* It stays so in text, as it is stored. */
		assert_true(clv_layout_is_resolved(&layout));
		assert_int_equal(clv_layout_write(&layout, &text, &err), 0);
		assert_int_equal(
			clv_layout_parse(text, strlen(text), "x", &again, &err), 0);
		assert_true(clv_layout_is_resolved(&again));
		clv_layout_clear(&again);
	}
	clv_layout_clear(&layout);
	clv_node_clear(&node);
}

static void test_resolve(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++)
		check(&rows[i]);
}

/* A device that is gone is an error and not another device. */
static void test_gone(void **state)
{
	struct clv_layout layout;
	struct clv_node node;
	int32_t rule_of[8];

	plan_node(node_text, &node);
	plan_layout("- select: {name: gpu1}", &layout);
	assert_int_equal(clv_layout_resolve(&layout, &node, NULL), 0);
	clv_node_clear(&node);
	plan_node("A100-40GB uuid=GPU-0\nA100-40GB uuid=GPU-9\n", &node);
	assert_int_equal(clv_layout_match(&layout, &node, rule_of, NULL), -ENODEV);
	clv_layout_clear(&layout);
	clv_node_clear(&node);
}

/* The texts of earlier versions. */
static void test_is_resolved(void **state)
{
	static const struct {
		const char *rules;
		bool is_resolved, needs_order;
	} texts[] = {
		{"- select: {name: [GPU-0, '0000:3b:00.0']}", true, false},
		{"- select: {name: gpu0}", false, true},
		{"- select: {name: [GPU-0, gpu12]}", false, true},
		{"- select: {index: 0}", false, true},
		{"- select: {vendor: amd, index: 0}", false, true},
		{"- select: {vendor: amd}", false, false},
		{"- select: {model: A100}", false, false},
		{"- select: {homogeneous: true}", false, false},
		{"- select: {name: GPU-0, optional: true}", false, false},
		{"- select: {}", false, false},
	};
	struct clv_layout layout;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(texts); i++) {
		plan_layout(texts[i].rules, &layout);
		assert_int_equal(clv_layout_is_resolved(&layout), texts[i].is_resolved);
		assert_int_equal(clv_selector_needs_order(&layout.rules[0].select),
			texts[i].needs_order);
		clv_layout_clear(&layout);
	}
}

static bool is_not(void *userdata, const char *identity)
{
	return strcmp(userdata, identity) != 0;
}

static void test_keep(void **state)
{
	_cleanup_free_ char *all = NULL, *one = NULL;
	struct clv_layout layout;

	plan_layout(
		"- {select: {name: [a, b, c]}, mig: on}\n- {select: {name: d}, mig: on}",
		&layout);
	clv_layout_keep(&layout, is_not, (char[]){"b"});
	all = names_of(&layout);
	assert_string_equal(all, "a,c;d;");
	clv_layout_keep(&layout, is_not, (char[]){"d"});
	one = names_of(&layout);
	assert_string_equal(one, "a,c;");
	clv_layout_clear(&layout);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_is_resolved),
		cmocka_unit_test(test_keep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
