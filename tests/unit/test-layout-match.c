/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices a rule selects, its errors, and a node exported as a layout. */
#include "core/layout/layout.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "layout-equal.h"
#include "plan-world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Nine devices of every kind. */
static const char mixed[] =
	"A100-40GB memory=40G model=NVIDIA_A100-SXM4-40GB pci=0000:01:00.0\n"
	"A100-80GB memory=80G model=NVIDIA_A100-SXM4-80GB pci=0000:02:00.0\n"
	"A100-80GB memory=80G model=NVIDIA_A100-SXM4-80GB pci=0000:3B:00.0\n"
	"T4 memory=16G model=Tesla_T4\n"
	"MI300X memory=192G model=AMD_Instinct_MI300X\n"
	"MI300X memory=192G model=AMD_Instinct_MI300X "
	"vendor=Advanced_Micro_Devices,_Inc.\n"
	"VF memory=16G model=Flex_170\n"
	"CPU cores=4 model=AMD_EPYC vendor=AMD\n"
	"A100-80GB memory=96G model=NVIDIA_A100-SXM4-80GB uuid=GPU-abc name=spare\n";

/* The rule of each device as a digit, "." for none; or the error. */
static char *match(const char *node_text, const char *rules)
{
	struct clv_layout layout;
	struct clv_error err = {0};
	struct clv_node node;
	int32_t rule_of[16];
	char *text = NULL;
	int r;

	plan_node(node_text, &node);
	plan_layout(rules, &layout);
	r = clv_layout_match(&layout, &node, rule_of, &err);
	if (r < 0) {
		assert_int_equal(err.code, r);
		assert_true(asprintf(&text, "%d %s", r, err.msg) > 0);
	} else {
		text = calloc(node.n_devices + 1, 1);
		assert_non_null(text);
		for (size_t i = 0; i < node.n_devices; i++)
			text[i] = rule_of[i] < 0 ? '.' : (char)('0' + rule_of[i]);
	}
	clv_layout_clear(&layout);
	clv_node_clear(&node);
	return text;
}

static void test_match(void **state)
{
	static const struct {
		const char *rules;
		const char *result;
	} rows[] = {
		/* clang-format off */
		{ " []",                                        "........." },
		{ "- select: {}",                               "000000000" },
		/* by place */
		{ "- select: {index: 0}",                       "0........" },
		{ "- select: {index: [8, 3]}",                  "...0....0" },
		{ "- select: {index: [1, 1]}",                  ".0......." },
		/* by name: the device's, its UUID, its PCI address in any case */
		{ "- select: {name: gpu3}",                     "...0....." },
		{ "- select: {name: [gpu3, spare]}",            "...0....0" },
		{ "- select: {uuid: GPU-abc}",                  "........0" },
		{ "- select: {uuid: gpu-ABC}",                  "........0" },
		{ "- select: {name: GPU-abc}",                  "........0" },
		{ "- select: {pci: '0000:3b:00.0'}",            "..0......" },
		/* a device must match each key */
		{ "- select: {pci: '0000:02:00.0', uuid: GPU-1, name: gpu1}", ".0......." },
		{ "- select: {name: [gpu1, gpu2, gpu3], uuid: [GPU-2, gpu1, spare]}", ".00......" },
		{ "- select: {pci: '0000:01:00.0', uuid: GPU-1}",
			"-19 l.yaml:3: name, uuid and pci contradict each other: a device must match "
			"each of them; one key takes a list of several devices" },
		{ "- select: {uuid: GPU-1, name: [gpu0, gpu1], pci: '0000:01:00.0'}",
			"-19 l.yaml:3: name, uuid and pci contradict each other: a device must match "
			"each of them; one key takes a list of several devices" },
		{ "- select: {pci: '0000:01:00.0', uuid: GPU-1, optional: true}", "........." },
		/* by model: a part of its name, or the name in the tables */
		{ "- select: {model: A100}",                    "000.....0" },
		{ "- select: {model: a100-sxm4}",               "000.....0" },
		{ "- select: {model: A100-80GB}",               ".00.....0" },
		{ "- select: {model: mi300x}",                  "....00..." },
		{ "- select: {model: T4}",                      "...0....." },
		/* by vendor: a processor has none */
		{ "- select: {vendor: nvidia}",                 "0000....0" },
		{ "- select: {vendor: amd}",                    "....00..." },
		{ "- select: {vendor: intel}",                  "......0.." },
		{ "- select: {vendor: cpu}",                    ".......0." },
		/* the largest group of equal devices, by model and memory */
		{ "- select: {homogeneous: true}",              ".00......" },
		{ "- select: {homogeneous: true, vendor: amd}", "....00..." },
		{ "- select: {homogeneous: true, model: T4}",   "...0....." },
		/* all keys must match; indexes count among the matches */
		{ "- select: {vendor: nvidia, index: 3}",       "...0....." },
		{ "- select: {vendor: nvidia, index: [4, 0]}",  "0.......0" },
		{ "- select: {model: A100-80GB, homogeneous: true, index: 1}", "..0......" },
		{ "- select: {name: [gpu0, gpu4], vendor: nvidia}", "0........" },
		/* a node without these devices, or without some, may follow the layout
		 * too */
		{ "- select: {model: H100, optional: true}",    "........." },
		{ "- select: {name: [gpu9, gpu3], optional: true}", "...0....." },
		{ "- select: {index: [0, 12], optional: true}", "0........" },
		/* several rules */
		{ "- select: {vendor: amd}\n- select: {vendor: nvidia, index: 0}\n"
		  "- select: {name: spare}",                    "1...00..2" },
		/* none selected, and too many */
		{ "- select: {model: H100}", "-19 l.yaml:3: no device is selected by this rule; "
			"the node has 9, the first is gpu0 (NVIDIA A100-SXM4-40GB): see cleave "
			"devices" },
		{ "- select: {vendor: intel, model: A100}", "-19 l.yaml:3: no device is selected "
			"by this rule; the node has 9, the first is gpu0 (NVIDIA A100-SXM4-40GB): "
			"see cleave devices" },
		{ "- select: {name: gpu1, vendor: amd}", "-19 l.yaml:3: no device is selected by "
			"this rule; the node has 9, the first is gpu0 (NVIDIA A100-SXM4-40GB): see "
			"cleave devices" },
		{ "- select: {name: gpu9}",
			"-19 l.yaml:3: the node has no device 'gpu9': see cleave devices" },
		{ "- select: {}\n- select: {name: [gpu0, GPU-1, GPU-x]}",
			"-19 l.yaml:4: the node has no device 'GPU-x': see cleave devices" },
		{ "- select: {index: 9}", "-19 l.yaml:3: the node has no device with the index 9 "
			"here: they are 0 to 8" },
		{ "- select: {vendor: amd, index: [0, 2]}", "-19 l.yaml:3: the node has no device "
			"with the index 2 here: they are 0 to 1" },
		{ "- select: {vendor: nvidia}\n- select: {model: T4}",
			"-22 l.yaml:4: gpu3 is selected here and by the rule in line 3: only one "
			"rule may select a device" },
		{ "- select: {name: spare}\n- {select: {vendor: amd}}\n- select: {index: 8}",
			"-22 l.yaml:5: spare is selected here and by the rule in line 3: only one "
			"rule may select a device" },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *result = match(mixed, rows[i].rules);

		if (strcmp(result, rows[i].result) != 0)
			fail_msg("'%s' gives '%s', not '%s'", rows[i].rules, result,
				rows[i].result);
	}
}

static void test_no_devices(void **state)
{
	_cleanup_free_ char *none = match("", " []");
	_cleanup_free_ char *some = match("", "- select: {}");

	assert_string_equal(none, "");
	assert_string_equal(
		some, "-19 l.yaml:3: the node has no device that could be selected");
}

static void test_find(void **state)
{
	static const struct {
		const char *name;
		int index; /* -1: none */
	} rows[] = {{"gpu1", 1}, {"GPU-1", 1}, {"0000:3b:00.0", 2}, {"spare", 8},
		{"gpu8", -1}, {"gpu", -1}, {"", -1}};
	struct clv_node node;

	plan_node(mixed, &node);
	node.devices[3].info.uuid[0] = '\0';
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++)
		assert_ptr_equal(clv_node_find(&node, rows[i].name),
			rows[i].index < 0 ? NULL : &node.devices[rows[i].index]);
	clv_node_clear(&node);
}

/* --- A node as a layout --- */

/* The rules of the node's layout, as written. */
static char *export_node(const char *node_text)
{
	static const char head[] = "version: 1\ndevices:\n";
	struct clv_layout layout, again = {0};
	struct clv_error err = {0};
	struct clv_node node;
	char *text;

	plan_node(node_text, &node);
	assert_int_equal(clv_layout_of_node(&node, &layout, &err), 0);
	assert_int_equal(clv_layout_write(&layout, &text, &err), 0);
	if (clv_layout_parse(text, strlen(text), "l.yaml", &again, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	assert_true(layout_is_equal(&layout, &again));
	clv_layout_clear(&layout);
	clv_layout_clear(&again);
	clv_node_clear(&node);
	if (strncmp(text, head, sizeof(head) - 1) == 0)
		memmove(text, text + sizeof(head) - 1, strlen(text) - sizeof(head) + 2);
	return text;
}

static void test_export(void **state)
{
	static const struct {
		const char *node;
		const char *rules;
	} rows[] = {
		/* clang-format off */
		{ "T4",              "version: 1\ndevices: []\n" },
		{ "A100-40GB",       "  - select: {uuid: [\"GPU-0\"]}\n    mig: off\n" },
		{ "A100-40GB on",
			"  - select: {uuid: [\"GPU-0\"]}\n    mig: on\n    partitions: []\n" },
		/* a device without a UUID goes by its PCI address, without either by its name */
		{ "A100-40GB uuid= pci=0000:3b:00.0",
			"  - select: {pci: [\"0000:3b:00.0\"]}\n    mig: off\n" },
		{ "A100-40GB uuid=", "  - select: {name: [\"gpu0\"]}\n    mig: off\n" },
		/* equal instances in one line; an incomplete one is left out */
		{ "A100-40GB on 1g.5gb@5 3g.20gb@0(1c@0+1c@2) 1g.5gb@4 1g.5gb@6~",
			"  - select: {uuid: [\"GPU-0\"]}\n    mig: on\n    partitions:\n"
			"      - {profile: \"1g.5gb\", start: [5, 4]}\n"
			"      - {profile: \"3g.20gb\", start: [0], parts: [1c@0, 1c@2]}\n" },
		{ "A100-40GB on 2g.10gb@0(1c@0+1c@1) 2g.10gb@2 2g.10gb@4(1c@0+1c@1)",
			"  - select: {uuid: [\"GPU-0\"]}\n    mig: on\n    partitions:\n"
			"      - {profile: \"2g.10gb\", start: [0, 4], parts: [1c@0, 1c@1]}\n"
			"      - {profile: \"2g.10gb\", start: [2]}\n" },
		{ "MI300X CPX/NPS4", "  - select: {uuid: [\"GPU-0\"]}\n    compute-mode: CPX\n"
			"    memory-mode: NPS4\n" },
		{ "MI300X",          "  - select: {uuid: [\"GPU-0\"]}\n    compute-mode: SPX\n"
			"    memory-mode: NPS1\n" },
		{ "VF",              "  - select: {uuid: [\"GPU-0\"]}\n    vf: {count: 0}\n" },
		{ "VF vf=2 each=4G type=T", "  - select: {uuid: [\"GPU-0\"]}\n"
			"    vf: {count: 2, memory: 4G, type: \"T\"}\n" },
		{ "CPU cores=8 cores:2@0=0-1 cores:4@4=4-7 cores:2@2=2-3",
			"  - select: {uuid: [\"GPU-0\"]}\n    partitions:\n"
			"      - {profile: \"cores:2\", start: [0, 2]}\n"
			"      - {profile: \"cores:4\", start: [4]}\n" },
		{ "CPU cores=8",
			"  - select: {uuid: [\"GPU-0\"]}\n    partitions: []\n" },
		{ "T4\nMI300X\nVF",
			"  - select: {uuid: [\"GPU-1\"]}\n    compute-mode: SPX\n"
			"    memory-mode: NPS1\n"
			"  - select: {uuid: [\"GPU-2\"]}\n    vf: {count: 0}\n" },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *rules = export_node(rows[i].node);

		if (strcmp(rules, rows[i].rules) != 0)
			fail_msg("'%s' is '%s', not '%s'", rows[i].node, rules,
				rows[i].rules);
	}
}

/* A layout has one quota for all functions of a device: the values that they share. */
static void test_export_of_quotas(void **state)
{
	static const struct clv_vf_quota quotas[] = {
		{1024, 16, 32, 4, 8, "high", "T", "vfio-pci"},
		{1024, 8, 32, 5, 8, "low", "T", "vfio-pci"},
		{1024, 8, 32, 5, 8, "low", "T", "xe"},
	};
	struct clv_layout layout;
	struct clv_node node;
	const struct clv_vf_quota *quota;

	plan_node("VF vf=3", &node);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(quotas); i++)
		node.devices[0].vf.items[i].quota = quotas[i];
	assert_int_equal(clv_layout_of_node(&node, &layout, NULL), 0);
	quota = &layout.rules[0].vf_quota;
	assert_int_equal(quota->memory_bytes, 1024);
	assert_int_equal(quota->exec_quantum_ms, 0);
	assert_int_equal(quota->preempt_timeout_us, 32);
	assert_int_equal(quota->contexts, 0);
	assert_int_equal(quota->doorbells, 8);
	assert_string_equal(quota->priority, "");
	assert_string_equal(quota->type, "T");
	assert_string_equal(quota->driver, "");
	clv_layout_clear(&layout);
	clv_node_clear(&node);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_no_devices),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_export),
		cmocka_unit_test(test_export_of_quotas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
