/* SPDX-License-Identifier: Apache-2.0 */
/* The files of AMD's Device Config Manager: every construct, and every error. */
#include "import-check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PROFILE(text) "{\"gpu-config-profiles\": {\"only\": {" text "}}}\n"
#define SETS(text) PROFILE("\"profiles\": [" text "]")
#define SET(compute, memory, n)                                                  \
	"{\"computePartition\": \"" compute "\", \"memoryPartition\": \"" memory \
	"\", \"numGPUsAssigned\": " #n "}"
#define SKIP(ids) "\"skippedGPUs\": {\"ids\": [" ids "]}, "

static void test_profiles(void **state)
{
	static const struct import_case cases[] = {
		{SETS(SET("SPX", "NPS1", 2)), NULL, "amd [0,1] SPX NPS1\n", {NULL}},
		{SETS(SET("CPX", "NPS4", 1)), NULL, "amd [0] CPX NPS4\n", {NULL}},
		/* the manager refuses this, the driver does not */
		{SETS(SET("QPX", "NPS4", 1)), NULL, "amd [0] QPX NPS4\n", {NULL}},
		{SETS(SET("DPX", "NPS2", 1)), NULL, "amd [0] DPX NPS2\n", {NULL}},
		{SETS(SET("TPX", "NPS1", 1)), NULL, "amd [0] TPX NPS1\n", {NULL}},
		/* in order, skipping those without a change */
		{SETS(SET("CPX", "NPS1", 2) ", " SET("SPX", "NPS1", 1)), NULL,
			"amd [0,1] CPX NPS1\n"
			"amd [2] SPX NPS1\n",
			{NULL}},
		{PROFILE(SKIP("3, 0") "\"profiles\": [" SET("CPX", "NPS1", 2) ", " SET(
			 "SPX", "NPS1", 2) "]"),
			NULL,
			"amd [1,2] CPX NPS1\n"
			"amd [4,5] SPX NPS1\n",
			{NULL}},
		{PROFILE("\"profiles\": [" SET("CPX", "NPS1", 1) "], \"skippedGPUs\": "
								 "{\"ids\": [0]}"),
			NULL, "amd [1] CPX NPS1\n", {NULL}},
		{PROFILE(SKIP("") "\"profiles\": [" SET("SPX", "NPS1", 1) "]"), NULL,
			"amd [0] SPX NPS1\n", {NULL}},
		{PROFILE("\"skippedGPUs\": {}, \"profiles\": [" SET(
			 "SPX", "NPS1", 1) "]"),
			NULL, "amd [0] SPX NPS1\n", {NULL}},
		{"gpu-config-profiles: {only: {skippedGPUs: null, profiles: [" SET("SPX",
			 "NPS1",
			 1) "]}}\n"
			    "gpuClientSystemdServices: {names: [gpuagent, exporter]}\n",
			NULL, "amd [0] SPX NPS1\n", {"stop gpuagent, exporter before"}},
		{"gpu-config-profiles: {only: {profiles: [" SET(
			 "SPX", "NPS1", 1) "]}}\n"
					   "gpuClientSystemdServices: {names: []}\n",
			NULL, "amd [0] SPX NPS1\n", {NULL}},
		/* a profile that is not selected is not parsed */
		{"gpu-config-profiles:\n  bad: {profiles: none}\n  good: {profiles: "
		 "[" SET("SPX", "NPS1", 1) "]}\n",
			"good", "amd [0] SPX NPS1\n", {NULL}},
	};

	CHECK_IMPORTS(cases);
}

static void test_slips(void **state)
{
	static const struct import_case cases[] = {
		{SETS(SET("SPX", "NPS4", 1)), NULL, NULL,
			{"no GPU accepts SPX with NPS4: SPX allows NPS1"}},
		{SETS(SET("CPX", "NPS2", 1)), NULL, NULL, {"CPX allows NPS1, NPS4"}},
		{SETS(SET("SPX", "NPS8", 1)), NULL, NULL,
			{"no GPU accepts SPX with NPS8"}},
		{SETS(SET("CPX", "NPS1", 1) ", " SET("CPX", "NPS4", 1)), NULL, NULL,
			{"NPS4 and NPS1", "one memory partition"}},
		{SETS(SET("XPX", "NPS1", 1)), NULL, NULL,
			{"'XPX' is no compute partition", "CPX"}},
		{SETS(SET("SPX", "NPS3", 1)), NULL, NULL,
			{"'NPS3' is no memory partition", "NPS4"}},
		{SETS(SET("SPX", "NPS1", 0)), NULL, NULL, {"0 is out of range"}},
		{SETS(SET("SPX", "NPS1", 65)), NULL, NULL, {"a node has at most 64"}},
		{SETS(SET("SPX", "NPS1", 3543)), NULL, NULL,
			{"3543 GPUs", "name each GPU once"}},
		{SETS(SET("SPX", "NPS1", 60) ", " SET("SPX", "NPS1", 5)), NULL, NULL,
			{"at most 64 GPUs"}},
		{SETS("{\"computePartition\": \"SPX\", \"memoryPartition\": \"NPS1\"}"),
			NULL, NULL, {"the key 'numGPUsAssigned' is missing"}},
		{SETS("{\"computePartitions\": \"SPX\"}"), NULL, NULL,
			{"did you mean 'computePartition'?"}},
		{SETS(""), NULL, NULL, {"a list of sets is expected"}},
		{PROFILE("\"profiles\": 1"), NULL, NULL, {"a list of sets is expected"}},
		{PROFILE(SKIP("1")), NULL, NULL, {"the key 'profiles' is missing"}},
		{PROFILE(SKIP("1, 1") "\"profiles\": [" SET("SPX", "NPS1", 1) "]"), NULL,
			NULL, {"GPU 1 is skipped twice"}},
		{PROFILE(SKIP("64") "\"profiles\": [" SET("SPX", "NPS1", 1) "]"), NULL,
			NULL, {"out of range"}},
		{PROFILE(SKIP("2") "\"profiles\": [" SET("SPX", "NPS1", 1) "]"), NULL,
			NULL, {"GPU 2 is skipped", "0 to 1"}},
		{PROFILE("\"skippedGPUs\": [1], \"profiles\": [" SET(
			 "SPX", "NPS1", 1) "]"),
			NULL, NULL, {"keys with values"}},
		{"gpu-config-profiles: {}\n", NULL, NULL, {"there is no profile here"}},
		{"gpu-config-profiles: {a: {}, b: {}}\n", NULL, NULL,
			{"f:1:22:", "choose the profile with --select: a, b"}},
		{"gpu-config-profiles: {a: {}}\nservices: {}\n", "a", NULL,
			{"the key 'profiles' is missing"}},
	};

	CHECK_IMPORTS(cases);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_slips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
