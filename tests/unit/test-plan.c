/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for MIG: the steps in order, their requirements and the affected leases, kept
 * partitions, obstacles, and the errors of impossible layouts. */
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
#define ROOM "l.yaml:3: gpu0 (A100-40GB): only the first "

static void check(const struct plan_case *cases, size_t n)
{
	plan_check_cases(cases, n);
}

/* --- Instances --- */

static void test_instances(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		/* the mode first, then the instances, the large ones before the small */
		{ "A100-40GB reset", ONE("{profile: 1g.5gb}, {profile: 3g.20gb}"), PLAN_ALL,
			"turn on MIG of gpu0 (idle reset) gpu0\n"
			"create gpu0/3g.20gb@4: with the layout's others, leaves 8 of the GPU's "
			"25 placements open; no choice leaves more\n"
			"create gpu0/1g.5gb@0: with the layout's others, leaves 8 of the GPU's "
			"25 placements open; no choice leaves more\n" },
		{ "A100-40GB forgets", "- {select: {}, mig: on}", "sy",
			"turn on MIG of gpu0 (idle) gpu0: this GPU forgets the mode when its "
			"driver is reloaded: it is turned on again when the agent starts\n" },
		{ "A100-40GB on", "- {select: {}, mig: on}", PLAN_ALL, "" },
		{ "A100-40GB", "- {select: {}, mig: off}", PLAN_ALL, "" },
		/* at the given start, whatever room that leaves */
		{ "A100-40GB on", ONE("{profile: 1g.5gb, start: [6, 0]}"), "sy",
			"create gpu0/1g.5gb@6: placed by line 3\n"
			"create gpu0/1g.5gb@0: placed by line 3\n" },
		{ "A100-40GB on", ONE("{profile: 3g.20gb, start: 0}, {profile: 1g.5gb}"), "s",
			"create gpu0/3g.20gb@0\ncreate gpu0/1g.5gb@6\n" },
		{ "A100-40GB on", ONE("{profile: 7g.40gb}"), "sy",
			"create gpu0/7g.40gb@0: with the layout's others it fills the GPU\n" },
		/* what can stay stays; what goes goes first */
		{ "A100-40GB on 1g.5gb@0 1g.5gb@3 2g.10gb@4",
			ONE("{profile: 1g.5gb}, {profile: 2g.10gb}"), PLAN_ALL,
			"destroy gpu0/1g.5gb@3: the layout does not have it\n"
			"keep gpu0/2g.10gb@4\nkeep gpu0/1g.5gb@0\n" },
		{ "A100-40GB on 1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6",
			ONE("{profile: 3g.20gb, count: 2}"), "sk",
			"destroy gpu0/1g.5gb@0\ndestroy gpu0/1g.5gb@1\ndestroy gpu0/1g.5gb@2\n"
			"destroy gpu0/1g.5gb@3\ndestroy gpu0/1g.5gb@4\ndestroy gpu0/1g.5gb@5\n"
			"destroy gpu0/1g.5gb@6\ncreate gpu0/3g.20gb@0\ncreate gpu0/3g.20gb@4\n" },
		/* of two equal ones the held one stays, and the placement goes round it */
		{ "A100-40GB on 1g.5gb@0 1g.5gb@5!a", ONE("{profile: 1g.5gb}, {profile: 3g.20gb}"),
			"sbk", "destroy gpu0/1g.5gb@0\ncreate gpu0/3g.20gb@0\n"
			"keep gpu0/1g.5gb@5\n" },
		{ "A100-40GB on 1g.5gb@1!a 1g.5gb@5", ONE("{profile: 1g.5gb}, {profile: 3g.20gb}"),
			"sbk", "destroy gpu0/1g.5gb@5\ncreate gpu0/3g.20gb@4\n"
			"keep gpu0/1g.5gb@1\n" },
		/* an empty list: none */
		{ "A100-40GB on 1g.5gb@0", ONE(""), "sbk", "destroy gpu0/1g.5gb@0\n" },
		{ "A100-40GB", ONE(""), PLAN_ALL, "" },
		/* not spoken of: as it is */
		{ "A100-40GB on 1g.5gb@0!a", "- {select: {}, mig: on}", PLAN_ALL,
			"keep gpu0/1g.5gb@0\n" },
		{ "A100-40GB on 1g.5gb@0", "- {select: {}, preserve: true}", PLAN_ALL, "" },
		{ "A100-40GB on 1g.5gb@0\nA100-40GB on 1g.5gb@1",
			"- {select: {index: 1}, partitions: []}", "sbk",
			"destroy gpu1/1g.5gb@1\n" },
		/* turned off: everything goes first */
		{ "A100-40GB reset on 1g.5gb@0 3g.20gb@4", "- {select: {}, mig: off}", "sbk",
			"destroy gpu0/1g.5gb@0\ndestroy gpu0/3g.20gb@4\n"
			"turn off MIG of gpu0 (idle reset) gpu0\n" },
		/* media engines: at most one has them */
		{ "A100-40GB on", ONE("{profile: 1g.5gb+me}, {profile: 1g.5gb, count: 6}"), "s",
			"create gpu0/1g.5gb+me@0\ncreate gpu0/1g.5gb@1\ncreate gpu0/1g.5gb@2\n"
			"create gpu0/1g.5gb@3\ncreate gpu0/1g.5gb@4\ncreate gpu0/1g.5gb@5\n"
			"create gpu0/1g.5gb@6\n" },
		/* other grids */
		{ "RTX-PRO-6000-Blackwell-96GB on", ONE("{profile: 2g.48gb}, {profile: 1g.24gb}"),
			"s", "create gpu0/2g.48gb@0\ncreate gpu0/1g.24gb@6\n" },
		{ "A30-24GB on 1g.6gb@3!a", ONE("{profile: 2g.12gb}, {profile: 1g.6gb, count: 2}"),
			"sbk", "create gpu0/2g.12gb@0\ncreate gpu0/1g.6gb@2\nkeep gpu0/1g.6gb@3\n" },
		/* clang-format on */
	};

	check(cases, CLV_ARRAY_SIZE(cases));
}

static void test_preserve(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "A100-40GB on 1g.5gb@0 2g.10gb@2",
			"- {select: {}, preserve: true, partitions: [{profile: 1g.5gb, count: 2}]}",
			"sbk", "create gpu0/1g.5gb@1\nkeep gpu0/2g.10gb@2\nkeep gpu0/1g.5gb@0\n" },
		{ "A100-40GB on 1g.5gb@0 2g.10gb@2", "- {select: {}, preserve: true, "
			"partitions: []}", "sbk", "keep gpu0/1g.5gb@0\nkeep gpu0/2g.10gb@2\n" },
		{ "A100-40GB on 1g.5gb@0 1g.5gb@4", "- {select: {}, preserve: true, partitions: "
			"[{profile: 3g.20gb}]}", "s", "error -28 l.yaml:3: gpu0 (A100-40GB): only "
			"the first 0 of 1 instances fit together with the kept ones; 3g.20gb "
			"has no room then, what still fits is 1g.5gb, 1g.10gb, 2g.10gb\n" },
		/* it cannot keep what the mode takes away */
		{ "A100-40GB on 1g.5gb@0", "- {select: {}, mig: off, preserve: true}", "sw",
			"warn gpu0: preserve keeps its 1 partition, so that its MIG stays\n" },
		{ "A100-40GB on", "- {select: {}, mig: off, preserve: true}", "s",
			"turn off MIG of gpu0 (idle) gpu0\n" },
		/* clang-format on */
	};

	check(cases, CLV_ARRAY_SIZE(cases));
}

/* --- Compute instances --- */

static void test_parts(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "A100-40GB on", ONE("{profile: 1c.3g.20gb, count: 3}"), "s",
			"create gpu0/3g.20gb@4 empty\ncreate gpu0/3g.20gb@4/1c@0\n"
			"create gpu0/3g.20gb@4/1c@1\ncreate gpu0/3g.20gb@4/1c@2\n" },
		/* what is left over gets an instance of its own */
		{ "A100-40GB on", ONE("{profile: 2c.4g.20gb, count: 1}, {profile: 1c.2g.10gb, "
			"count: 2}"), "s",
			"create gpu0/4g.20gb@0 empty\ncreate gpu0/4g.20gb@0/2c@0\n"
			"create gpu0/2g.10gb@4 empty\ncreate gpu0/2g.10gb@4/1c@0\n"
			"create gpu0/2g.10gb@4/1c@1\n" },
		{ "A100-40GB on", ONE("{profile: 3g.20gb, parts: [2c, 1c], start: 0}"), "s",
			"create gpu0/3g.20gb@0 empty\ncreate gpu0/3g.20gb@0/2c@0\n"
			"create gpu0/3g.20gb@0/1c@2\n" },
		/* at their places */
		{ "A100-40GB on", ONE("{profile: 3g.20gb, parts: [1c@2, 1c], start: 0}"), "s",
			"create gpu0/3g.20gb@0 empty\ncreate gpu0/3g.20gb@0/1c@2\n"
			"create gpu0/3g.20gb@0/1c@0\n" },
		{ "A100-40GB on 3g.20gb@0(1c@0+1c@1!a)", ONE("{profile: 3g.20gb, parts: [1c@1, "
			"1c@2]}"), "sbk", "destroy gpu0/3g.20gb@0/1c@0\ncreate gpu0/3g.20gb@0/1c@2\n"
			"keep gpu0/3g.20gb@0\n" },
		{ "A100-40GB on 3g.20gb@0(1c@0+1c@1!a)", ONE("{profile: 3g.20gb, parts: [1c@0, "
			"1c@2]}"), "sbk", "destroy gpu0/3g.20gb@0/1c@1\ncreate gpu0/3g.20gb@0/1c@2\n"
			"block gpu0/3g.20gb@0/1c@1 a\nkeep gpu0/3g.20gb@0\n" },
		/* one that fills it is what it has anyway, and is not named apart */
		{ "A100-40GB on 3g.20gb@0", ONE("{profile: 3g.20gb, parts: 3c}"), "sk",
			"keep gpu0/3g.20gb@0\n" },
		{ "A100-40GB on 3g.20gb@0(1c@0+1c@1+1c@2)", ONE("{profile: 1c.3g.20gb, count: 3}"),
			"sk", "keep gpu0/3g.20gb@0\n" },
		/* refilled where it stands */
		{ "A100-40GB on 3g.20gb@0", ONE("{profile: 1c.3g.20gb, count: 2}"), "sk",
			"destroy gpu0/3g.20gb@0/3c@0\ncreate gpu0/3g.20gb@0/1c@0\n"
			"create gpu0/3g.20gb@0/1c@1\nkeep gpu0/3g.20gb@0\n" },
		{ "A100-40GB on 3g.20gb@0(1c@0+1c@2)", ONE("{profile: 3g.20gb}"), "sk",
			"destroy gpu0/3g.20gb@0/1c@0\ndestroy gpu0/3g.20gb@0/1c@2\n"
			"create gpu0/3g.20gb@0/3c@0\nkeep gpu0/3g.20gb@0\n" },
		{ "A100-40GB on 3g.20gb@0(1c@0!a+1c@1)", ONE("{profile: 1c.3g.20gb, count: 3}"),
			"sbk", "create gpu0/3g.20gb@0/1c@2\nkeep gpu0/3g.20gb@0\n" },
		/* the one that needs no other parts is taken */
		{ "A100-40GB on 3g.20gb@0(1c@0+1c@1+1c@2) 3g.20gb@4", ONE("{profile: 3g.20gb}"),
			"sk", "destroy gpu0/3g.20gb@0\nkeep gpu0/3g.20gb@4\n" },
		{ "A100-40GB on 3g.20gb@0(1c@0+1c@1+1c@2) 3g.20gb@4", ONE("{profile: 3g.20gb}, "
			"{profile: 1c.3g.20gb, count: 3}"), "sk",
			"keep gpu0/3g.20gb@4\nkeep gpu0/3g.20gb@0\n" },
		/* incomplete: completed, or destroyed */
		{ "A100-40GB on 3g.20gb@0~", ONE("{profile: 3g.20gb}"), "sk",
			"create gpu0/3g.20gb@0/3c@0\nkeep gpu0/3g.20gb@0\n" },
		{ "A100-40GB on 3g.20gb@4~", ONE("{profile: 1c.3g.20gb, count: 2}"), "sk",
			"create gpu0/3g.20gb@4/1c@0\ncreate gpu0/3g.20gb@4/1c@1\n"
			"keep gpu0/3g.20gb@4\n" },
		{ "A100-40GB on 1g.5gb@4~ 1g.5gb@5", ONE("{profile: 1g.5gb}"), "sk",
			"destroy gpu0/1g.5gb@4\nkeep gpu0/1g.5gb@5\n" },
		{ "A100-40GB on 1g.5gb@4~", "- {select: {}, preserve: true, partitions: []}", "sk",
			"keep gpu0/1g.5gb@4\n" },
		/* clang-format on */
	};

	check(cases, CLV_ARRAY_SIZE(cases));
}

/* --- Who stands in the way --- */

static void test_obstacles(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "A100-40GB !a", "- {select: {}, mig: on}", "sby",
			"turn on MIG of gpu0 (idle) gpu0\n"
			"block gpu0 a: MIG mode changes on an idle device only\n" },
		{ "A100-40GB pending", "- {select: {}, mig: on}", "sby",
			"turn on MIG of gpu0 (idle) gpu0\n"
			"block gpu0: an earlier change of its MIG mode waits for a reset: nvidia-smi "
			"--gpu-reset -i 0, or restart the machine\n" },
		/* an impossible reset is an obstacle of the plan */
		{ "A100-40GB reset guest", "- {select: {}, mig: on}", "sby",
			"turn on MIG of gpu0 (idle reset) gpu0\n"
			"block gpu0: MIG mode changes with a reset, which this virtual machine may not "
			"do: nvidia-smi -i 0 -mig 1, then restart it\n" },
		{ "A100-40GB reset guest pending", "- {select: {}, mig: on}", "by",
			"block gpu0: its MIG mode is changed already and waits for a restart of this "
			"virtual machine, which may not reset the GPU\n" },
		{ "H100-80GB guest", "- {select: {}, mig: on}", "b", "" },
		/* what was asked for earlier and is not wanted is taken back */
		{ "A100-40GB pending", "- {select: {}, mig: off}", "sby",
			"turn off MIG of gpu0: takes back an earlier change, which would take effect "
			"with the next reset\n" },
		{ "A100-40GB on pending 1g.5gb@0!a", ONE("{profile: 1g.5gb}"), "sbk",
			"turn on MIG of gpu0\nkeep gpu0/1g.5gb@0\n" },
		{ "A100-40GB on 1g.5gb@0!a 3g.20gb@4!b,c", "- {select: {}, mig: off}", "sby",
			"destroy gpu0/1g.5gb@0: the layout does not have it\n"
			"destroy gpu0/3g.20gb@4: the layout does not have it\n"
			"turn off MIG of gpu0 (idle) gpu0\n"
			"block gpu0/1g.5gb@0 a: MIG is turned off\n"
			"block gpu0/3g.20gb@4 b c: MIG is turned off\n" },
		/* the fewest that have to go */
		{ "A100-40GB on 1g.5gb@0!a 1g.5gb@1!b 1g.5gb@4!c", ONE("{profile: 1g.5gb, count: "
			"2}, {profile: 3g.20gb}"), "sbk",
			"destroy gpu0/1g.5gb@4\ncreate gpu0/3g.20gb@4\nblock gpu0/1g.5gb@4 c\n"
			"keep gpu0/1g.5gb@0\nkeep gpu0/1g.5gb@1\n" },
		{ "A100-40GB on 1g.5gb@0!a 1g.5gb@1!b 1g.5gb@4!c", ONE("{profile: 7g.40gb}"), "b",
			"block gpu0/1g.5gb@0 a\nblock gpu0/1g.5gb@1 b\nblock gpu0/1g.5gb@4 c\n" },
		/* leases are counted, not instances */
		{ "A100-40GB on 1g.5gb@0!a 1g.5gb@1!a 1g.5gb@4!b,c", ONE("{profile: 1g.5gb, "
			"count: 1}, {profile: 3g.20gb}"), "b",
			"block gpu0/1g.5gb@0 a\nblock gpu0/1g.5gb@1 a\n" },
		{ "A100-40GB on 2g.10gb@0!a,b,c 2g.10gb@4!d", ONE("{profile: 2g.10gb}, "
			"{profile: 3g.20gb}"), "b", "block gpu0/2g.10gb@4 d\n" },
		/* compute instances: those that are in the way, not all of the instance */
		{ "A100-40GB on 3g.20gb@0(1c@0!a+1c@1!b+1c@2!c)", ONE("{profile: 3g.20gb, parts: "
			"[2c, 1c]}"), "sbk",
			"destroy gpu0/3g.20gb@0/1c@0\ndestroy gpu0/3g.20gb@0/1c@1\n"
			"create gpu0/3g.20gb@0/2c@0\n"
			"block gpu0/3g.20gb@0/1c@0 a\nblock gpu0/3g.20gb@0/1c@1 b\n"
			"keep gpu0/3g.20gb@0\n" },
		{ "A100-40GB on 3g.20gb@0(1c@0!a+1c@2)", ONE("{profile: 3g.20gb, parts: [2c]}"),
			"sbk",
			"destroy gpu0/3g.20gb@0/1c@0\ndestroy gpu0/3g.20gb@0/1c@2\n"
			"create gpu0/3g.20gb@0/2c@0\nblock gpu0/3g.20gb@0/1c@0 a\n"
			"keep gpu0/3g.20gb@0\n" },
		/* another of the same profile can be filled so */
		{ "A100-40GB on 3g.20gb@0(1c@0!a+1c@2) 3g.20gb@4", ONE("{profile: 3g.20gb, parts: "
			"[2c, 1c]}, {profile: 3g.20gb, parts: [1c, 1c]}"), "sbk",
			"destroy gpu0/3g.20gb@4/3c@0\ncreate gpu0/3g.20gb@4/2c@0\n"
			"create gpu0/3g.20gb@4/1c@2\nkeep gpu0/3g.20gb@4\nkeep gpu0/3g.20gb@0\n" },
		/* a holder of the instance holds all of its parts */
		{ "A100-40GB on 3g.20gb@0!a(1c@0+1c@1)", ONE("{profile: 3g.20gb}"), "sbk",
			"destroy gpu0/3g.20gb@0/1c@0\ndestroy gpu0/3g.20gb@0/1c@1\n"
			"create gpu0/3g.20gb@0/3c@0\nblock gpu0/3g.20gb@0 a\n"
			"keep gpu0/3g.20gb@0\n" },
		{ "A100-40GB on 3g.20gb@0!a(1c@0+1c@1)", ONE("{profile: 1c.3g.20gb, count: 3}"),
			"sbk", "create gpu0/3g.20gb@0/1c@2\nkeep gpu0/3g.20gb@0\n" },
		{ "A100-40GB on 3g.20gb@0!a", ONE("{profile: 1c.3g.20gb, count: 3}"), "b",
			"block gpu0/3g.20gb@0 a\n" },
		/* clang-format on */
	};

	check(cases, CLV_ARRAY_SIZE(cases));
}

/* --- What cannot be had --- */

static void test_bad_input(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "A100-40GB on", ONE("{profile: 2g.10gb, count: 4}"), "", "error -28 " ROOM
			"3 of 4 instances fit together; 2g.10gb has no room then, what still fits is "
			"1g.5gb, 1g.10gb\n" },
		{ "A100-40GB on 7g.40gb@0!a", ONE("{profile: 2g.10gb, count: 4}"), "",
			"error -28 " ROOM "3 of 4 instances fit together; 2g.10gb has no room then, "
			"what still fits is 1g.5gb, 1g.10gb\n" },
		{ "A100-40GB", ONE("{profile: 4g.20gb, count: 2}"), "", "error -28 " ROOM
			"1 of 2 instances fit together; 4g.20gb has no room then, what still fits is "
			"1g.5gb, 1g.10gb, 2g.10gb, 3g.20gb\n" },
		{ "A100-40GB", ONE("{profile: 3g.20gb, count: 2}, {profile: 1g.5gb}"), "",
			"error -28 " ROOM "2 of 3 instances fit together; 1g.5gb has no room then, "
			"what still fits is nothing\n" },
		{ "A100-40GB", ONE("{profile: 1g.5gb, start: 7}"), "", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): 1g.5gb cannot be placed at 7: its places are 0, 1, 2, 3, 4, 5, "
			"6\n" },
		{ "A100-40GB", ONE("{profile: 1g.5gb, start: 255}"), "", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): 1g.5gb cannot be placed at 255: its places are 0, 1, 2, 3, 4, "
			"5, 6\n" },
		{ "A100-40GB", ONE("{profile: 1g.5gb, start: 256}"), "", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): 1g.5gb cannot be placed at 256: its places are 0, 1, 2, 3, 4, "
			"5, 6\n" },
		{ "A100-40GB", ONE("{profile: 1g.5gb, start: 3}, {profile: 2g.10gb, start: 2}"), "",
			"error -28 " ROOM "1 of 2 instances fit together; 2g.10gb has no room then, "
			"what still fits is 1g.5gb, 1g.10gb, 2g.10gb, 3g.20gb\n" },
		{ "A100-40GB", ONE("{profile: 1g.5gb, count: 20}"), "", "error -28 l.yaml:3: gpu0 "
			"(A100-40GB): more than 16 instances are wanted: a GPU holds 7 slices\n" },
		{ "A100-40GB", ONE("{profile: 1g.5gb+me, count: 2}"), "", "error -28 " ROOM
			"1 of 2 instances fit together; 1g.5gb+me has no room then, what still fits "
			"is 1g.5gb, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb\n" },
		{ "H100-80GB", ONE("{profile: 1g.5gb}"), "", "error -22 l.yaml:3: gpu0 (H100-80GB): "
			"H100-80GB has no profile '1g.5gb': it has 1g.10gb, 1g.10gb+me, 1g.20gb, "
			"2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb\n" },
		{ "A100-40GB", "- {select: {}, mig: off, partitions: [{profile: 1g.5gb}]}", "",
			"error -22 l.yaml:3: gpu0 (A100-40GB): partitions need mig: on, and the rule "
			"says off\n" },
		/* the second line is the one that has no room */
		{ "A100-40GB", "- select: {}\n  partitions:\n  - {profile: 4g.20gb}\n"
			"  - {profile: 4g.20gb}", "", "error -28 l.yaml:6: gpu0 (A100-40GB): only the "
			"first 1 of 2 instances fit together; 4g.20gb has no room then, what still "
			"fits is 1g.5gb, 1g.10gb, 2g.10gb, 3g.20gb\n" },
		/* clang-format on */
	};

	check(cases, CLV_ARRAY_SIZE(cases));
}

static void test_bad_parts(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "A100-40GB", ONE("{profile: 3g.20gb, parts: [2c, 2c]}"), "", "error -28 l.yaml:3: "
			"gpu0 (A100-40GB): compute instances of 4 slices do not fit in 3g.20gb, which "
			"has 3\n" },
		{ "A100-40GB", ONE("{profile: 4g.20gb, parts: [3c]}"), "", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): 4g.20gb has no compute instance 3c: it has 1c, 2c, 4c\n" },
		{ "A100-40GB", ONE("{profile: 3g.20gb, parts: [2c@1]}"), "", "error -22 l.yaml:3: "
			"gpu0 (A100-40GB): 2c cannot be placed at 1 in 3g.20gb: its places are 0\n" },
		{ "A100-40GB", ONE("{profile: 3g.20gb, parts: [1c@0, 2c@0]}"), "", "error -28 "
			"l.yaml:3: gpu0 (A100-40GB): these parts do not fit together in 3g.20gb: leave their "
			"places out, or request fewer\n" },
		{ "A100-40GB", ONE("{profile: 3c.4g.20gb}"), "", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): 4g.20gb has no compute instance 3c: it has 1c, 2c, 4c\n" },
		{ "A100-40GB", ONE("{profile: 7g.40gb, parts: [1c, 1c, 1c, 1c, 1c, 1c, 1c, 1c, 1c]}"),
			"", "error -28 l.yaml:3: gpu0 (A100-40GB): 9 parts: an instance has at most "
			"8\n" },
		{ "A100-40GB", ONE("{profile: 2c.1g.5gb}"), "", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): 1g.5gb has no compute instance 2c: it has 1c\n" },
		{ "A100-40GB", ONE("{profile: 1c.9g.5gb}"), "", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): A100-40GB has no profile '9g.5gb': it has 1g.5gb, 1g.5gb+me, "
			"1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb\n" },
		{ "A100-40GB", ONE("{profile: 1c.3g.20gb, start: 0}"), "", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): 1c.3g.20gb takes only a count: for places, write {profile: "
			"3g.20gb, start: [...], parts: [1c, ...]}\n" },
		/* clang-format on */
	};

	check(cases, CLV_ARRAY_SIZE(cases));
}

/* Unknown instances are an error, unless MIG is turned off. */
static void test_unknown_instances(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		/* to turn MIG off they need not be understood */
		{ "A100-40GB on 9g.5gb@0", "- {select: {}, mig: off}", "s",
			"destroy gpu0/9g.5gb@0\nturn off MIG of gpu0 (idle) gpu0\n" },
		{ "A100-40GB on 9g.5gb@0", ONE("{profile: 1g.5gb}"), "", "error -22 l.yaml:3: gpu0 "
			"(A100-40GB): gpu0/9g.5gb@0 exists but is not understood: A100-40GB has no "
			"profile '9g.5gb': it has 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, "
			"4g.20gb, 7g.40gb: destroy it with the tool that made it\n" },
		{ "A100-40GB on 2g.10gb@40", ONE("{profile: 1g.5gb}"), "", "error -22 l.yaml:3: "
			"gpu0 (A100-40GB): gpu0/2g.10gb@40 exists but is not understood: it is not "
			"inside the GPU's grid: destroy it with the tool that made it\n" },
		{ "A100-40GB on 3g.20gb@0(5c@0)", ONE("{profile: 1g.5gb}"), "", "error -22 "
			"l.yaml:3: gpu0 (A100-40GB): gpu0/3g.20gb@0/5c@0 exists but is not "
			"understood: 3g.20gb has no such compute instance: destroy it with the tool "
			"that made it\n" },
		{ "A100-40GB on 3g.20gb@0(2c@2)", ONE("{profile: 1g.5gb}"), "", "error -22 "
			"l.yaml:3: gpu0 (A100-40GB): gpu0/3g.20gb@0/2c@2 exists but is not "
			"understood: 3g.20gb has no such compute instance: destroy it with the tool "
			"that made it\n" },
		{ "A100-40GB on 3g.20gb@0(2c@0+1c@1)", ONE("{profile: 1g.5gb}"), "", "error -22 "
			"l.yaml:3: gpu0 (A100-40GB): gpu0/3g.20gb@0/1c@1 exists but is not "
			"understood: another is in its place: destroy it with the tool that made it\n" },
		{ "A100-40GB on 2g.10gb@0 1g.5gb@1", ONE("{profile: 1g.5gb}"), "", "error -22 "
			"l.yaml:3: gpu0 (A100-40GB): gpu0/1g.5gb@1 exists but is not understood: "
			"another is in its place: destroy it with the tool that made it\n" },
		/* clang-format on */
	};

	check(cases, CLV_ARRAY_SIZE(cases));
}

static void test_devices_without(void **state)
{
	static const struct plan_case cases[] = {
		/* clang-format off */
		{ "T4 why=MIG_came_with_Ampere", ONE("{profile: 1g.5gb}"), "", "error -22 l.yaml:3: "
			"gpu0 (T4): it has no MIG instances: MIG came with Ampere: use shares\n" },
		{ "T4 why=this_GPU_has_no_MIG:_use_shares", ONE("{profile: 1g.5gb}"), "", "error -22 "
			"l.yaml:3: gpu0 (T4): it cannot have MIG instances: this GPU has no MIG: use "
			"shares\n" },
		{ "V100", ONE("{profile: 1g.5gb}"), "", "error -22 l.yaml:3: gpu0 (V100): it has no "
			"MIG instances: use shares\n" },
		/* what has no MIG has it off; what may have it and cannot be read may not */
		{ "V100 absent", "- {select: {}, mig: off, shares: 1}", "sh",
			"share gpu0/1 1000000 0 0 normal\n" },
		{ "V100 absent", "- {select: {}, mig: on}", "", "error -22 l.yaml:3: gpu0 (V100): it "
			"has no MIG instances: use shares\n" },
		{ "V100", "- {select: {}, mig: off}", "", "error -22 l.yaml:3: gpu0 (V100): it has "
			"no MIG instances: use shares\n" },
		{ "MI300X", ONE("{profile: 1g.5gb}"), "", "error -22 l.yaml:3: gpu0 (MI300X): it has "
			"no MIG instances: it can be divided by compute-mode\n" },
		{ "CPU cores=4", "- {select: {}, mig: on}", "", "error -22 l.yaml:3: gpu0 (CPU): it "
			"has no MIG instances: it can be divided by partitions of cores:N\n" },
		/* one list, one kind */
		{ "A100-40GB", ONE("{profile: 1g.5gb}, {profile: \"vf:2\"}"), "", "error -22 "
			"l.yaml:3: gpu0 (A100-40GB): it has no virtual functions: it can be divided "
			"by MIG\n" },
		/* clang-format on */
	};

	check(cases, CLV_ARRAY_SIZE(cases));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_preserve),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_obstacles),
		cmocka_unit_test(test_bad_input),
		cmocka_unit_test(test_bad_parts),
		cmocka_unit_test(test_unknown_instances),
		cmocka_unit_test(test_devices_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
