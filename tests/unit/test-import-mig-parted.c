/* SPDX-License-Identifier: Apache-2.0 */
/* mig-parted's files: every construct, and every error. */
#include "import-check.h"

#include "base/error.h"
#include "import/mig.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One configuration of one entry. */
#define ENTRY(text) "version: v1\nmig-configs:\n  only:\n    - {" text "}\n"
#define MIG(text) ENTRY("devices: all, mig-enabled: true, mig-devices: {" text "}")
#define FILTER(ids)                                                                    \
	ENTRY("device-filter: " ids ", devices: all, mig-enabled: true, mig-devices: " \
	      "{}")

static void test_entries(void **state)
{
	static const struct import_case cases[] = {
		{ENTRY("devices: all, mig-enabled: false"), NULL, "nvidia mig=off\n",
			{NULL}},
		{ENTRY("devices: all, mig-enabled: false, mig-devices: {}"), NULL,
			"nvidia mig=off\n", {NULL}},
		{ENTRY("devices: [0, 2], mig-enabled: false"), NULL,
			"nvidia [0,2] mig=off\n", {NULL}},
		{ENTRY("devices: [3, 3], mig-enabled: false"), NULL,
			"nvidia [3] mig=off\n", {NULL}},
		{MIG(""), NULL, "nvidia mig=on none\n", {NULL}},
		{MIG("\"1g.5gb\": 7"), NULL, "nvidia mig=on 1g.5gb*7\n", {NULL}},
		{MIG("1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1"), NULL,
			"nvidia mig=on 1g.5gb*2 2g.10gb*1 3g.20gb*1\n", {NULL}},
		{MIG("1g.5gb: 0, 7g.40gb: 1"), NULL, "nvidia mig=on 7g.40gb*1\n", {NULL}},
		{MIG("1g.5gb+me: 1"), NULL, "nvidia mig=on 1g.5gb+me*1\n", {NULL}},
		{MIG("1g.24gb+me.all: 1"), NULL, "nvidia mig=on 1g.24gb+me.all*1\n",
			{NULL}},
		{MIG("1g.24gb-me: 4"), NULL, "nvidia mig=on 1g.24gb-me*4\n", {NULL}},
		{MIG("1g.24gb+gfx: 4"), NULL, "nvidia mig=on 1g.24gb+gfx*4\n", {NULL}},
		/* for a GPU that the tables lack */
		{MIG("3g.95gb: 2"), NULL, "nvidia mig=on 3g.95gb*2\n",
			{"3g.95gb is in none of cleave's tables"}},
		{"version: v1\nmig-configs:\n  only:\n"
		 "    - devices: [0]\n      mig-enabled: false\n"
		 "    - devices: [1, 2]\n      mig-enabled: true\n"
		 "      mig-devices: {1g.10gb: 7}\n",
			NULL, "nvidia [0] mig=off\nnvidia [1,2] mig=on 1g.10gb*7\n",
			{NULL}},
		/* JSON is the same */
		{"{\"version\": \"v1\", \"mig-configs\": {\"only\": [{\"devices\": "
		 "\"all\", "
		 "\"mig-enabled\": true, \"mig-devices\": {\"3g.40gb\": 2}}]}}",
			NULL, "nvidia mig=on 3g.40gb*2\n", {NULL}},
	};

	CHECK_IMPORTS(cases);
}

/* Other tools count compute instances, a layout counts the GPU instances that hold
 * them. */
static void test_compute_instances(void **state)
{
	static const struct import_case cases[] = {
		{MIG("1c.3g.20gb: 3"), NULL, "nvidia mig=on 3g.20gb*1(1c,1c,1c)\n",
			{NULL}},
		{MIG("1c.3g.20gb: 6"), NULL, "nvidia mig=on 3g.20gb*2(1c,1c,1c)\n",
			{NULL}},
		{MIG("1c.3g.20gb: 4"), NULL,
			"nvidia mig=on 3g.20gb*1(1c,1c,1c) 3g.20gb*1(1c)\n", {NULL}},
		{MIG("1c.3g.20gb: 2, 2c.3g.20gb: 2"), NULL,
			"nvidia mig=on 3g.20gb*2(2c,1c)\n", {NULL}},
		{MIG("2c.7g.40gb: 3"), NULL, "nvidia mig=on 7g.40gb*1(2c,2c,2c)\n",
			{NULL}},
		{MIG("3c.7g.40gb: 1, 4c.7g.40gb: 1"), NULL,
			"nvidia mig=on 7g.40gb*1(4c,3c)\n", {NULL}},
		{MIG("3g.20gb: 1, 1c.3g.20gb: 3"), NULL,
			"nvidia mig=on 3g.20gb*1 3g.20gb*1(1c,1c,1c)\n", {NULL}},
		/* a compute instance that fills its GPU instance is not written */
		{MIG("1c.1g.5gb: 7"), NULL, "nvidia mig=on 1g.5gb*7\n", {NULL}},
		{MIG("3c.3g.20gb: 2"), NULL, "nvidia mig=on 3g.20gb*2\n", {NULL}},
		{MIG("1c.3g.20gb: 7"), NULL, NULL,
			{"f:4:", "3 of 3g.20gb are wanted and one A100-40GB holds 2"}},
		{MIG("3c.4g.20gb: 1"), NULL, NULL, {"has no profile '3c'", "1c, 2c, 4c"}},
		{MIG("4c.3g.20gb: 1"), NULL, NULL, {"4 slices is larger than", "of 3"}},
		{MIG("1c.5g.20gb: 1"), NULL, NULL, {"no GPU instance has 5 slices"}},
		{MIG("1c.7g.40gb: 4000"), NULL, NULL,
			{"4000 compute instances are more than any GPU holds"}},
	};

	CHECK_IMPORTS(cases);
}

static void test_filters(void **state)
{
	static const struct import_case cases[] = {
		{FILTER("\"0x20B710DE\""), NULL, "nvidia A30-24GB mig=on none\n", {NULL}},
		{FILTER("0x20b710de"), NULL, "nvidia A30-24GB mig=on none\n", {NULL}},
		/* four products, two models */
		{FILTER("[\"0x233010DE\", \"0x20B210DE\", \"0x233110DE\", "
			"\"0x20B510DE\"]"),
			NULL,
			"nvidia H100-80GB mig=on none\nnvidia A100-80GB mig=on none\n",
			{NULL}},
		{FILTER("[0x20B210DE:0x146310DE]"), NULL,
			"nvidia A100-80GB mig=on none\n",
			{"does not look at PCI subsystems"}},
		/* no filter, in all its forms */
		{FILTER("\"\""), NULL, "nvidia mig=on none\n", {NULL}},
		{FILTER("[]"), NULL, "nvidia mig=on none\n", {NULL}},
		{FILTER("null"), NULL, "nvidia mig=on none\n", {NULL}},
		/* an unknown id */
		{FILTER("[0x20B710DE, 0xABCD10DE]"), NULL,
			"nvidia A30-24GB mig=on none\n", {"PCI device id 0xABCD"}},
		{FILTER("0xABCD10DE"), NULL, NULL,
			{"0xABCD", "nothing else can be imported"}},
		{ENTRY("device-filter: 0x294110DE, devices: all, mig-enabled: true, "
		       "mig-devices: {2g.47gb: 3}"),
			NULL, "nvidia GB200 mig=on 2g.47gb*3\n", {NULL}},
		/* indexes count all GPUs; in a layout they count the rule's model */
		{ENTRY("device-filter: 0x20B210DE, devices: [1], mig-enabled: true, "
		       "mig-devices: {1g.10gb: 7}"),
			NULL, "nvidia [1] mig=on 1g.10gb*7\n",
			{"by the numbers in 'devices' alone"}},
		{"version: v1\nmig-configs:\n  only:\n"
		 "    - {device-filter: 0x20B210DE, devices: all, mig-enabled: false}\n"
		 "    - {device-filter: 0x1FB010DE, devices: [3], mig-enabled: false}\n",
			NULL, "nvidia A100-80GB mig=off\nnvidia [3] mig=off\n",
			{"by the numbers"}},
		{FILTER("0x10DE20B2"), NULL, NULL,
			{"f:4:", "'0x10DE20B2' is no PCI id of NVIDIA's", "0x20B210DE"}},
		{FILTER("[A100]"), NULL, NULL, {"'A100' is no PCI id"}},
		{FILTER("0x20B210DE0"), NULL, NULL, {"is no PCI id"}},
		{FILTER("{a: b}"), NULL, NULL, {"is no PCI id"}},
	};

	CHECK_IMPORTS(cases);
}

/* An impossible GPU configuration is refused at the import, with the reason. */
static void test_fit(void **state)
{
	static const struct import_case cases[] = {
		{MIG("2g.10gb: 4"), NULL, NULL,
			{"f:4:55:", "4 of 2g.10gb are wanted and one A100-40GB holds 3"}},
		{MIG("1g.5gb: 8"), NULL, NULL, {"one A100-40GB holds 7"}},
		/* three models have 1g.10gb, and one of them holds four */
		{MIG("1g.10gb: 8"), NULL, NULL, {"one A100-80GB holds 7"}},
		{MIG("3g.20gb: 2, 1g.5gb: 1"), NULL, NULL,
			{"one A100-40GB does not hold all of these together"}},
		{MIG("1g.5gb: 1, 3g.40gb: 1"), NULL, NULL,
			{"no GPU has all of these profiles"}},
		{ENTRY("device-filter: 0x20B010DE, devices: all, mig-enabled: true, "
		       "mig-devices: {1g.10gb: 7}"),
			NULL, NULL,
			{"7 of 1g.10gb are wanted and one A100-40GB holds 4"}},
		{ENTRY("device-filter: 0x233010DE, devices: all, mig-enabled: true, "
		       "mig-devices: {1g.5gb: 7}"),
			NULL, NULL, {"H100-80GB has no profile '1g.5gb'", "1g.10gb+me"}},
		{ENTRY("device-filter: 0x233010DE, devices: [2], mig-enabled: true, "
		       "mig-devices: {1g.5gb: 7}"),
			NULL, NULL, {"H100-80GB has no profile '1g.5gb'"}},
		{MIG("1g.5gb+me: 2"), NULL, NULL, {"one A100-40GB holds 1"}},
	};

	CHECK_IMPORTS(cases);
}

static void test_slips(void **state)
{
	static const struct import_case cases[] = {
		{"version: v2\nmig-configs: {a: [{devices: all, mig-enabled: false}]}\n",
			NULL, NULL, {"f:1:10: 'v2' is none of v1"}},
		{"mig-configs: {a: [{devices: all, mig-enabled: false}]}\n", NULL, NULL,
			{"the key 'version' is missing"}},
		{"version: v1\nmig-configs: {}\n", NULL, NULL,
			{"there is no configuration here"}},
		{"version: v1\nmig-configs: [a]\n", NULL, NULL,
			{"each with its configuration"}},
		{"version: v1\nmig-configs: {a: []}\n", NULL, NULL,
			{"a list of entries is expected"}},
		{"version: v1\nmig-configs: {a: null}\n", NULL, NULL,
			{"a list of entries is expected"}},
		{"version: v1\nmig-configs: {a: [b]}\n", NULL, NULL,
			{"keys with values"}},
		{"version: v1\nmig-config: {}\nmig-configs: {}\n", NULL, NULL,
			{"f:2:1:", "did you mean 'mig-configs'?"}},
		{ENTRY("devices: all"), NULL, NULL, {"the key 'mig-enabled' is missing"}},
		{ENTRY("mig-enabled: false"), NULL, NULL,
			{"the key 'devices' is missing"}},
		{ENTRY("devices: some, mig-enabled: false"), NULL, NULL,
			{"'all' or a list"}},
		{ENTRY("devices: [], mig-enabled: false"), NULL, NULL,
			{"'all' or a list"}},
		{ENTRY("devices: [a], mig-enabled: false"), NULL, NULL,
			{"a whole number"}},
		{ENTRY("devices: [5000], mig-enabled: false"), NULL, NULL,
			{"out of range"}},
		{ENTRY("devices: all, mig-enabled: maybe"), NULL, NULL,
			{"neither on nor off"}},
		{ENTRY("devices: all, mig-enabled: true"), NULL, NULL,
			{"'mig-devices' is missing: write {}"}},
		{ENTRY("devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}"),
			NULL, NULL, {"MIG is off"}},
		{ENTRY("devices: all, mig-enabled: true, mig-devices: [1g.5gb]"), NULL,
			NULL, {"profiles and their numbers"}},
		{ENTRY("devices: all, mig-enabled: true, mig-device: {}"), NULL, NULL,
			{"did you mean 'mig-devices'?"}},
		{MIG("1g.5gb: 0"), NULL, NULL, {"all counts are 0"}},
		{MIG("1g.5gb: -1"), NULL, NULL, {"a whole number"}},
		{MIG("1g.5gb: many"), NULL, NULL, {"a whole number"}},
		{MIG("1g5gb: 1"), NULL, NULL, {"'1g5gb' is no MIG profile", "1g.10gb"}},
		{MIG("0g.5gb: 1"), NULL, NULL, {"is no MIG profile"}},
		{MIG("0c.1g.5gb: 1"), NULL, NULL, {"is no MIG profile"}},
		{MIG("1g.5gb+: 1"), NULL, NULL, {"is no MIG profile"}},
		{MIG("1g.5gb+ME: 1"), NULL, NULL, {"is no MIG profile"}},
		{MIG("1g.5gb*me: 1"), NULL, NULL, {"is no MIG profile"}},
		{MIG("9g.5gb: 1"), NULL, NULL, {"is no MIG profile"}},
		{MIG("1g.5gb+meeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee: 1"), NULL, NULL,
			{"is no MIG profile"}},
	};

	CHECK_IMPORTS(cases);
}

/* mig-parted applies the entries in order, a layout has one rule for each device. */
static void test_overlaps(void **state)
{
#define TWO(a, b) "version: v1\nmig-configs:\n  only:\n    - {" a "}\n    - {" b "}\n"
#define OFF ", mig-enabled: false"
	static const struct import_case cases[] = {
		{TWO("devices: all" OFF, "devices: [0]" OFF), NULL, NULL,
			{"f:5:7: this and line 4", "the later one win"}},
		{TWO("devices: [0, 1]" OFF, "devices: [1, 2]" OFF), NULL, NULL,
			{"this and line 4"}},
		{TWO("device-filter: 0x20B210DE, devices: all" OFF, "devices: all" OFF),
			NULL, NULL, {"this and line 4"}},
		{TWO("device-filter: 0x20B210DE, devices: all" OFF,
			 "device-filter: [0x20B710DE, 0x20B510DE], devices: all" OFF),
			NULL, NULL, {"this and line 4"}},
		{TWO("device-filter: 0x20B210DE, devices: [0]" OFF,
			 "device-filter: 0x20B210DE, devices: [1]" OFF),
			NULL, "nvidia [0] mig=off\nnvidia [1] mig=off\n",
			{"by the numbers", "by the numbers"}},
		{TWO("device-filter: 0x20B210DE, devices: all" OFF,
			 "device-filter: 0x20B710DE, devices: all" OFF),
			NULL, "nvidia A100-80GB mig=off\nnvidia A30-24GB mig=off\n",
			{NULL}},
	};

	CHECK_IMPORTS(cases);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_compute_instances),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_slips),
		cmocka_unit_test(test_overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
