/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for AMD's modes, virtual functions, processors and shares, and for devices that
 * could be divided in several ways. */
#include "core/plan/plan.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "plan-cases.h"
#include "plan-world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ONE(partitions) "- {select: {}, partitions: [" partitions "]}"
#define CPX_NPS4 "- {select: {}, compute-mode: CPX, memory-mode: NPS4}"
#define AMD(text) "error -22 l.yaml:3: gpu0 (MI300X): " text "\n"
#define TWO "MI300X hive=h\nMI300X hive=h"
#define UNVALIDATED(device, mode)                                                  \
	"warn " device ": the driver accepts " mode ", but AMD has not validated " \
	"the pair on MI300X\n"

/* --- AMD --- */

static void test_compute_modes(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "MI300X", "- {select: {}, compute-mode: SPX}", PLAN_ALL, "" },
		{ "MI300X CPX/NPS1", "- {select: {}, compute-mode: DPX}", "sbkw",
			"set gpu0 to DPX (idle)\n" UNVALIDATED("gpu0", "DPX with NPS1") },
		{ "MI300X QPX/NPS1", "- {select: {}, compute-mode: QPX}", "sbkw",
			"keep gpu0/QPX/NPS1@0\nkeep gpu0/QPX/NPS1@1\nkeep gpu0/QPX/NPS1@2\n"
			"keep gpu0/QPX/NPS1@3\n" },
		{ "MI300X CPX/NPS1", ONE("{profile: SPX}"), "s", "set gpu0 to SPX (idle)\n" },
		{ "MI300X", ONE("{profile: CPX/NPS1, count: 8}"), "s", "set gpu0 to CPX (idle)\n" },
		{ "MI300X CPX/NPS1", ONE(""), "s", "set gpu0 to SPX (idle)\n" },
		{ "MI300X", ONE(""), "s", "" },
		{ "MI300A", "- {select: {}, compute-mode: TPX}", "s", "set gpu0 to TPX (idle)\n" },
		/* each device separately; devices without a rule stay */
		{ "MI300X CPX/NPS1!a\n" TWO, "- {select: {index: [1, 2]}, compute-mode: CPX}", "sb",
			"set gpu1 to CPX (idle)\nset gpu2 to CPX (idle)\n" },
		/* in use: as a whole, and any of its parts */
		{ "MI300X CPX/NPS1 #3!a #7!b,c !d", "- {select: {}, compute-mode: SPX}", "sby",
			"set gpu0 to SPX (idle)\n"
			"block gpu0 d: a compute mode changes on an idle device only\n"
			"block gpu0/CPX/NPS1@3 a: a compute mode changes on an idle device only\n"
			"block gpu0/CPX/NPS1@7 b c: a compute mode changes on an idle device only\n" },
		{ "MI300X CPX/NPS1 #3!a !d", "- {select: {}, compute-mode: CPX}", "sb", "" },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

static void test_memory_modes(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		/* SPX first, ask all of the hive, one reload, then each its mode */
		{ TWO, CPX_NPS4, "sy",
			"request NPS4 on gpu0\nrequest NPS4 on gpu1\n"
			"reload the driver of gpu0 (idle reload) gpu0 gpu1: a memory mode takes effect "
			"when the driver is reloaded: all its devices vanish for up to two minutes\n"
			"set gpu0 to CPX (idle): a reload leaves it in CPX, or in another mode with older drivers\n"
			"set gpu1 to CPX (idle): a reload leaves it in CPX, or in another mode with older drivers\n" },
		{ "MI300X hive=h CPX/NPS4\nMI300X hive=h CPX/NPS4",
			"- {select: {}, compute-mode: SPX, memory-mode: NPS1}", "s",
			"request NPS1 on gpu0\nrequest NPS1 on gpu1\n"
			"reload the driver of gpu0 (idle reload) gpu0 gpu1\n" },
		{ "MI300X CPX/NPS4", CPX_NPS4, "sbw", "" },
		{ "MI300X DPX/NPS1", ONE("{profile: DPX/NPS2}"), "s",
			"set gpu0 to SPX (idle)\nrequest NPS2 on gpu0\n"
			"reload the driver of gpu0 (idle reload) gpu0\nset gpu0 to DPX (idle)\n" },
		/* the driver's default differs between memory modes */
		{ "MI300X", "- {select: {}, compute-mode: QPX, memory-mode: NPS4}", "sy",
			"request NPS4 on gpu0\nreload the driver of gpu0 (idle reload) gpu0: a memory "
			"mode takes effect when the driver is reloaded: all its devices vanish for up to "
			"two minutes\nset gpu0 to QPX (idle): a reload leaves it in CPX, which the "
			"driver chooses for NPS4\n" },
		{ "MI300X CPX/NPS4", "- {select: {}, compute-mode: CPX, memory-mode: NPS1}", "sy",
			"request NPS1 on gpu0\nreload the driver of gpu0 (idle reload) gpu0: a memory "
			"mode takes effect when the driver is reloaded: all its devices vanish for up to "
			"two minutes\nset gpu0 to CPX (idle): a reload leaves it in SPX, which the "
			"driver chooses for NPS1\n" },
		/* from a mode that both memory modes allow, if there is no SPX; or from
		 * the current one */
		{ "MI300X CPX/NPS4", "- {select: {}, compute-mode: DPX, memory-mode: NPS1}", "s",
			"request NPS1 on gpu0\nreload the driver of gpu0 (idle reload) gpu0\n"
			"set gpu0 to DPX (idle)\n" },
		{ "MI300X QPX/NPS4", "- {select: {}, compute-mode: DPX, memory-mode: NPS2}", "s",
			"request NPS2 on gpu0\nreload the driver of gpu0 (idle reload) gpu0\n"
			"set gpu0 to DPX (idle)\n" },
		/* an empty list of partitions: SPX again, in the memory mode that it
		 * allows */
		{ "MI300X CPX/NPS4", ONE(""), "s",
			"request NPS1 on gpu0\n"
			"reload the driver of gpu0 (idle reload) gpu0\n" },
		/* a reload affects other hives, and other devices of the driver */
		{ "MI300X hive=h\nMI300X hive=i CPX/NPS1\nMI300X CPX/NPS1\nMI210 vendor=amd\nT4",
			"- {select: {name: gpu0}, compute-mode: CPX, memory-mode: NPS4}", "sw",
			"request NPS4 on gpu0\n"
			"reload the driver of gpu0 (idle reload) gpu0 gpu1 gpu2 gpu3\n"
			"set gpu0 to CPX (idle)\nset gpu1 to CPX (idle)\nset gpu2 to CPX (idle)\n"
			"warn gpu0 will have NPS4 and gpu1 NPS1: AMD advises against mixed memory "
			"modes on one node\n" },
		{ "MI300X !a\nMI300X hive=i CPX/NPS1 #2!b\nMI210 vendor=amd !c\nT4 !d\nCPU cores=2 "
			"vendor=amd !e",
			"- {select: {name: gpu0}, compute-mode: CPX, memory-mode: NPS4}", "bw",
			"block gpu0 a\nblock gpu1/CPX/NPS1@2 b\nblock gpu2 c\n"
			"warn gpu0 will have NPS4 and gpu1 NPS1: AMD advises against mixed memory "
			"modes on one node\n" },
		/* a hive changes as one */
		{ TWO, "- {select: {name: gpu0}, compute-mode: CPX, memory-mode: NPS4}", "",
			AMD("a change to NPS4 is for its whole hive, and gpu1 of it is not selected: "
			"select all of the hive") },
		{ TWO, "- {select: {name: gpu0}, compute-mode: CPX, memory-mode: NPS4}\n"
			"- {select: {name: gpu1}, compute-mode: CPX}", "",
			AMD("a change to NPS4 is for its whole hive, and gpu1 of it is to have "
			"another one: select all of the hive") },
		{ "MI300X hive=h\nMI300X hive=h CPX/NPS4",
			"- {select: {name: gpu0}, compute-mode: CPX, memory-mode: NPS4}", "s",
			"request NPS4 on gpu0\nreload the driver of gpu0 (idle reload) gpu0 gpu1\n"
			"set gpu0 to CPX (idle)\nset gpu1 to CPX (idle)\n" },
		/* requested before by another program */
		{ "MI300X CPX/NPS1 asked=NPS4", CPX_NPS4, "s",
			"set gpu0 to SPX (idle)\nrequest NPS4 on gpu0\n"
			"reload the driver of gpu0 (idle reload) gpu0\nset gpu0 to CPX (idle)\n" },
		{ "MI300X CPX/NPS1 asked=NPS4", "- {select: {}, compute-mode: CPX}", "sw",
			"warn gpu0: NPS4 was requested earlier and takes effect with the next reload of "
			"its driver, which cannot take that back\n" },
		/* mixed modes cause a warning only if a rule has modes */
		{ "MI300X CPX/NPS4\nMI300X\nT4", "- {select: {name: gpu2}, shares: 2}", "w", "" },
		/* AMD's overview describes this pair, its table of validated ones lacks it */
		{ "MI300X", "- {select: {}, compute-mode: CPX}", "w", "" },
		{ "MI300X", CPX_NPS4, "w", "" },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

static void test_bad_modes(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "MI300X", "- {select: {}, memory-mode: NPS4}", "",
			AMD("NPS4 cannot be used with SPX on MI300X: SPX allows NPS1") },
		{ "MI300X CPX/NPS4", "- {select: {}, compute-mode: SPX}", "",
			AMD("NPS4 cannot be used with SPX on MI300X: SPX allows NPS1") },
		{ "MI300X", "- {select: {}, compute-mode: DPX, memory-mode: NPS4}", "",
			AMD("NPS4 cannot be used with DPX on MI300X: DPX allows NPS1, NPS2") },
		{ "MI300X", "- {select: {}, compute-mode: TPX}", "",
			AMD("MI300X has no mode TPX: it has SPX, DPX, QPX, CPX") },
		{ "MI300X", "- {select: {}, compute-mode: CPX, memory-mode: NPS8}", "",
			AMD("MI300X has no memory mode NPS8: it has NPS1, NPS2, NPS4") },
		/* the driver decides what is offered */
		{ "MI300X offers=NPS1", CPX_NPS4, "",
			AMD("its driver does not offer NPS4: it offers NPS1") },
		{ "MI300X offers=NPS1,NPS2", CPX_NPS4, "",
			AMD("its driver does not offer NPS4: it offers NPS1, NPS2") },
		{ "MI300X modes=SPX,CPX", "- {select: {}, compute-mode: DPX}", "",
			AMD("its driver does not offer DPX with NPS1: it offers SPX, CPX") },
		/* a mode is given once, for the whole device */
		{ "MI300X", ONE("{profile: CPX}, {profile: SPX}"), "",
			AMD("a mode divides the whole device: set it once, without start or parts") },
		{ "MI300X", ONE("{profile: CPX, start: 0}"), "",
			AMD("a mode divides the whole device: set it once, without start or parts") },
		{ "MI300X", ONE("{profile: CPX, parts: 1c}"), "",
			AMD("a mode divides the whole device: set it once, without start or parts") },
		{ "MI300X", ONE("{profile: CPX, count: 4}"), "",
			AMD("CPX makes 8 partitions of it, not 4") },
		{ "MI300X", ONE("{profile: CPX/NPS3}"), "",
			AMD("'CPX/NPS3' is no mode: write CPX or CPX/NPS4, for example") },
		{ "MI300X", ONE("{profile: CPX/}"), "",
			AMD("'CPX/' is no mode: write CPX or CPX/NPS4, for example") },
		{ "MI300X", "- {select: {}, compute-mode: SPX, partitions: [{profile: CPX}]}", "",
			AMD("compute-mode is SPX and the profile CPX: set it once") },
		{ "MI300X", "- {select: {}, memory-mode: NPS1, partitions: [{profile: CPX/NPS4}]}",
			"", AMD("memory-mode is NPS1 and the profile CPX/NPS4: set it once") },
		{ "MI300X", "- {select: {}, memory-mode: NPS1, partitions: [{profile: CPX}]}", "s",
			"set gpu0 to CPX (idle)\n" },
		{ "MI300X CPX/NPS1", "- {select: {}, compute-mode: QPX, preserve: true}", "sw",
			"warn gpu0: preserve keeps its 8 partitions, so that its mode stays\n" },
		{ "MI300X", "- {select: {}, compute-mode: QPX, preserve: true}", "s",
			"set gpu0 to QPX (idle)\n" },
		/* not an AMD GPU */
		{ "A100-40GB", "- {select: {}, compute-mode: CPX}", "", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): it has no compute and memory modes: it can be divided by MIG\n" },
		{ "T4", CPX_NPS4, "", "error -22 l.yaml:3: gpu0 (T4): it has no compute and memory "
			"modes: use shares\n" },
		/* the current combination is accepted, whatever the tables say */
		{ "MI300X CPX/NPS2", "- {select: {}, compute-mode: CPX, memory-mode: NPS2}", "sw",
			"" },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

/* --- Virtual functions --- */

#define VF(text) "error -22 l.yaml:3: gpu0 (VF): " text "\n"

static void test_functions(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "VF", "- {select: {}, vf: {count: 2}}", PLAN_ALL,
			"set gpu0 to 2 virtual functions\n" },
		{ "VF", "- {select: {}, vf: {count: 0}}", PLAN_ALL, "" },
		{ "VF vf=1", "- {select: {}, vf: {count: 1}}", PLAN_ALL, "keep gpu0/vf:1@1\n" },
		/* the number changes through 0 */
		{ "VF vf=2", "- {select: {}, vf: {count: 3}}", "sby",
			"set gpu0 to 0 virtual functions (idle): the kernel changes the number of "
			"functions through 0 only\n"
			"set gpu0 to 3 virtual functions\n" },
		{ "VF vf=2", "- {select: {}, vf: {count: 0}}", "sb",
			"set gpu0 to 0 virtual functions (idle)\n" },
		{ "VF vf=2", ONE(""), "sb", "set gpu0 to 0 virtual functions (idle)\n" },
		{ "VF vf=2 #2!a", "- {select: {}, vf: {count: 4}}", "sby",
			"set gpu0 to 0 virtual functions (idle): the kernel changes the number of "
			"functions through 0 only\n"
			"set gpu0 to 4 virtual functions\n"
			"block gpu0/vf:2@2 a: the number of virtual functions changes only when none "
			"is in use\n" },
		/* quotas: set in place */
		{ "VF memory=16G", "- {select: {}, vf: {count: 2, memory: 4G, priority: high}}", "s",
			"set gpu0 to 2 virtual functions\n"
			"set the quota of virtual function 1 of gpu0\n"
			"set the quota of virtual function 2 of gpu0\n" },
		{ "VF vf=2 memory=16G each=4G", "- {select: {}, vf: {count: 2, memory: 4G}}", "sbk",
			"keep gpu0/vf:2@1\nkeep gpu0/vf:2@2\n" },
		/* a driver rounds up, which is correct */
		{ "VF vf=1 memory=16G each=4097M", "- {select: {}, vf: {count: 1, memory: 4G}}",
			"sb", "" },
		{ "VF vf=1 memory=16G each=4200M", "- {select: {}, vf: {count: 1, memory: 4G}}",
			"sb", "set the quota of virtual function 1 of gpu0\n" },
		{ "VF vf=1 memory=16G each=4095M", "- {select: {}, vf: {count: 1, memory: 4G}}",
			"sb", "set the quota of virtual function 1 of gpu0\n" },
		{ "VF !a", "- {select: {}, vf: {count: 2}}", "s", "set gpu0 to 2 virtual functions\n" },
		{ "VF !vm1", "- {select: {}, vf: {count: 2}}", "sb",
			"set gpu0 to 2 virtual functions\nblock gpu0 vm1\n" },
		{ "VF !vm1", "- {select: {}, vf: {count: 0}}", PLAN_ALL, "" },
		{ "VF vf=2 memory=16G each=2G #1!a", "- {select: {}, vf: {count: 2, memory: 4G}}",
			"sby", "set the quota of virtual function 1 of gpu0\n"
			"set the quota of virtual function 2 of gpu0\n"
			"block gpu0/vf:2@1 a: its quota changes only when it is not in use\n" },
		{ "VF vf=1 driver=xe", "- {select: {}, vf: {count: 1, driver: xe}}", "sb", "" },
		{ "VF vf=1 driver=xe", "- {select: {}, vf: {count: 1, driver: vfio-pci}}", "sb",
			"set the quota of virtual function 1 of gpu0\n" },
		/* as partitions, with shares in each */
		{ "VF", ONE("{profile: \"vf:2\", shares: 2}"), "sh",
			"set gpu0 to 2 virtual functions\n"
			"share gpu0/vf:2@1/1 500000 0 0 normal\nshare gpu0/vf:2@1/2 500000 0 0 normal\n"
			"share gpu0/vf:2@2/1 500000 0 0 normal\nshare gpu0/vf:2@2/2 500000 0 0 "
			"normal\n" },
		{ "VF vf=2 memory=16G", "- {select: {}, vf: {count: 2, memory: 1G}, partitions: "
			"[{profile: \"vf:2\", count: 2}]}", "s",
			"set the quota of virtual function 1 of gpu0\n"
			"set the quota of virtual function 2 of gpu0\n" },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

static void test_bad_functions(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "VF total=4", "- {select: {}, vf: {count: 5}}", "",
			VF("it cannot have 5 virtual functions: it can have 0 to 4") },
		{ "VF total=16 counts=1,2,4,16", "- {select: {}, vf: {count: 3}}", "",
			VF("it cannot have 3 virtual functions: it can have 0, 1, 2, 4, 16") },
		{ "VF total=16 counts=1,2,4,16", ONE("{profile: \"vf:8\"}"), "",
			VF("it cannot have 8 virtual functions: it can have 0, 1, 2, 4, 16") },
		{ "VF", ONE("{profile: \"vf:\"}"), "", VF("'vf:' must end in a number: vf:4") },
		{ "VF", ONE("{profile: \"vf:2x\"}"), "", VF("'vf:2x' must end in a number: vf:4") },
		{ "VF", ONE("{profile: \"vf:-1\"}"), "", VF("'vf:-1' must end in a number: vf:4") },
		{ "VF", ONE("{profile: \"vf: 2\"}"), "", VF("'vf: 2' must end in a number: vf:4") },
		{ "VF", ONE("{profile: \"vf:4294967298\"}"), "",
			VF("'vf:4294967298' must end in a number: vf:4") },
		{ "VF", ONE("{profile: \"vf:2\"}, {profile: \"vf:2\"}"), "",
			VF("a rule can have only one number of virtual functions") },
		{ "VF", "- {select: {}, vf: {count: 3}, partitions: [{profile: \"vf:2\"}]}", "",
			VF("a rule can have only one number of virtual functions") },
		{ "VF", ONE("{profile: \"vf:4\", count: 2}"), "",
			VF("vf:4 makes 4 partitions of it, not 2") },
		{ "VF", ONE("{profile: \"vf:4\", start: 1}"), "",
			VF("functions are all alike: write vf:4 without start or parts") },
		{ "VF", ONE("{profile: \"vf:4\", parts: 1c}"), "",
			VF("functions are all alike: write vf:4 without start or parts") },
		{ "VF memory=16G", "- {select: {}, vf: {count: 4, memory: 5G}}", "", "error -28 "
			"l.yaml:3: gpu0 (VF): 4 functions of 5 GiB do not fit in its memory: at most "
			"4 GiB each\n" },
		{ "VF", "- {select: {}, vf: {count: 1, type: A}}", "",
			VF("it has no vGPU types, which only NVIDIA's GPUs have: leave type out") },
		{ "VF vf=2", "- {select: {}, vf: {count: 4}, preserve: true}", "skw",
			"keep gpu0/vf:2@1\nkeep gpu0/vf:2@2\n"
			"warn gpu0: preserve keeps its 2 partitions, so that the number of its "
			"functions stays\n" },
		{ "VF vf=2", "- {select: {}, vf: {count: 2}, preserve: true}", "sk",
			"keep gpu0/vf:2@1\nkeep gpu0/vf:2@2\n" },
		{ "T4 why=it_has_no_SR-IOV", "- {select: {}, vf: {count: 2}}", "", "error -22 "
			"l.yaml:3: gpu0 (T4): it has no virtual functions: it has no SR-IOV: use "
			"shares\n" },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

/* --- vGPUs --- */

#define HOST "VF total=4 vgpus types=GRID_A-4Q:3,GRID_A-8Q:2 "
#define WANT(n, type) "- {select: {}, vf: {count: " #n ", type: " type "}}"
#define SET_4Q(i) "make virtual function " #i " of gpu0 a vGPU of type GRID A-4Q\n"
#define SET_8Q(i) "make virtual function " #i " of gpu0 a vGPU of type GRID A-8Q\n"
#define CLEAR(i) "remove the vGPU of virtual function " #i " of gpu0\n"

static void test_vgpus(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		/* the driver makes all functions, of which some become vGPUs */
		{ HOST, WANT(2, "GRID A-4Q"), PLAN_ALL "y",
			"set gpu0 to 4 virtual functions: the driver makes no smaller number of "
			"them: the rest stay spare\n" SET_4Q(1) SET_4Q(2) },
		{ HOST "vf=4", WANT(2, "GRID A-4Q"), "sbk",
			SET_4Q(1) SET_4Q(2) "keep gpu0/vf:4@3\nkeep gpu0/vf:4@4\n" },
		{ HOST "vf=4 vgpu=2:GRID_A-4Q", WANT(1, "GRID A-4Q"), "sb", "" },
		{ HOST "vf=4 vgpu=2:GRID_A-4Q", WANT(2, "a-4q"), "sb", SET_4Q(1) },
		/* surplus vGPUs are removed, unused ones first */
		{ HOST "vf=4 vgpu=1:GRID_A-4Q vgpu=3:GRID_A-4Q #3!a", WANT(1, "A-4Q"), "sby",
			"remove the vGPU of virtual function 1 of gpu0: the layout does not "
			"have it\n" },
		{ HOST "vf=4 vgpu=1:GRID_A-4Q vgpu=3:GRID_A-4Q #1!a #3!b", WANT(1, "A-4Q"), "sby",
			"remove the vGPU of virtual function 3 of gpu0: the layout does not "
			"have it\nblock gpu0/vf:4@3 b: its vGPU, GRID A-4Q, goes when no process uses "
			"it\n" },
		/* another type: all old ones are removed before the first new one is
		 * set */
		{ HOST "vf=4 vgpu=1:GRID_A-4Q vgpu=2:GRID_A-4Q", WANT(2, "A-8Q"), "sb",
			CLEAR(1) CLEAR(2) SET_8Q(3) SET_8Q(4) },
		{ HOST "vf=4 vgpu=1:GRID_A-4Q #1!a", WANT(1, "A-8Q"), "sb",
			CLEAR(1) SET_8Q(2) "block gpu0/vf:4@1 a\n" },
		/* none of a type, none at all */
		{ HOST "vf=4 vgpu=3:GRID_A-4Q", WANT(4, "none"), "sb", CLEAR(3) },
		{ HOST, WANT(4, "none"), "sb", "set gpu0 to 4 virtual functions\n" },
		{ HOST "vf=4 vgpu=3:GRID_A-4Q", "- {select: {}, vf: {count: 0}}", "sby",
			"remove the vGPU of virtual function 3 of gpu0: functions go when none is "
			"a vGPU\n"
			"set gpu0 to 0 virtual functions (idle): the kernel changes the number of "
			"functions through 0 only\n" },
		{ HOST "vf=4 vgpu=3:GRID_A-4Q #3!a #4!b", "- {select: {}, vf: {count: 0}}", "b",
			"block gpu0/vf:4@3 a\nblock gpu0/vf:4@4 b\n" },
		{ HOST "vf=4 vgpu=3:GRID_A-4Q", ONE(""), "s",
			CLEAR(3) "set gpu0 to 0 virtual functions (idle)\n" },
		{ "VF total=4 vgpus vf=4", "- {select: {}, vf: {count: 0, type: A-2Q}}", "sw",
			"set gpu0 to 0 virtual functions (idle)\n" },
		/* a layout without a type leaves them */
		{ HOST "vf=4 vgpu=3:GRID_A-4Q", "- {select: {}, vf: {count: 4}}", "sb", "" },
		/* shares are for the wanted ones */
		{ HOST "vf=4 vgpu=3:GRID_A-4Q", "- {select: {}, vf: {count: 1, type: A-4Q}, "
			"partitions: [{profile: \"vf:1\", shares: 1}]}", "sh",
			"share gpu0/vf:4@3/1 1000000 0 0 normal\n" },
		/* beside vGPUs that preserve keeps, of one size if sizes cannot mix */
		{ HOST "vf=4 vgpu=1:GRID_A-4Q mixed", "- {select: {}, preserve: true, vf: "
			"{count: 1, type: A-8Q}}", "sb", SET_8Q(2) },
		/* the driver lists the types only when there are functions */
		{ "VF total=4 vgpus", WANT(2, "NVIDIA L40S-4Q"), "sw",
			"set gpu0 to 4 virtual functions\n"
			"make virtual function 1 of gpu0 a vGPU of type NVIDIA L40S-4Q\n"
			"make virtual function 2 of gpu0 a vGPU of type NVIDIA L40S-4Q\n"
			"warn gpu0: its driver does not list the vGPU type 'NVIDIA L40S-4Q' yet, only "
			"types that fit on the existing functions: the type is checked when it is set, "
			"and everything is rolled back if there is no such type\n" },
		{ HOST "unlisted vf=4 vgpu=1:GRID_A-2Q", WANT(2, "A-2Q"), "sw",
			"make virtual function 2 of gpu0 a vGPU of type A-2Q\n" },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

static void test_bad_vgpus(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ HOST, "- {select: {}, vf: {count: 2}}", "",
			VF("it cannot have 2 virtual functions: it can have 0, 4") },
		{ HOST, WANT(2, "none"), "",
			VF("it cannot have 2 virtual functions: it can have 0, 4") },
		/* a driver that reports none */
		{ "VF vgpus total=4", WANT(2, "A-4Q"), "",
			VF("it cannot have 2 virtual functions: it can have 0") },
		{ HOST, WANT(4, "A-4Q"), "", "error -28 l.yaml:3: gpu0 (VF): 4 vGPUs of type GRID "
			"A-4Q do not fit: at most 3 do\n" },
		{ HOST, WANT(5, "A-8Q"), "", "error -28 l.yaml:3: gpu0 (VF): it has 4 virtual "
			"functions at most, one for each vGPU, not 5\n" },
		{ HOST, WANT(2, "A-5Q"), "", VF("its driver offers no vGPU type 'A-5Q': it offers "
			"GRID A-4Q, GRID A-8Q, and the nearest is A-4Q") },
		{ HOST "vf=4 vgpu=1:GRID_A-4Q", "- {select: {}, preserve: true, vf: {count: 1, "
			"type: A-8Q}}", "", VF("preserve keeps a vGPU of type GRID A-4Q, and its "
			"driver has vGPUs of one size at a time: use that type, leave preserve out, "
			"or allow several sizes with nvidia-smi vgpu -shm 1") },
		{ HOST "mixed vf=4 vgpu=1:GRID_A-4Q vgpu=2:GRID_A-4Q vgpu=3:GRID_A-4Q",
			"- {select: {}, preserve: true, vf: {count: 2, type: A-8Q}}", "", "error -28 "
			"l.yaml:3: gpu0 (VF): 2 are wanted, and preserve keeps all but 1 of its 4 "
			"functions as vGPUs of another type: leave preserve out\n" },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

/* --- Processors --- */

#define CPU(code, text) "error " #code " l.yaml:3: gpu0 (CPU): " text "\n"

static void test_processors(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "CPU cores=8", ONE("{profile: \"cores:2\", count: 2}"), PLAN_ALL,
			"create gpu0/cores:2@0 =0-1: the lowest free processors\n"
			"create gpu0/cores:2@2 =2-3: the lowest free processors\n" },
		{ "CPU cores=8", ONE("{profile: \"cores:8\"}"), "s", "create gpu0/cores:8@0 =0-7\n" },
		/* a set that can stay stays; the new ones avoid it */
		{ "CPU cores=8 cores:2@1=1,4!a cores:2@6=6-7",
			ONE("{profile: \"cores:2\"}, {profile: \"cores:3\"}"), "sbk",
			"destroy gpu0/cores:2@6\ncreate gpu0/cores:3@0 =0,2-3\nkeep gpu0/cores:2@1\n" },
		{ "CPU cores=8 cores:2@0=0-1", ONE(""), "s", "destroy gpu0/cores:2@0\n" },
		{ "CPU cores=8 cores:2@0=0-1!a", ONE("{profile: \"cores:4\"}"), "sby",
			"destroy gpu0/cores:2@0: the layout does not have it\n"
			"create gpu0/cores:4@0 =0-3: the lowest free processors\n"
			"block gpu0/cores:2@0 a: the layout does not have it\n" },
		{ "CPU cores=8 cores:2@0=0-1",
			"- {select: {}, preserve: true, partitions: [{profile: \"cores:4\"}]}", "sk",
			"create gpu0/cores:4@2 =2-5\nkeep gpu0/cores:2@0\n" },
		{ "CPU cores=8 !a", ONE("{profile: \"cores:2\"}"), "by",
			"block gpu0 a: it is in use as a whole\n" },
		{ "CPU cores=8 cores:2@0=0-1 !a", ONE("{profile: \"cores:2\"}"), "sbk",
			"keep gpu0/cores:2@0\n" },
		/* placed sets are chosen first; start is the lowest processor */
		{ "CPU cores=8", ONE("{profile: \"cores:2\", count: 2}, {profile: \"cores:2\", "
			"start: [0, 4]}"), "s",
			"create gpu0/cores:2@2 =2-3\ncreate gpu0/cores:2@6 =6-7\n"
			"create gpu0/cores:2@0 =0-1\ncreate gpu0/cores:2@4 =4-5\n" },
		{ "CPU cores=8", ONE("{profile: \"cores:4\", start: 0}, {profile: \"cores:2\", "
			"start: 2}"), "s",
			"create gpu0/cores:4@0 =0-1,4-5\ncreate gpu0/cores:2@2 =2-3\n" },
		{ "CPU cores=8 cores:2@4=4-5 cores:2@0=0-1", ONE("{profile: \"cores:2\", start: 0}, "
			"{profile: \"cores:2\"}"), "sk", "keep gpu0/cores:2@4\nkeep gpu0/cores:2@0\n" },
		{ "CPU cores=8 cores:2@0=0-1", ONE("{profile: \"cores:2\"}, {profile: \"cores:2\", "
			"start: 0}"), "sk", "create gpu0/cores:2@2 =2-3\nkeep gpu0/cores:2@0\n" },
		/* a set in the place of a wanted one is removed */
		{ "CPU cores=8 cores:2@0=0-1", ONE("{profile: \"cores:2\"}, {profile: \"cores:2\", "
			"start: 1}"), "sk",
			"destroy gpu0/cores:2@0\ncreate gpu0/cores:2@0 =0,3\n"
			"create gpu0/cores:2@1 =1-2\n" },
		{ "CPU cores=4 cores:2@0=0,3", ONE("{profile: \"cores:2\"}, {profile: \"cores:2\", "
			"start: 2}"), "sk",
			"destroy gpu0/cores:2@0\ncreate gpu0/cores:2@0 =0-1\n"
			"create gpu0/cores:2@2 =2-3\n" },
		{ "CPU cores=4 cores:2@0=0,3!a", ONE("{profile: \"cores:2\"}, {profile: "
			"\"cores:2\", start: 2}"), "b", "block gpu0/cores:2@0 a\n" },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

static void test_bad_processors(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "CPU cores=4", ONE("{profile: \"cores:5\"}"), "",
			CPU(-22, "'cores:5' is not possible: use cores:1 to cores:4") },
		{ "CPU cores=4", ONE("{profile: \"cores:0\"}"), "",
			CPU(-22, "'cores:0' is not possible: use cores:1 to cores:4") },
		{ "CPU cores=4", ONE("{profile: \"cores:x\"}"), "",
			CPU(-22, "'cores:x' is not possible: use cores:1 to cores:4") },
		{ "CPU cores=4", ONE("{profile: \"cores:+2\"}"), "",
			CPU(-22, "'cores:+2' is not possible: use cores:1 to cores:4") },
		{ "CPU cores=4", ONE("{profile: \"cores:4294967298\"}"), "",
			CPU(-22, "'cores:4294967298' is not possible: use cores:1 to cores:4") },
		{ "CPU cores=4", ONE("{profile: \"cores:2\", parts: 1c}"), "",
			CPU(-22, "parts are for MIG instances: use shares") },
		{ "CPU cores=4", ONE("{profile: \"cores:3\"}, {profile: \"cores:1\", count: 2}"), "",
			CPU(-28, "the layout wants 5 processors and it has 4") },
		{ "CPU cores=4 cores:2@0=0-1", "- {select: {}, preserve: true, partitions: "
			"[{profile: \"cores:3\"}]}", "",
			CPU(-28, "the layout wants 5 processors, including those that are kept, and it has "
			"4") },
		{ "CPU cores=4", ONE("{profile: \"cores:2\", start: 3}"), "",
			CPU(-28, "cores:2 does not fit at processor 3: leave start out") },
		{ "CPU cores=4", ONE("{profile: \"cores:1\", start: 9}"), "",
			CPU(-28, "cores:1 does not fit at processor 9: leave start out") },
		{ "CPU cores=4", ONE("{profile: \"cores:1\", start: 1}, {profile: \"cores:2\", "
			"start: 1}"), "", CPU(-28, "cores:2 does not fit at processor 1: leave start out") },
		{ "CPU cores=4 cores:2@0=0-1!a cores:2@1=1-2", ONE(""), "", CPU(-22,
			"gpu0/cores:2@1 exists but is not understood: another has its name or some "
			"of its processors: destroy it first") },
		{ "CPU cores=4 cores:2@0=0-1 cores:2@0=2-3", ONE(""), "", CPU(-22,
			"gpu0/cores:2@0 exists but is not understood: another has its name or some "
			"of its processors: destroy it first") },
		{ "CPU cores=4", ONE("{profile: 1g.5gb}"), "", CPU(-22, "it has no MIG instances: it "
			"can be divided by partitions of cores:N") },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

/* Every second processor: too many for the name. */
static void test_scattered_processors(void **state)
{
	struct clv_node node;
	struct clv_node_device *device;
	_cleanup_free_ char *text = NULL;

	plan_node("CPU cores=256", &node);
	device = &node.devices[0];
	device->scheme = CLV_SCHEME_CORES;
	for (uint32_t i = 0; i < 128; i++) {
		struct clv_partition *partition = clv_node_add_partition(device);

		assert_non_null(partition);
		partition->start = 2 * i;
		partition->size = 1;
		snprintf(partition->profile, sizeof(partition->profile), "cores:1");
		snprintf(partition->address, sizeof(partition->address), "%u", 2 * i);
	}
	clv_node_name_partitions(device);
	text = plan_text(&node,
		"- {select: {}, preserve: true, partitions: [{profile: \"cores:100\"}]}",
		"s");
	assert_string_equal(text, CPU(-28, "the processors that are left for cores:100 "
					   "are too scattered to be "
					   "named: destroy others first"));
	clv_node_clear(&node);
}

/* --- Shares --- */

static void test_shares(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "T4", "- {select: {}, shares: 3}", PLAN_ALL,
			"share gpu0/1 333333 0 0 normal\nshare gpu0/2 333333 0 0 normal\n"
			"share gpu0/3 333333 0 0 normal\n" },
		{ "T4", "- {select: {}, shares: [{name: a, share: 0.5, cap: 0.75, class: batch}, "
			"{name: b, memory: 1M, class: latency}]}", PLAN_ALL,
			"share gpu0/a 500000 750000 0 batch\nshare gpu0/b 0 0 1048576 latency\n" },
		/* in each partition of a row, new or not */
		{ "A100-40GB on 1g.5gb@0", ONE("{profile: 1g.5gb, start: [0, 1], shares: [{name: x, "
			"share: 1}]}"), "h",
			"share gpu0/1g.5gb@0/x 1000000 0 0 normal\n"
			"share gpu0/1g.5gb@1/x 1000000 0 0 normal\n" },
		{ "A100-40GB on", ONE("{profile: 1c.2g.10gb, count: 2, shares: 1}"), "h",
			"share gpu0/2g.10gb@4/1c@0/1 1000000 0 0 normal\n"
			"share gpu0/2g.10gb@4/1c@1/1 1000000 0 0 normal\n" },
		{ "A100-40GB on", ONE("{profile: 2g.10gb, parts: 2c, start: 0, shares: 1}"), "h",
			"share gpu0/2g.10gb@0/1 1000000 0 0 normal\n" },
		{ "MI300X", ONE("{profile: DPX, shares: 1}"), "h",
			"share gpu0/DPX/NPS1@0/1 1000000 0 0 normal\n"
			"share gpu0/DPX/NPS1@1/1 1000000 0 0 normal\n" },
		{ "MI300X", ONE("{profile: SPX, shares: 1}"), "h",
			"share gpu0/1 1000000 0 0 normal\n" },
		{ "CPU cores=4 cores:2@2=2-3", ONE("{profile: \"cores:2\", count: 2, shares: 1}"),
			"h", "share gpu0/cores:2@2/1 1000000 0 0 normal\n"
			"share gpu0/cores:2@0/1 1000000 0 0 normal\n" },
		/* a node has a limited number of them */
		{ "T4\nT4", "- {select: {index: 0}, shares: 1023}\n"
			"- {select: {index: 1}, shares: 1}", "", "" },
		{ "T4\nT4", "- {select: {index: 0}, shares: 1023}\n"
			"- {select: {index: 1}, shares: 2}", "",
			"error -7 l.yaml: the layout has more than 1024 standing shares: give "
			"fewer\n" },
		/* of a whole device, now or after the plan */
		{ "A100-40GB", "- {select: {}, shares: 1}", "sh",
			"share gpu0/1 1000000 0 0 normal\n" },
		{ "A100-40GB on 1g.5gb@0", "- {select: {}, mig: off, shares: 1}", "sh",
			"destroy gpu0/1g.5gb@0\nturn off MIG of gpu0 (idle) gpu0\n"
			"share gpu0/1 1000000 0 0 normal\n" },
		{ "MI300X CPX/NPS1", "- {select: {}, compute-mode: SPX, shares: 1}", "sh",
			"set gpu0 to SPX (idle)\nshare gpu0/1 1000000 0 0 normal\n" },
		{ "MI300X CPX/NPS1", "- {select: {}, partitions: [], shares: 1}", "h",
			"share gpu0/1 1000000 0 0 normal\n" },
		{ "VF vf=2", "- {select: {}, vf: {count: 0}, shares: 1}", "h",
			"share gpu0/1 1000000 0 0 normal\n" },
		{ "CPU cores=4 cores:2@2=2-3", "- {select: {}, partitions: [], shares: 1}", "h",
			"share gpu0/1 1000000 0 0 normal\n" },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

#define DIVIDED(model)                                  \
	"error -22 l.yaml:3: gpu0 (" model              \
	"): it is or will be divided: give the shares " \
	"of its partitions inside partitions\n"

static void test_shares_of_a_divided_device(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "A100-40GB on 1g.5gb@0", "- {select: {}, shares: 1}", "", DIVIDED("A100-40GB") },
		{ "A100-40GB on", "- {select: {}, shares: 1}", "", DIVIDED("A100-40GB") },
		{ "A100-40GB on", "- {select: {}, partitions: [], shares: 1}", "",
			DIVIDED("A100-40GB") },
		{ "A100-40GB", "- {select: {}, mig: on, shares: 1}", "", DIVIDED("A100-40GB") },
		{ "A100-40GB", "- {select: {}, partitions: [{profile: 1g.5gb}], shares: 1}", "",
			DIVIDED("A100-40GB") },
		{ "MI300X CPX/NPS1", "- {select: {}, shares: 1}", "", DIVIDED("MI300X") },
		{ "MI300X", "- {select: {}, compute-mode: CPX, shares: 1}", "", DIVIDED("MI300X") },
		{ "VF", "- {select: {}, vf: {count: 2}, shares: 1}", "", DIVIDED("VF") },
		{ "VF vf=2", "- {select: {}, shares: 1}", "", DIVIDED("VF") },
		{ "CPU cores=4 cores:2@2=2-3", "- {select: {}, shares: 1}", "", DIVIDED("CPU") },
		{ "CPU cores=4 cores:2@2=2-3", "- {select: {}, preserve: true, partitions: [], "
			"shares: 1}", "shw", "warn gpu0: preserve keeps its partitions, so that the whole "
			"has no shares\n" },
		/* clang-format on */
	};

	plan_check_cases(cases, CLV_ARRAY_SIZE(cases));
}

/* --- One scheme at a time --- */

/* No row of the table has this: a GPU with MIG and virtual functions, like NVIDIA's. */
static char *plan_of_both(const char *node_text, const char *rules)
{
	struct clv_node node;
	char *text;

	plan_node(node_text, &node);
	node.devices[0].vf.is_capable = true;
	node.devices[0].vf.total = 8;
	text = plan_text(&node, rules, "s");
	clv_node_clear(&node);
	return text;
}

static void test_one_way_at_a_time(void **state)
{
	static const struct {
		const char *node;
		const char *rules;
		const char *text;
	} rows[] = {
		/* clang-format off */
		{ "A100-40GB", "- {select: {}, mig: off, vf: {count: 2}}",
			"set gpu0 to 2 virtual functions\n" },
		{ "A100-40GB on 1g.5gb@0", "- {select: {}, mig: off, vf: {count: 2}}",
			"destroy gpu0/1g.5gb@0\nturn off MIG of gpu0 (idle) gpu0\n"
			"set gpu0 to 2 virtual functions\n" },
		{ "A100-40GB vf=2", "- {select: {}, vf: {count: 0}, partitions: [{profile: 1g.5gb, "
			"start: 0}]}",
			"set gpu0 to 0 virtual functions (idle)\nturn on MIG of gpu0 (idle) gpu0\n"
			"create gpu0/1g.5gb@0\n" },
		{ "A100-40GB", "- {select: {}, mig: off, vf: {count: 0}}", "" },
		{ "A100-40GB", "- {select: {}, mig: on, vf: {count: 2}}", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): a device is divided in one way at a time, and the rule wants "
			"MIG instances and virtual functions\n" },
		{ "A100-40GB", "- {select: {}, partitions: [{profile: 1g.5gb}, {profile: \"vf:2\"}]}",
			"error -22 l.yaml:3: gpu0 (A100-40GB): a device is divided in one way at a "
			"time, and the rule wants MIG instances and virtual functions\n" },
		{ "A100-40GB on", "- {select: {}, vf: {count: 2}}", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): it is divided by MIG now: add mig: off\n" },
		{ "A100-40GB vf=2", "- {select: {}, mig: on}", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): it is divided by virtual functions now: add vf: {count: 0}\n" },
		{ "MI300X CPX/NPS1", "- {select: {}, vf: {count: 1}}", "error -22 l.yaml:3: gpu0 "
			"(MI300X): it is divided by a compute mode now: add compute-mode: SPX\n" },
		{ "MI300X", "- {select: {}, compute-mode: SPX, vf: {count: 1}}",
			"set gpu0 to 1 virtual function\n" },
		/* clang-format on */
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = plan_of_both(rows[i].node, rows[i].rules);

		if (strcmp(text, rows[i].text) != 0)
			fail_msg("'%s' to '%s' gives '%s', not '%s'", rows[i].node,
				rows[i].rules, text, rows[i].text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compute_modes),
		cmocka_unit_test(test_memory_modes),
		cmocka_unit_test(test_bad_modes),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_bad_functions),
		cmocka_unit_test(test_vgpus),
		cmocka_unit_test(test_bad_vgpus),
		cmocka_unit_test(test_processors),
		cmocka_unit_test(test_bad_processors),
		cmocka_unit_test(test_scattered_processors),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_shares_of_a_divided_device),
		cmocka_unit_test(test_one_way_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
