/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts as text: every key and its field, every error with its line and column and a
 * remedy, and the same layout after a round trip. */
#include "core/layout/layout.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "layout-equal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MI (UINT64_C(1) << 20)
#define GI (UINT64_C(1) << 30)

/* A layout of one rule, with this text in it. */
#define RULE(text) "version: 1\ndevices:\n- select: {}\n  " text "\n"
#define SELECT(text) "version: 1\ndevices:\n- select: " text "\n"
#define PARTITION(text) RULE("partitions: [{profile: 1g.5gb, " text "}]")
#define SHARE(text) RULE("shares: [{name: a, " text "}]")

static int parse(const char *text, struct clv_layout *ret, struct clv_error *err)
{
	return clv_layout_parse(text, strlen(text), "l.yaml", ret, err);
}

/* Every parsed layout is written, parsed again and compared. */
static void check_round_trip(const struct clv_layout *layout)
{
	_cleanup_free_ char *text = NULL;
	struct clv_layout again = {0};
	struct clv_error err = {0};

	assert_int_equal(clv_layout_write(layout, &text, &err), 0);
	if (parse(text, &again, &err) < 0)
		fail_msg("'%s': %s", text, err.msg);
	if (!layout_is_equal(layout, &again))
		fail_msg("'%s' has another layout", text);
	clv_layout_clear(&again);
}

static struct clv_layout good(const char *text)
{
	struct clv_error err = {.code = 7};
	struct clv_layout layout;

	if (parse(text, &layout, &err) != 0)
		fail_msg("'%s': %s", text, err.msg);
	assert_int_equal(err.code, 7);
	assert_string_equal(layout.name, "l.yaml");
	check_round_trip(&layout);
	return layout;
}

/* "2 1@0" */
static void check_parts(
	const struct clv_layout_partition *partition, const char *expected)
{
	char text[64] = "";

	for (size_t i = 0; i < partition->n_parts; i++) {
		int32_t start = CLV_LAYOUT_PART_START(partition->parts[i]);
		size_t used = strlen(text);

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u",
			i ? " " : "", CLV_LAYOUT_PART_SLICES(partition->parts[i]));
		if (start >= 0)
			snprintf(text + used, sizeof(text) - used, "@%d", start);
	}
	assert_string_equal(text, expected);
}

static void check_numbers(const uint32_t *numbers, size_t n, const char *expected)
{
	char text[64] = "";
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u",
			i ? " " : "", numbers[i]);
	assert_string_equal(text, expected);
}

/* --- Keys --- */

static void test_document(void **state)
{
	static const struct {
		const char *text;
		enum clv_on_busy on_busy;
		size_t n_rules;
	} rows[] = {
		/* clang-format off */
		{ "{version: 1, devices: []}",               CLV_ON_BUSY_FAIL, 0 },
		{ "{version: 1, on-busy: fail, devices: []}", CLV_ON_BUSY_FAIL, 0 },
		{ "{version: 1, on-busy: wait, devices: []}", CLV_ON_BUSY_WAIT, 0 },
		{ "{devices: [], on-busy: list, version: 1}", CLV_ON_BUSY_LIST, 0 },
		/* a single value counts as a list */
		{ "{version: 1, devices: {select: {}}}",     CLV_ON_BUSY_FAIL, 1 },
		{ "{version: 1, devices: [{select: {}}, {select: {}}]}", CLV_ON_BUSY_FAIL, 2 },
		/* JSON is YAML */
		{ "{\"version\":1,\"on-busy\":\"wait\",\"devices\":[{\"select\":{}}]}",
			CLV_ON_BUSY_WAIT, 1 },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_layout layout = good(rows[i].text);

		assert_int_equal(layout.on_busy, rows[i].on_busy);
		assert_int_equal(layout.n_rules, rows[i].n_rules);
		clv_layout_clear(&layout);
		assert_int_equal(layout.n_rules, 0);
	}
}

static void test_select(void **state)
{
	static const struct {
		const char *text;
		const char *indexes;
		const char *names; /* separated by blanks */
		const char *model;
		const char *vendor;
		bool is_homogeneous, is_optional;
	} rows[] = {
		/* clang-format off */
		{ "{}",                          "", "", "", "", false },
		{ "{index: 3}",                  "3", "", "", "", false },
		{ "{index: [0, 2, 4096]}",       "0 2 4096", "", "", "", false },
		{ "{name: gpu0}",                "", "gpu0", "", "", false },
		{ "{name: [gpu0, gpu1]}",        "", "gpu0 gpu1", "", "", false },
		{ "{uuid: GPU-1}",               "", "GPU-1", "", "", false },
		{ "{pci: '0000:3b:00.0'}",       "", "0000:3b:00.0", "", "", false },
		{ "{pci: ['0000:3b:00.0'], name: gpu0, uuid: [x]}", "",
			"0000:3b:00.0 gpu0 x", "", "", false },
		{ "{model: A100-80GB}",          "", "", "A100-80GB", "", false },
		{ "{model: Flex 170}",           "", "", "Flex 170", "", false },
		{ "{model: \"a \\\"b\\\" \\\\c\"}", "", "", "a \"b\" \\c", "", false },
		{ "{vendor: nvidia}",            "", "", "", "nvidia", false },
		{ "{vendor: amd}",               "", "", "", "amd", false },
		{ "{vendor: intel}",             "", "", "", "intel", false },
		{ "{vendor: cpu}",               "", "", "", "cpu", false },
		{ "{homogeneous: true}",         "", "", "", "", true },
		{ "{optional: true}",            "", "", "", "", false, true },
		{ "{optional: on, homogeneous: on}", "", "", "", "", true, true },
		{ "{vendor: amd, model: MI300X, index: [1], homogeneous: on, name: gpu1}",
			"1", "gpu1", "MI300X", "amd", true },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = NULL;
		struct clv_selector *select;
		struct clv_layout layout;
		char names[128] = "";

		assert_true(asprintf(&text, SELECT("%s"), rows[i].text) > 0);
		layout = good(text);
		select = &layout.rules[0].select;
		check_numbers(select->indexes, select->n_indexes, rows[i].indexes);
		for (size_t k = 0; k < select->n_names; k++)
			snprintf(names + strlen(names), sizeof(names) - strlen(names),
				"%s%s", k ? " " : "", select->names[k]);
		assert_string_equal(names, rows[i].names);
		assert_string_equal(select->model, rows[i].model);
		assert_string_equal(select->vendor, rows[i].vendor);
		assert_int_equal(select->is_homogeneous, rows[i].is_homogeneous);
		assert_int_equal(select->is_optional, rows[i].is_optional);
		assert_int_equal(layout.rules[0].line, 3);
		clv_layout_clear(&layout);
	}
}

static void test_partitions(void **state)
{
	static const struct {
		const char *text;
		uint32_t count;
		const char *starts;
		const char *parts;
		uint32_t n_equal;
	} rows[] = {
		/* clang-format off */
		{ "{profile: 1g.10gb}",                       1, "", "", 0 },
		{ "{profile: 1g.10gb, count: 1}",             1, "", "", 0 },
		{ "{profile: 1g.10gb, count: 7}",             7, "", "", 0 },
		{ "{profile: 1g.10gb, count: 4096}",       4096, "", "", 0 },
		{ "{profile: 1g.10gb, start: 4}",             0, "4", "", 0 },
		{ "{profile: 1g.10gb, start: [6, 0, 4096]}",  0, "6 0 4096", "", 0 },
		{ "{profile: 3g.40gb, parts: 3c}",            1, "", "3", 0 },
		{ "{profile: 3g.40gb, parts: [2c, 1c], count: 2}", 2, "", "2 1", 0 },
		{ "{profile: 3g.40gb, parts: [1c@2, 2c@0, 1c]}", 1, "", "1@2 2@0 1", 0 },
		{ "{profile: 3g.40gb, shares: 4}",            1, "", "", 4 },
		{ "{profile: \"cores:4\", start: [0, 8], shares: 2}", 0, "0 8", "", 2 },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = NULL;
		struct clv_layout_partition *partition;
		struct clv_layout layout;

		assert_true(
			asprintf(&text, RULE("partitions:\n  - %s"), rows[i].text) > 0);
		layout = good(text);
		assert_true(layout.rules[0].has_partitions);
		assert_int_equal(layout.rules[0].n_partitions, 1);
		partition = layout.rules[0].partitions;
		assert_int_equal(partition->count, rows[i].count);
		check_numbers(partition->starts, partition->n_starts, rows[i].starts);
		check_parts(partition, rows[i].parts);
		assert_int_equal(partition->shares.n_equal, rows[i].n_equal);
		assert_int_equal(partition->line, 5);
		clv_layout_clear(&layout);
	}
}

static void test_no_partitions(void **state)
{
	struct clv_layout layout = good(RULE("partitions: []"));

	assert_true(layout.rules[0].has_partitions);
	assert_int_equal(layout.rules[0].n_partitions, 0);
	clv_layout_clear(&layout);
	layout = good(RULE("mig: on"));
	assert_false(layout.rules[0].has_partitions);
	clv_layout_clear(&layout);
}

static void test_shares(void **state)
{
	static const struct {
		const char *text;
		struct clv_share_request request;
	} rows[] = {
		/* clang-format off */
		{ "share: 0.25",               { 250000, 0, 0, CLV_CLASS_NORMAL } },
		{ "share: 30%",                { 300000, 0, 0, CLV_CLASS_NORMAL } },
		{ "share: 6/20",               { 300000, 0, 0, CLV_CLASS_NORMAL } },
		{ "share: 1",                  { 1000000, 0, 0, CLV_CLASS_NORMAL } },
		{ "share: 0.000001",           { 1, 0, 0, CLV_CLASS_NORMAL } },
		{ "memory: 4G",                { 0, 0, 4 * GI, CLV_CLASS_NORMAL } },
		{ "memory: 1.5GiB",            { 0, 0, 1536 * MI, CLV_CLASS_NORMAL } },
		{ "memory: 5GB, class: batch", { 0, 0, 5000000000, CLV_CLASS_BATCH } },
		{ "memory: 1, class: normal",  { 0, 0, 1, CLV_CLASS_NORMAL } },
		{ "share: 0.5, memory: 20G, cap: 0.75, class: latency",
			{ 500000, 750000, 20 * GI, CLV_CLASS_LATENCY } },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		const struct clv_share_request *wanted = &rows[i].request, *request;
		_cleanup_free_ char *text = NULL;
		struct clv_layout layout;

		assert_true(asprintf(&text, SHARE("%s"), rows[i].text) > 0);
		layout = good(text);
		assert_int_equal(layout.rules[0].shares.n, 1);
		assert_string_equal(layout.rules[0].shares.items[0].name, "a");
		request = &layout.rules[0].shares.items[0].request;
		assert_int_equal(request->compute_ppm, wanted->compute_ppm);
		assert_int_equal(request->cap_ppm, wanted->cap_ppm);
		assert_int_equal(request->memory_bytes, wanted->memory_bytes);
		assert_int_equal(request->class, wanted->class);
		clv_layout_clear(&layout);
	}
}

static void test_many_shares(void **state)
{
	struct clv_layout layout = good(RULE("shares: 20"));

	assert_int_equal(layout.rules[0].shares.n_equal, 20);
	assert_int_equal(layout.rules[0].shares.n, 0);
	clv_layout_clear(&layout);
	layout = good(
		RULE("shares: [{name: x.1_y-2, share: 1/3}, {name: 7, share: 1/3}]"));
	assert_int_equal(layout.rules[0].shares.n, 2);
	assert_int_equal(layout.rules[0].shares.items[1].request.compute_ppm, 333333);
	assert_string_equal(layout.rules[0].shares.items[0].name, "x.1_y-2");
	clv_layout_clear(&layout);
	layout = good(PARTITION("shares: {name: one, memory: 1G}"));
	assert_int_equal(layout.rules[0].partitions[0].shares.n, 1);
	clv_layout_clear(&layout);
	layout = good(RULE("shares: []"));
	assert_int_equal(layout.rules[0].shares.n, 0);
	clv_layout_clear(&layout);
}

static void test_vf(void **state)
{
	struct clv_layout layout = good(
		RULE("vf: {count: 4, memory: 3G, exec-quantum: 16ms, preempt-timeout: "
		     "0.032s, priority: high, contexts: 1024, doorbells: 60, type: "
		     "NVIDIA L40S-12Q, driver: vfio-pci}"));
	const struct clv_layout_rule *rule = layout.rules;

	assert_true(rule->has_vf);
	assert_int_equal(rule->vf_count, 4);
	assert_int_equal(rule->vf_quota.memory_bytes, 3 * GI);
	assert_int_equal(rule->vf_quota.exec_quantum_ms, 16);
	assert_int_equal(rule->vf_quota.preempt_timeout_us, 32000);
	assert_string_equal(rule->vf_quota.priority, "high");
	assert_int_equal(rule->vf_quota.contexts, 1024);
	assert_int_equal(rule->vf_quota.doorbells, 60);
	assert_string_equal(rule->vf_quota.type, "NVIDIA L40S-12Q");
	assert_string_equal(rule->vf_quota.driver, "vfio-pci");
	clv_layout_clear(&layout);

	layout = good(RULE("vf: {count: 0}"));
	assert_true(layout.rules[0].has_vf);
	assert_int_equal(layout.rules[0].vf_count, 0);
	clv_layout_clear(&layout);
	layout = good(RULE("vf: {count: 1, exec-quantum: 1h, preempt-timeout: "
			   "4294967295us}"));
	assert_int_equal(layout.rules[0].vf_quota.exec_quantum_ms, 3600000);
	assert_int_equal(layout.rules[0].vf_quota.preempt_timeout_us, UINT32_MAX);
	clv_layout_clear(&layout);
}

static void test_modes(void **state)
{
	static const char *const computes[] = {"SPX", "DPX", "TPX", "QPX", "CPX"};
	static const char *const memories[] = {"NPS1", "NPS2", "NPS4", "NPS8"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(computes) * CLV_ARRAY_SIZE(memories); i++) {
		size_t c = i % CLV_ARRAY_SIZE(computes), m = i / CLV_ARRAY_SIZE(computes);
		_cleanup_free_ char *text = NULL;
		struct clv_layout layout;

		assert_true(asprintf(&text, RULE("compute-mode: %s\n  memory-mode: %s"),
				    computes[c], memories[m]) > 0);
		layout = good(text);
		assert_true(layout.rules[0].has_compute_mode);
		assert_int_equal(layout.rules[0].compute_mode, c);
		assert_int_equal(layout.rules[0].memory_mode, 1u << m);
		assert_false(layout.rules[0].has_mig || layout.rules[0].has_vf ||
			     layout.rules[0].has_partitions);
		clv_layout_clear(&layout);
	}
}

static void test_switches(void **state)
{
	static const struct {
		const char *text;
		bool has_mig, mig, preserve;
	} rows[] = {
		/* clang-format off */
		{ "mig: on",         true,  true,  false },
		{ "mig: off",        true,  false, false },
		{ "mig: true",       true,  true,  false },
		{ "preserve: true",  false, false, true },
		{ "preserve: no",    false, false, false },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = NULL;
		struct clv_layout layout;

		assert_true(asprintf(&text, RULE("%s"), rows[i].text) > 0);
		layout = good(text);
		assert_int_equal(layout.rules[0].has_mig, rows[i].has_mig);
		assert_int_equal(layout.rules[0].mig, rows[i].mig);
		assert_int_equal(layout.rules[0].preserve, rows[i].preserve);
		clv_layout_clear(&layout);
	}
}

/* --- Mistakes --- */

struct bad {
	const char *text;
	int code;
	const char *message;
};

#define WHOLE "a whole number is expected here"
#define UNIT "write a positive number with a unit, as "
#define A_NAME                                                                          \
	"is no name: letters, digits, dots, dashes and underscores, a letter or digit " \
	"first"
#define EMPTY "the list is empty: put something in, or leave the key out"

/* clang-format off */
static const struct bad bad_layouts[] = {
	{ "",                         -EINVAL, "l.yaml: the document is empty" },
	{ "gpu0",                     -EINVAL, "l.yaml:1:1: keys with values are expected here" },
	{ "{devices: []}",            -EINVAL, "l.yaml:1:1: the key 'version' is missing" },
	{ "{version: 1}",             -EINVAL, "l.yaml:1:1: the key 'devices' is missing" },
	{ "{version: 2, devices: []}", -EINVAL,
		"l.yaml:1:11: version 2 is not supported: use version 1" },
	{ "{version: 0, devices: []}", -EINVAL,
		"l.yaml:1:11: version 0 is not supported: use version 1" },
	{ "{version: one, devices: []}", -EINVAL, "l.yaml:1:11: " WHOLE },
	{ "{version: 1, devices: }",  -EINVAL,
		"l.yaml:1:23: keys with values are expected here" },
	{ "{version: 1, devices: [gpu0]}", -EINVAL,
		"l.yaml:1:24: keys with values are expected here" },
	{ "version: 1\non_busy: wait\ndevices: []\n", -EINVAL,
		"l.yaml:2:1: unknown key 'on_busy': did you mean 'on-busy'?" },
	{ "version: 1\ndevice: []\n", -EINVAL,
		"l.yaml:2:1: unknown key 'device': did you mean 'devices'?" },
	{ "{version: 1, on-busy: kill, devices: []}", -EINVAL,
		"l.yaml:1:23: 'kill' is none of fail, wait, list" },
	{ "{version: 1, on-busy: \"a\\nb\", devices: []}", -EINVAL,
		"l.yaml:1:23: 'a?b' is none of fail, wait, list" },
	/* rules */
	{ "version: 1\ndevices:\n- mig: on\n", -EINVAL,
		"l.yaml:3:3: the key 'select' is missing" },
	{ RULE("migg: on"),           -EINVAL,
		"l.yaml:4:3: unknown key 'migg': did you mean 'mig'?" },
	{ RULE("nvlink: on"),         -EINVAL, "l.yaml:4:3: unknown key 'nvlink': known keys are "
		"select, mig, partitions, compute-mode, memory-mode, vf, shares, preserve" },
	{ RULE("mig: maybe"),         -EINVAL, "l.yaml:4:8: 'maybe' is neither on nor off" },
	{ RULE("mig:"),               -EINVAL, "l.yaml:4:7: '' is neither on nor off" },
	{ RULE("preserve: 1"),        -EINVAL, "l.yaml:4:13: '1' is neither on nor off" },
	{ RULE("compute-mode: XPX"),  -EINVAL,
		"l.yaml:4:17: 'XPX' is no compute mode: SPX, DPX, TPX, QPX, CPX" },
	{ RULE("compute-mode: spx"),  -EINVAL,
		"l.yaml:4:17: 'spx' is no compute mode: SPX, DPX, TPX, QPX, CPX" },
	{ RULE("memory-mode: NPS3"),  -EINVAL,
		"l.yaml:4:16: 'NPS3' is no memory mode: NPS1, NPS2, NPS4, NPS8" },
	/* select */
	{ SELECT(""),                 -EINVAL, "l.yaml:3:10: keys with values are expected here" },
	{ SELECT("all"),              -EINVAL, "l.yaml:3:11: keys with values are expected here" },
	{ SELECT("{modelx: A100}"),   -EINVAL,
		"l.yaml:3:12: unknown key 'modelx': did you mean 'model'?" },
	{ SELECT("{gpu: 0}"),         -EINVAL, "l.yaml:3:12: unknown key 'gpu': known keys are "
		"index, name, uuid, pci, model, vendor, homogeneous, optional" },
	{ SELECT("{index: -1}"),      -EINVAL, "l.yaml:3:19: " WHOLE },
	{ SELECT("{index: [0, x]}"),  -EINVAL, "l.yaml:3:23: " WHOLE },
	{ SELECT("{index: 4097}"),    -ERANGE, "l.yaml:3:19: 4097 is out of range: from 0 to 4096" },
	{ SELECT("{index: []}"),      -EINVAL, "l.yaml:3:19: " EMPTY },
	{ SELECT("{name: []}"),       -EINVAL, "l.yaml:3:18: " EMPTY },
	{ SELECT("{uuid: []}"),       -EINVAL, "l.yaml:3:18: " EMPTY },
	{ SELECT("{pci: []}"),        -EINVAL, "l.yaml:3:17: " EMPTY },
	{ SELECT("{name: ''}"),       -EINVAL, "l.yaml:3:18: a text is expected here: this one is empty" },
	{ SELECT("{name: [a, [b]]}"), -EINVAL, "l.yaml:3:22: a text is expected here" },
	{ SELECT("{model: ~}"),       -EINVAL, "l.yaml:3:19: a text is expected here" },
	{ SELECT("{vendor: arm}"),    -EINVAL, "l.yaml:3:20: 'arm' is none of nvidia, amd, intel, "
		"cpu" },
	{ SELECT("{homogeneous: 2}"), -EINVAL, "l.yaml:3:25: '2' is neither on nor off" },
	/* partitions */
	{ RULE("partitions:"),        -EINVAL, "l.yaml:4:14: a list is expected here: "
		"- {profile: 1g.10gb, count: 2}" },
	{ RULE("partitions: {profile: 1g.5gb}"), -EINVAL, "l.yaml:4:15: a list is expected "
		"here: - {profile: 1g.10gb, count: 2}" },
	{ RULE("partitions: [1g.5gb]"), -EINVAL,
		"l.yaml:4:16: keys with values are expected here" },
	{ RULE("partitions: [{count: 2}]"), -EINVAL,
		"l.yaml:4:16: the key 'profile' is missing" },
	{ RULE("partitions: [{profile: ''}]"), -EINVAL,
		"l.yaml:4:26: a text is expected here: this one is empty" },
	{ RULE("partitions: [{profile: 1234567890123456789012345678901234567890}]"), -ERANGE,
		"l.yaml:4:26: this text has 40 bytes: at most 39" },
	{ PARTITION("cuont: 2"),      -EINVAL,
		"l.yaml:4:34: unknown key 'cuont': did you mean 'count'?" },
	{ PARTITION("count: 0"),      -ERANGE, "l.yaml:4:41: 0 is out of range: from 1 to 4096" },
	{ PARTITION("count: 4097"),   -ERANGE, "l.yaml:4:41: 4097 is out of range: from 1 to 4096" },
	{ PARTITION("count: two"),    -EINVAL, "l.yaml:4:41: " WHOLE },
	{ PARTITION("start: []"),     -EINVAL, "l.yaml:4:41: " EMPTY },
	{ PARTITION("start: [0, 1, 0]"), -EINVAL, "l.yaml:4:48: the start 0 appears twice" },
	{ PARTITION("start: 5000"),   -ERANGE, "l.yaml:4:41: 5000 is out of range: from 0 to 4096" },
	{ PARTITION("start: 0, count: 1"), -EINVAL, "l.yaml:4:16: count and start exclude each "
		"other: start lists the places, one for each partition" },
	{ PARTITION("parts: []"),     -EINVAL, "l.yaml:4:41: " EMPTY },
	{ PARTITION("parts: [0c]"),   -EINVAL,
		"l.yaml:4:42: '0c' is no compute instance: 1c, 2c, 3c, ..., or with "
		"its place, 1c@0" },
	{ PARTITION("parts: [1c, 2]"), -EINVAL,
		"l.yaml:4:46: '2' is no compute instance: 1c, 2c, 3c, ..., or with "
		"its place, 1c@0" },
	{ PARTITION("parts: 10c"),    -EINVAL,
		"l.yaml:4:41: '10c' is no compute instance: 1c, 2c, 3c, ..., or with "
		"its place, 1c@0" },
	/* shares */
	{ RULE("shares: 0"),          -ERANGE, "l.yaml:4:11: 0 is out of range: from 1 to 1024" },
	{ RULE("shares: 1025"),       -ERANGE, "l.yaml:4:11: 1025 is out of range: from 1 to 1024" },
	{ RULE("shares: x"),          -EINVAL, "l.yaml:4:11: " WHOLE },
	{ RULE("shares:"),            -EINVAL, "l.yaml:4:10: keys with values are expected here" },
	{ RULE("shares: [4]"),        -EINVAL, "l.yaml:4:12: keys with values are expected here" },
	{ RULE("shares: [{share: 0.5}]"), -EINVAL, "l.yaml:4:12: the key 'name' is missing" },
	{ RULE("shares: [{name: a}]"), -EINVAL,
		"l.yaml:4:12: the share 'a' has no size: set share, memory or both" },
	{ RULE("shares: [{name: a, class: batch, cap: 1}]"), -EINVAL,
		"l.yaml:4:12: the share 'a' has no size: set share, memory or both" },
	{ RULE("shares: [{name: a, share: 0.1}, {name: a, share: 0.2}]"), -EINVAL,
		"l.yaml:4:35: two shares are named 'a'" },
	{ RULE("shares: [{name: a, share: 0.5}, {name: b, share: 0.6}]"), -EINVAL,
		"l.yaml:4:35: the shares sum to 1.1: the sum must be at most 1" },
	{ SHARE("share: 0.5, cap: 0.4"), -EINVAL,
		"l.yaml:4:12: the cap of 'a' is below its share, which could never be reached" },
	{ RULE("shares: [{name: a/b, share: 1}]"), -EINVAL, "l.yaml:4:19: 'a/b' " A_NAME },
	{ RULE("shares: [{name: -a, share: 1}]"), -EINVAL, "l.yaml:4:19: '-a' " A_NAME },
	{ RULE("shares: [{name: a b, share: 1}]"), -EINVAL, "l.yaml:4:19: 'a b' " A_NAME },
	{ RULE("shares: [{name: \"a\\tb\", share: 1}]"), -EINVAL, "l.yaml:4:19: this text has a "
		"line break or a control character in it: leave it out" },
	{ SHARE("share: 0"),          -ERANGE, "l.yaml:4:29: '0' is out of range: a share is more "
		"than 0 and at most 1, as 0.3, 30% or 6/20" },
	{ SHARE("share: 1.1"),        -ERANGE, "l.yaml:4:29: '1.1' is out of range: a share is "
		"more than 0 and at most 1, as 0.3, 30% or 6/20" },
	{ SHARE("share: half"),       -EINVAL, "l.yaml:4:29: 'half' is not a share: write a number "
		"above 0 and at most 1, as 0.3, 30% or 6/20" },
	{ SHARE("share: 1, cap: 2"),  -ERANGE, "l.yaml:4:37: '2' is out of range: a share is more "
		"than 0 and at most 1, as 0.3, 30% or 6/20" },
	{ SHARE("memory: lots"),      -EINVAL, "l.yaml:4:30: 'lots' is not a size: " UNIT
		"512M or 1.5GiB" },
	{ SHARE("memory: 0"),         -ERANGE, "l.yaml:4:30: '0' is not a size of memory: it must "
		"be at least 1 byte and below 8 EiB" },
	{ SHARE("memory: 4X"),        -EINVAL, "l.yaml:4:30: '4X' has no unit that cleave knows: "
		"use K, M, G, T (binary) or KB, MB, GB, TB (decimal)" },
	{ SHARE("memory: 1G, class: fast"), -EINVAL,
		"l.yaml:4:41: 'fast' is no class: latency, normal, batch" },
	{ SHARE("compute: 1"),        -EINVAL, "l.yaml:4:22: unknown key 'compute': known keys are "
		"name, share, memory, cap, class" },
	/* virtual functions */
	{ RULE("vf: 4"),              -EINVAL, "l.yaml:4:7: keys with values are expected here" },
	{ RULE("vf: {}"),             -EINVAL, "l.yaml:4:7: the key 'count' is missing" },
	{ RULE("vf: {memory: 1G}"),   -EINVAL, "l.yaml:4:7: the key 'count' is missing" },
	{ RULE("vf: {count: -1}"),    -EINVAL, "l.yaml:4:15: " WHOLE },
	{ RULE("vf: {count: 5000}"),  -ERANGE, "l.yaml:4:15: 5000 is out of range: from 0 to 4096" },
	{ RULE("vf: {count: 1, quantum: 1ms}"), -EINVAL, "l.yaml:4:18: unknown key 'quantum': "
		"did you mean 'exec-quantum'?" },
	{ RULE("vf: {count: 1, exec-quantum: 20}"), -EINVAL,
		"l.yaml:4:32: '20' has no unit: us, ms or s" },
	{ RULE("vf: {count: 1, exec-quantum: 1.5}"), -EINVAL,
		"l.yaml:4:32: '1.5' has no unit: us, ms or s" },
	{ RULE("vf: {count: 1, exec-quantum: 1.5ms}"), -ERANGE, "l.yaml:4:32: 1.5ms cannot be "
		"set: whole milliseconds from 1ms to 1h" },
	{ RULE("vf: {count: 1, exec-quantum: 500us}"), -ERANGE, "l.yaml:4:32: 500us cannot be "
		"set: whole milliseconds from 1ms to 1h" },
	{ RULE("vf: {count: 1, exec-quantum: 2h}"), -ERANGE, "l.yaml:4:32: 2h cannot be set: "
		"whole milliseconds from 1ms to 1h" },
	{ RULE("vf: {count: 1, exec-quantum: 0ms}"), -EINVAL, "l.yaml:4:32: '0ms' is not a "
		"duration: " UNIT "250ms, 30s, 5m or 2h" },
	{ RULE("vf: {count: 1, preempt-timeout: 2h}"), -ERANGE, "l.yaml:4:35: 2h cannot be set: "
		"whole microseconds from 1us to 71m" },
	{ RULE("vf: {count: 1, priority: urgent}"), -EINVAL,
		"l.yaml:4:28: 'urgent' is none of low, normal, high" },
	{ RULE("vf: {count: 1, contexts: 0}"), -ERANGE,
		"l.yaml:4:28: 0 is out of range: from 1 to 4294967295" },
	{ RULE("vf: {count: 1, doorbells: 4294967296}"), -ERANGE,
		"l.yaml:4:29: 4294967296 is out of range: from 1 to 4294967295" },
	{ RULE("vf: {count: 1, driver: 123456789012345678901234}"), -ERANGE,
		"l.yaml:4:26: this text has 24 bytes: at most 23" },
	{ RULE("vf: {count: 1, driver: ../../../etc}"), -EINVAL,
		"l.yaml:4:26: '../../../etc' is no name of a driver: letters, digits, '-' and "
		"'_', as in vfio-pci" },
};
/* clang-format on */

static void test_mistakes(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(bad_layouts); i++) {
		const struct bad *bad = &bad_layouts[i];
		struct clv_layout layout = {.n_rules = 42};
		struct clv_error err = {0};
		int r = parse(bad->text, &layout, &err);

		if (r != bad->code || err.code != r)
			fail_msg("'%s' gives %d: %s", bad->text, r, err.msg);
		if (strcmp(err.msg, bad->message) != 0)
			fail_msg("'%s' says '%s', not '%s'", bad->text, err.msg,
				bad->message);
		assert_int_equal(layout.n_rules, 42);
		assert_int_equal(parse(bad->text, &layout, NULL), bad->code);
	}
}

/* A text with n items in which their number is. */
static char *with_items(const char *begin, const char *before, const char *behind,
	size_t n, const char *end)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fputs(begin, to);
	for (size_t i = 0; i < n; i++)
		fprintf(to, "%s%zu%s, ", before, i % 4096, behind);
	fputs(end, to);
	assert_int_equal(fclose(to), 0);
	return text;
}

/* The time of a layout is bounded by the number of its values, and that of lists whose
 * items are compared with each other by their length. */
static void test_size_is_bounded(void **state)
{
	static const struct {
		const char *begin, *before, *behind, *end;
		size_t most;
		const char *message;
	} rows[] = {
		/* clang-format off */
		/* nine values beside the items, by their tokens */
		{ "version: 1\ndevices:\n- select: {index: [", "", "", "]}\n", 12279,
			"too large: at most 12288 values with aliases expanded" },
		{ "version: 1\ndevices:\n- select: {}\n  partitions: [{profile: a, start: [",
			"", "", "]}]\n", 1024, "the list has over 1024 items" },
		{ "version: 1\ndevices:\n- select: {}\n  shares: [", "{name: ",
			", memory: 1}", "]\n", 1024, "the list has over 1024 items" },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		for (size_t more = 0; more < 2; more++) {
			_cleanup_free_ char *text =
				with_items(rows[i].begin, rows[i].before, rows[i].behind,
					rows[i].most + more, rows[i].end);
			struct clv_layout layout = {0};
			struct clv_error err = {0};

			if (parse(text, &layout, &err) != (more ? -E2BIG : 0))
				fail_msg("%zu items: %s", rows[i].most + more, err.msg);
			assert_true(strstr(err.msg, rows[i].message) || !more);
			clv_layout_clear(&layout);
		}
	}
}

/* The writer has one form for each value, and leaves out what is not set. */
static void test_written_form(void **state)
{
	static const char text[] =
		"version: 1\n"
		"on-busy: list\n"
		"devices:\n"
		"  - select: {vendor: nvidia, model: \"A100\", name: [\"gpu0\", "
		"\"GPU-1\"], "
		"index: [0, 1], homogeneous: true}\n"
		"    mig: on\n"
		"    partitions:\n"
		"      - {profile: \"1g.5gb\", count: 2, shares: 4}\n"
		"      - {profile: \"1g.5gb\", start: [5, 6]}\n"
		"      - {profile: \"3g.20gb\", parts: [2c, 1c], shares: [{name: \"a\", "
		"share: 0.5, memory: 1K, cap: 1.0, class: batch}]}\n"
		"    preserve: true\n"
		"  - select: {}\n"
		"    compute-mode: CPX\n"
		"    memory-mode: NPS4\n"
		"    vf: {count: 2, memory: 4K, exec-quantum: 5ms, preempt-timeout: "
		"7us, "
		"contexts: 3, doorbells: 2, priority: \"low\", type: \"t\", driver: "
		"\"d\"}\n"
		"    partitions: []\n"
		"    shares: [{name: \"a\", memory: 1536M}, {name: \"b\", memory: "
		"3000000001}]\n"
		"  - select: {}\n"
		"    vf: {count: 4, memory: 3G, preempt-timeout: 32ms}\n"
		"    shares: 3\n"
		"  - select: {uuid: [\"GPU-1\", \"gpu1x\"], optional: true}\n"
		"    mig: on\n"
		"  - select: {vendor: amd, pci: [\"0000:3b:00.0\"]}\n"
		"    mig: off\n"
		"  - select: {name: [\"gpu0\", \"gpu10\"]}\n"
		"    mig: off\n";
	_cleanup_free_ char *written = NULL;
	struct clv_layout layout = good(text);

	assert_int_equal(clv_layout_write(&layout, &written, NULL), 0);
	assert_string_equal(written, text);
	clv_layout_clear(&layout);
}

/* A driver may report texts that a file cannot have: they are written so that they can be
 * read. */
static void test_written_texts(void **state)
{
	struct clv_layout layout = {0};
	struct clv_layout_rule *rule = clv_layout_add_rule(&layout);
	_cleanup_free_ char *text = NULL;

	assert_non_null(rule);
	snprintf(rule->vf_quota.type, sizeof(rule->vf_quota.type),
		"a\"b\\c\nd\x7f\xc3\xa4");
	rule->has_vf = true;
	assert_int_equal(clv_layout_write(&layout, &text, NULL), 0);
	assert_non_null(strstr(text, "type: \"a\\\"b\\\\c\\u000ad\\u007f\xc3\xa4\""));
	clv_layout_clear(&layout);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_select),
		cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_no_partitions),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_many_shares),
		cmocka_unit_test(test_vf),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_size_is_bounded),
		cmocka_unit_test(test_written_form),
		cmocka_unit_test(test_written_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
