/* SPDX-License-Identifier: Apache-2.0 */
/* The files of NVIDIA's Kubernetes device plugin: every construct, and every error. */
#include "import-check.h"

#include "import/device-plugin.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define UUID "b1028956-cfa2-0990-bf4a-5da9abb51763"
#define SLICES(resources) \
	"version: v1\nsharing:\n  timeSlicing:\n    resources: [" resources "]\n"
#define MPS(resources) "sharing: {mps: {resources: [" resources "]}}\n"
#define GPU4 "{name: nvidia.com/gpu, replicas: 4}"
#define MEMORY(n) "a share holds 1/" n " of it"
#define COUNT(profile) "the file does not say how many " profile " a GPU has"

static void test_gpus(void **state)
{
	static const struct import_case cases[] = {
		{SLICES(GPU4), NULL, "nvidia shares=4\n", {MEMORY("4")}},
		{SLICES("{name: gpu, replicas: 10}"), NULL, "nvidia shares=10\n",
			{MEMORY("10")}},
		{SLICES("{name: gpu, replicas: 2, devices: all}"), NULL,
			"nvidia shares=2\n", {MEMORY("2")}},
		{MPS(GPU4), NULL, "nvidia shares=4\n", {"limits each replica to 1/4"}},
		{SLICES("{name: gpu, replicas: 2, devices: 3}"), NULL,
			"nvidia [0,1,2] shares=2\n",
			{"which 3 GPUs is left to the plugin", MEMORY("2")}},
		{SLICES("{name: gpu, replicas: 2, devices: [0, \"2\"]}"), NULL,
			"nvidia [0,2] shares=2\n", {MEMORY("2")}},
		{SLICES("{name: gpu, replicas: 2, devices: [GPU-" UUID ", 1]}"), NULL,
			"nvidia [1] shares=2\nnvidia {GPU-" UUID "} shares=2\n",
			{MEMORY("2")}},
		{SLICES("{name: gpu, replicas: 2, devices: [0]}, "
			"{name: gpu, replicas: 3, devices: [1]}"),
			NULL, "nvidia [0] shares=2\nnvidia [1] shares=3\n",
			{MEMORY("2"), MEMORY("3")}},
		/* a MIG partition is not a GPU */
		{SLICES("{name: gpu, replicas: 2, devices: [0, \"1:0\"]}"), NULL,
			"nvidia [0] shares=2\n",
			{"'1:0' is a MIG partition", MEMORY("2")}},
	};

	CHECK_IMPORTS(cases);
}

static void test_partitions(void **state)
{
	static const struct import_case cases[] = {
		{SLICES("{name: nvidia.com/mig-1g.10gb, replicas: 4}"), NULL,
			"nvidia mig=on 1g.10gb*1/4 preserve\n",
			{COUNT("1g.10gb"), MEMORY("4")}},
		{SLICES("{name: mig-1g.10gb.me, replicas: 4}"), NULL,
			"nvidia mig=on 1g.10gb+me*1/4 preserve\n",
			{COUNT("1g.10gb+me"), MEMORY("4")}},
		{SLICES("{name: mig-1g.24gb.me.all, replicas: 4}"), NULL,
			"nvidia mig=on 1g.24gb+me.all*1/4 preserve\n",
			{COUNT("1g.24gb+me.all"), MEMORY("4")}},
		{SLICES("{name: mig-1g.24gb-me, replicas: 4}"), NULL,
			"nvidia mig=on 1g.24gb-me*1/4 preserve\n",
			{COUNT("1g.24gb-me"), MEMORY("4")}},
		/* resources of one GPU become one rule */
		{SLICES("{name: mig-1g.5gb, replicas: 2}, {name: mig-3g.20gb, replicas: "
			"6}"),
			NULL, "nvidia mig=on 1g.5gb*1/2 3g.20gb*1/6 preserve\n",
			{COUNT("1g.5gb"), MEMORY("2"), COUNT("3g.20gb"), MEMORY("6")}},
		{SLICES("{name: mig-1g.5gb, replicas: 2, devices: [\"0:0\", \"0:1\", "
			"\"2:0\"]}, {name: mig-3g.20gb, replicas: 3, devices: "
			"[\"0:2\"]}"),
			NULL,
			"nvidia [0] mig=on 1g.5gb*2/2 3g.20gb*1/3 preserve\n"
			"nvidia [2] mig=on 1g.5gb*1/2 preserve\n",
			{MEMORY("2"), MEMORY("3")}},
		{SLICES("{name: mig-1g.5gb, replicas: 2, devices: [MIG-GPU-" UUID "/3/0, "
			"MIG-GPU-" UUID "/4/0]}"),
			NULL, "nvidia {GPU-" UUID "} mig=on 1g.5gb*2/2 preserve\n",
			{MEMORY("2")}},
		/* entries without a GPU */
		{SLICES("{name: mig-1g.5gb, replicas: 2, devices: [\"0:0\", MIG-" UUID
			"]}"),
			NULL, "nvidia [0] mig=on 1g.5gb*1/2 preserve\n",
			{"does not say which GPU it is on", MEMORY("2")}},
		{SLICES("{name: mig-1g.5gb, replicas: 2, devices: [\"0:0\", 1]}"), NULL,
			"nvidia [0] mig=on 1g.5gb*1/2 preserve\n",
			{"'1' is a whole GPU", MEMORY("2")}},
		{SLICES("{name: mig-1g.5gb, replicas: 2, devices: 3}"), NULL, NULL,
			{"on which GPUs they are", "nothing else can be imported"}},
		{SLICES("{name: mig-1c.3g.20gb, replicas: 2}"), NULL, NULL,
			{"not of a compute instance", "without '1c.'"}},
		{SLICES("{name: mig-small, replicas: 2}"), NULL, NULL,
			{"'small' is no MIG profile"}},
		/* nine of them fit on no GPU; nor do all sizes together */
		{SLICES("{name: mig-2g.10gb, replicas: 2, devices: [\"0:0\", \"0:1\", "
			"\"0:2\", \"0:3\"]}"),
			NULL, NULL,
			{"4 of 2g.10gb are wanted and one A100-40GB holds 3"}},
		{SLICES("{name: mig-3g.20gb, replicas: 2}, {name: mig-7g.40gb, replicas: "
			"2}"),
			NULL, NULL, {"does not hold all of these together"}},
	};

	CHECK_IMPORTS(cases);
}

/* One file for all nodes: those with MIG and those without. */
static void test_selection(void **state)
{
#define BOTH             \
	SLICES("\n" GPU4 \
	       ",\n{name: mig-1g.5gb, replicas: 2},\n{name: mig-2g.10gb, replicas: 3}")
	static const struct import_case cases[] = {
		{BOTH, NULL, NULL, {"f:6:1: this and line 5", "with --select"}},
		{BOTH, "nvidia.com/gpu", "nvidia shares=4\n", {MEMORY("4")}},
		{BOTH, "gpu", "nvidia shares=4\n", {MEMORY("4")}},
		{BOTH, "mig-2g.10gb", "nvidia mig=on 2g.10gb*1/3 preserve\n",
			{COUNT("2g.10gb"), MEMORY("3")}},
		{BOTH, "mig", "nvidia mig=on 1g.5gb*1/2 2g.10gb*1/3 preserve\n",
			{COUNT("1g.5gb"), MEMORY("2"), COUNT("2g.10gb"), MEMORY("3")}},
		{BOTH, "mig-1g", NULL, {"no resource is called 'mig-1g'"}},
		{SLICES("{name: gpu, replicas: 2, devices: [0]}, {name: mig-1g.5gb, "
			"replicas: 2, devices: [\"1:0\"]}"),
			NULL,
			"nvidia [0] shares=2\nnvidia [1] mig=on 1g.5gb*1/2 preserve\n",
			{MEMORY("2"), MEMORY("2")}},
		{SLICES("{name: gpu, replicas: 2, devices: [0, 1]}, {name: mig-1g.5gb, "
			"replicas: 2, devices: [\"1:0\"]}"),
			NULL, NULL, {"select the same devices"}},
	};

	CHECK_IMPORTS(cases);
}

static void test_remarks(void **state)
{
#define SHARING "sharing: {timeSlicing: {resources: [" GPU4 "]}}\n"
	static const struct import_case cases[] = {
		{"flags: {migStrategy: none}\n" SHARING, NULL, "nvidia shares=4\n",
			{MEMORY("4")}},
		{"flags: {migStrategy: mixed, failOnInitError: true}\n" SHARING, NULL,
			"nvidia shares=4\n", {"about the plugin", MEMORY("4")}},
		{"resources: {gpus: [{pattern: \"*\", name: gpu}]}\n" SHARING, NULL,
			"nvidia shares=4\n",
			{"names no Kubernetes resources", MEMORY("4")}},
		{"imex: {channelIDs: [0]}\n" SHARING, NULL, "nvidia shares=4\n",
			{"IMEX channels", MEMORY("4")}},
		{SLICES("{name: gpu, replicas: 4, rename: nvidia.com/gpu-small}"), NULL,
			"nvidia shares=4\n",
			{"what was 'nvidia.com/gpu-small'", MEMORY("4")}},
		{"sharing: {timeSlicing: {renameByDefault: true, "
		 "failRequestsGreaterThanOne: true, resources: [" GPU4 "]}}\n",
			NULL, "nvidia shares=4\n",
			{"'.shared'", "failRequestsGreaterThanOne has no counterpart",
				MEMORY("4")}},
		{"sharing: {timeSlicing: {renameByDefault: false, "
		 "failRequestsGreaterThanOne: false, resources: [" GPU4 "]}}\n",
			NULL, "nvidia shares=4\n", {MEMORY("4")}},
		{SLICES(GPU4 ", {name: gpu-with-a-name, replicas: 2}"), NULL,
			"nvidia shares=4\n",
			{MEMORY("4"), "write a rule for it by hand"}},
		{"sharing: {mps: {resources: [" GPU4
		 "]}, timeSlicing: {resources: [{name: "
		 "gpu, replicas: 9}]}}\n",
			NULL, "nvidia shares=4\n", {"the plugin uses MPS", "1/4"}},
		{"sharing: {mps: null, timeSlicing: {resources: [" GPU4 "]}}\n", NULL,
			"nvidia shares=4\n", {MEMORY("4")}},
		{"flags: {migStrategy: single}\n" SHARING, NULL, NULL,
			{"f:2:37: with migStrategy single", "add shares: 4",
				"nothing else can be imported"}},
	};

	CHECK_IMPORTS(cases);
}

static void test_slips(void **state)
{
	static const struct import_case cases[] = {
		{"version: v2\n" SHARING, NULL, NULL, {"f:1:10: 'v2' is none of v1"}},
		{"flags: {migStrategy: some}\n" SHARING, NULL, NULL,
			{"f:1:22: 'some' is none of none, single, mixed"}},
		{"flag: {}\n" SHARING, NULL, NULL, {"did you mean 'flags'?"}},
		{"version: v1\nflags: {migStrategy: mixed}\n", NULL, NULL,
			{"the file neither divides nor shares a GPU"}},
		{"sharing: {}\n", NULL, NULL,
			{"the file neither divides nor shares a GPU"}},
		{"sharing: null\n", NULL, NULL,
			{"the file neither divides nor shares a GPU"}},
		{"sharing: {timeslicing: {}}\n", NULL, NULL,
			{"did you mean 'timeSlicing'?"}},
		{"sharing: {timeSlicing: {renameByDefault: true}}\n", NULL, NULL,
			{"the key 'resources' is missing"}},
		{"sharing: {timeSlicing: {resources: []}}\n", NULL, NULL,
			{"a list of resources"}},
		{"sharing: {timeSlicing: {resources: " GPU4 "}}\n", NULL, NULL,
			{"a list of resources"}},
		{SLICES("{name: gpu}"), NULL, NULL, {"the key 'replicas' is missing"}},
		{SLICES("{replicas: 2}"), NULL, NULL, {"the key 'name' is missing"}},
		{SLICES("{name: gpu, replicas: 1}"), NULL, NULL,
			{"1 is out of range: from 2 to 4096"}},
		{SLICES("{name: gpu, replicas: few}"), NULL, NULL, {"a whole number"}},
		{SLICES("{name: gpu, replicas: 2, devices: []}"), NULL, NULL,
			{"an empty list selects nothing"}},
		{SLICES("{name: gpu, replicas: 2, devices: some}"), NULL, NULL,
			{"a whole number"}},
		{SLICES("{name: gpu, replicas: 2, devices: 0}"), NULL, NULL,
			{"out of range"}},
		{SLICES("{name: gpu, replicas: 2, devices: [GPU-1]}"), NULL, NULL,
			{"'GPU-1' is no device"}},
		{SLICES("{name: gpu, replicas: 2, devices: [\"0:\"]}"), NULL, NULL,
			{"'0:' is no device"}},
		{SLICES("{name: gpu, replicas: 2, device: 1}"), NULL, NULL,
			{"did you mean 'devices'?"}},
		{SLICES("{name: mig-1g.5gb, replicas: 2, devices: [x]}"), NULL, NULL,
			{"'x' is no device"}},
	};

	CHECK_IMPORTS(cases);
}

static void test_references(void **state)
{
	static const struct {
		const char *text;
		enum clv_plugin_reference kind;
		uint32_t index;
		const char *parent;
	} rows[] = {
		/* clang-format off */
		{ "0",                       CLV_PLUGIN_GPU_INDEX,  0,    "" },
		{ "4096",                    CLV_PLUGIN_GPU_INDEX,  4096, "" },
		{ "4097",                    _CLV_PLUGIN_REFERENCE_INVALID, 0, "" },
		{ "7:12",                    CLV_PLUGIN_MIG_INDEX,  7,    "" },
		{ "GPU-" UUID,               CLV_PLUGIN_GPU_UUID,   0,    "" },
		{ "MIG-" UUID,               CLV_PLUGIN_MIG_UUID,   0,    "" },
		{ "MIG-GPU-" UUID "/3/0",    CLV_PLUGIN_MIG_PARENT, 0,    "GPU-" UUID },
		{ "",                        _CLV_PLUGIN_REFERENCE_INVALID, 0, "" },
		{ "-1",                      _CLV_PLUGIN_REFERENCE_INVALID, 0, "" },
		{ "1:2:3",                   _CLV_PLUGIN_REFERENCE_INVALID, 0, "" },
		{ "1:",                      _CLV_PLUGIN_REFERENCE_INVALID, 0, "" },
		{ "GPU-" UUID "0",           _CLV_PLUGIN_REFERENCE_INVALID, 0, "" },
		{ "GPU-b1028956_cfa2-0990-bf4a-5da9abb51763",
			_CLV_PLUGIN_REFERENCE_INVALID, 0, "" },
		{ "GPU-g1028956-cfa2-0990-bf4a-5da9abb51763",
			_CLV_PLUGIN_REFERENCE_INVALID, 0, "" },
		{ "MIG-GPU-b1028956-cfa2-0990-bf4a-5da9abb5176g/3/0",
			_CLV_PLUGIN_REFERENCE_INVALID, 0, "" },
		{ "MIG-GPU-" UUID,           _CLV_PLUGIN_REFERENCE_INVALID, 0, "" },
		/* clang-format on */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char parent[CLV_PLUGIN_UUID_MAX] = "";
		uint32_t index = 0;

		if (clv_plugin_read_reference(rows[i].text, &index, parent) !=
			rows[i].kind)
			fail_msg("'%s' is something else", rows[i].text);
		if (rows[i].kind < 0)
			continue;
		assert_int_equal(index, rows[i].index);
		assert_string_equal(parent, rows[i].parent);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_remarks),
		cmocka_unit_test(test_slips),
		cmocka_unit_test(test_references),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
