/* SPDX-License-Identifier: Apache-2.0 */
/* Compose files with multiTenantGpu: every construct, and what an instance type does not
 * allow. */
#include "import-check.h"

#include "core/gpu/gpu.h"
#include "core/gpu/mig.h"
#include "import/cloud.h"

#include <string.h>
#include <strings.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SLICING(text) "x-internal-integrations:\n  multiTenantGpu: {" text "}\n"
#define SERVICES "services: {a: {image: x}}\n"
#define RUNS "a layout runs no services"
#define MEMORY(n) "a share holds 1/" n " of it"

static void test_slicing(void **state)
{
	static const struct import_case cases[] = {
		{SLICING("instanceType: g4dn.xlarge, timeSlicingReplicas: 2") SERVICES,
			NULL, "nvidia Tesla T4 shares=2\n", {MEMORY("2"), RUNS}},
		{SLICING("instanceType: g4dn.xlarge, timeSlicingReplicas: 2"), NULL,
			"nvidia Tesla T4 shares=2\n", {MEMORY("2")}},
		/* as many as fit */
		{SLICING("instanceType: p4d.24xlarge, migProfile: 1g.5gb"), NULL,
			"nvidia A100-40GB mig=on 1g.5gb*7\n", {NULL}},
		{SLICING("instanceType: p4d.24xlarge, migProfile: 2g.10gb"), NULL,
			"nvidia A100-40GB mig=on 2g.10gb*3\n", {NULL}},
		{SLICING("instanceType: p4d.24xlarge, migProfile: 1g.10gb"), NULL,
			"nvidia A100-40GB mig=on 1g.10gb*4\n", {NULL}},
		{SLICING("instanceType: p5.48xlarge, migProfile: 1g.10gb"), NULL,
			"nvidia H100-80GB mig=on 1g.10gb*7\n", {NULL}},
		{SLICING("instanceType: p5.48xlarge, migProfile: 1g.10gb+me"), NULL,
			"nvidia H100-80GB mig=on 1g.10gb+me*1\n", {NULL}},
		/* shares inside each of them */
		{SLICING("instanceType: p4d.24xlarge, timeSlicingReplicas: 4, "
			 "migProfile: 3g.20gb"),
			NULL, "nvidia A100-40GB mig=on 3g.20gb*2/4\n", {MEMORY("4")}},
		{SLICING("instanceType: p4d.24xlarge, timeSlicingReplicas: 1, "
			 "migProfile: 7g.40gb"),
			NULL, "nvidia A100-40GB mig=on 7g.40gb*1/1\n", {NULL}},
		/* other clouds, another vendor */
		{SLICING("instanceType: a2-ultragpu-1g, migProfile: 3g.40gb"), NULL,
			"nvidia A100-80GB mig=on 3g.40gb*2\n", {NULL}},
		{SLICING("instanceType: Standard_NC40ads_H100_v5, migProfile: 1g.12gb"),
			NULL, "nvidia H100-94GB mig=on 1g.12gb*7\n", {NULL}},
		{SLICING("instanceType: nd96isr_h200_v5, migProfile: 1g.18gb"), NULL,
			"nvidia H200-141GB mig=on 1g.18gb*7\n", {NULL}},
		{SLICING("instanceType: ND96isr_MI300X_v5, timeSlicingReplicas: 4"), NULL,
			"amd MI300X shares=4\n", {MEMORY("4")}},
		{SLICING("instanceType: x9.large, timeSlicingReplicas: 4"), NULL,
			"nvidia shares=4\n",
			{"the instance type 'x9.large' is unknown", MEMORY("4")}},
	};

	CHECK_IMPORTS(cases);
}

static void test_levels(void **state)
{
#define GPU                                                                    \
	"x-internal-integrations: {multiTenantGpu: {instanceType: g5.xlarge, " \
	"timeSlicingReplicas: 2}}"
	static const struct import_case cases[] = {
		{"services:\n  a: {" GPU "}\n  b: {image: x}\n", NULL,
			"nvidia A10G shares=2\n", {RUNS, MEMORY("2")}},
		{"services:\n  a: {" GPU "}\n  b: {" GPU "}\n", NULL, NULL,
			{"this has 2", "choose the service with --select: a, b"}},
		{"services:\n  a: {" GPU "}\n  b: {" GPU "}\n", "b",
			"nvidia A10G shares=2\n", {RUNS, MEMORY("2")}},
		{GPU "\nservices:\n  a: {" GPU "}\n", NULL, NULL, {"--select: top, a"}},
		{GPU "\nservices:\n  a: {" GPU "}\n", "top", "nvidia A10G shares=2\n",
			{MEMORY("2"), RUNS}},
		/* a YAML anchor and its alias */
		{"services:\n  a:\n    x-internal-integrations: &gpu\n      "
		 "multiTenantGpu: "
		 "{instanceType: g5.xlarge, timeSlicingReplicas: 2}\n"
		 "  b: {x-internal-integrations: *gpu}\n",
			NULL, "nvidia A10G shares=2\n", {RUNS, MEMORY("2")}},
		{"services:\n  a:\n    x-omnistrate-capabilities:\n"
		 "      autoscaling: {maxReplicas: 3}\n"
		 "      serverlessConfiguration: {targetPort: 1}\n"
		 "    " GPU "\n",
			NULL, "nvidia A10G shares=2\n",
			{RUNS, "does not scale services", "neither stops nor starts",
				MEMORY("2")}},
		{SERVICES, NULL, NULL, {"f:1:1: no GPU is shared here"}},
		{"x-internal-integrations: {logs: null}\n", NULL, NULL,
			{"no GPU is shared here"}},
		{"services: [a]\n", NULL, NULL, {"names of services"}},
		{"services: null\n", NULL, NULL, {"names of services"}},
	};

	CHECK_IMPORTS(cases);
}

static void test_slips(void **state)
{
	static const struct import_case cases[] = {
		{SLICING("instanceType: p5.48xlarge, migProfile: 1g.5gb"), NULL, NULL,
			{"f:2:59: p5.48xlarge has 8 x H100 (80 GB)",
				"no profile '1g.5gb'", "1g.10gb, 1g.10gb+me, 1g.20gb"}},
		{SLICING("instanceType: g4dn.12xlarge, migProfile: 1g.5gb"), NULL, NULL,
			{"g4dn.12xlarge has 4 x T4, which MIG cannot divide",
				"timeSlicingReplicas"}},
		{SLICING("instanceType: p3.2xlarge, migProfile: 1g.5gb, "
			 "timeSlicingReplicas: 2"),
			NULL, NULL, {"1 x V100 (16 GB), which MIG cannot divide"}},
		{SLICING("instanceType: ND96isr_MI300X_v5, migProfile: 1g.5gb"), NULL,
			NULL, {"8 x MI300X, which MIG cannot divide", "compute-mode"}},
		{SLICING("instanceType: p6-b300.48xlarge, migProfile: 1g.35gb"), NULL,
			NULL, {"no profile '1g.35gb'", "1g.34gb, 1g.34gb+me, 1g.67gb"}},
		{SLICING("instanceType: p4d.24xlarg, migProfile: 1g.5gb"), NULL, NULL,
			{"f:2:34:", "did you mean 'p4d.24xlarge'?"}},
		{SLICING("instanceType: something-else-entirely, migProfile: 1g.5gb"),
			NULL, NULL,
			{"the instance type 'something-else-entirely'", "by hand"}},
		{SLICING("instanceType: p4d.24xlarge"), NULL, NULL,
			{"neither shared nor divided"}},
		{SLICING("timeSlicingReplicas: 2"), NULL, NULL,
			{"the key 'instanceType' is missing"}},
		{SLICING("instanceType: g5.xlarge, timeSlicingReplicas: 0"), NULL, NULL,
			{"from 1 to 4096"}},
		{SLICING("instanceType: g5.xlarge, timeSlicingReplica: 2"), NULL, NULL,
			{"did you mean 'timeSlicingReplicas'?"}},
		{SLICING("instanceType: p4d.24xlarge, migProfile: all"), NULL, NULL,
			{"'all' is no MIG profile"}},
		{SLICING("instanceType: p4d.24xlarge, migProfile: 1c.3g.20gb"), NULL,
			NULL, {"a whole GPU instance", "take 3g.20gb"}},
		{SLICING("instanceType: [a], timeSlicingReplicas: 2"), NULL, NULL,
			{"a text is expected"}},
		{"x-internal-integrations: {multiTenantGpu: yes}\n", NULL, NULL,
			{"keys with values"}},
	};

	CHECK_IMPORTS(cases);
}

/* Every instance type has GPUs; if MIG can divide them they are NVIDIA's, and core has
 * their table or the row says that there is none. */
static void test_instance_types(void **state)
{
	unsigned n = 0, count;

	for (const char *type; (type = clv_cloud_type(n)); n++) {
		const struct clv_gpu *gpu = clv_cloud_find(type, &count);

		if (!gpu)
			fail_msg("cloud.c: no model is called as that of %s", type);
		assert_in_range(count, 1, 16);
		assert_true(gpu->has_mig || !gpu->mig);
		assert_true(gpu->vendor == CLV_GPU_NVIDIA || !gpu->has_mig);
		for (unsigned i = 0; i < n; i++)
			assert_int_not_equal(strcasecmp(clv_cloud_type(i), type), 0);
	}
	assert_in_range(n, 80, 200);
	assert_null(clv_cloud_find("", &count));
	assert_null(clv_cloud_find("Standard_", &count));
	assert_string_equal(clv_cloud_suggest("Standard_NC6s_v4"), "NC6s_v3");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slicing),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_slips),
		cmocka_unit_test(test_instance_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
