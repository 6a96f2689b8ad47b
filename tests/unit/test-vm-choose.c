/* SPDX-License-Identifier: Apache-2.0 */
/* Which partitions virtual machines get. */
#include "bridge/libvirt/domain/choose.h"

#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)

/* Two GPUs with functions of one size, and one with larger ones. */
static struct clv_vm_partition partitions[] = {
	{"gpu0/vf:2@1", "vf:2", "0000:01:00.1", "gpu0", CLV_VM_PCI, 4 * GIB, true,
		"virtual machine x"},
	{"gpu0/vf:2@2", "vf:2", "0000:01:00.2", "gpu0", CLV_VM_PCI, 4 * GIB},
	{"gpu1/vf:2@1", "vf:2", "0000:02:00.1", "gpu1", CLV_VM_PCI, 4 * GIB},
	{"gpu1/vf:2@2", "vf:2", "0000:02:00.2", "gpu1", CLV_VM_PCI, 4 * GIB},
	{"gpu2/vf:1@1", "vf:1", "0000:03:00.1", "gpu2", CLV_VM_PCI, 8 * GIB, false, "",
		"it is in no IOMMU group"},
};
static const struct clv_vm_inventory inventory = {
	.partitions = partitions, .n_partitions = CLV_ARRAY_SIZE(partitions)};
static const struct clv_vm_inventory same_size = {
	.partitions = partitions, .n_partitions = 4};
static const struct clv_vm_target machines[] = {
	{"a", "u1"}, {"b", "u2"}, {"c", "u3"}, {"d", "u4"}, {"has", "u5", 1}};

/* The names of the chosen partitions, or the error's message; caller frees. */
static char *choose(const struct clv_vm_inventory *from, struct clv_vm_wish wish,
	const struct clv_vm_target *targets, size_t n, int expected)
{
	const struct clv_vm_partition *chosen[16];
	struct clv_error err = {0};
	char text[1024] = "", *at = text;
	int r = clv_vm_choose(from, &wish, targets, n, chosen, &err);

	assert_int_equal(r, expected);
	if (r < 0) {
		assert_int_equal(err.code, r);
		return strdup(err.msg);
	}
	for (size_t i = 0; i < n * (wish.count ? wish.count : 1); i++)
		at += sprintf(at, "%s ", chosen[i]->name);
	return strdup(text);
}

static void expect(const struct clv_vm_inventory *from, struct clv_vm_wish wish,
	const struct clv_vm_target *targets, size_t n, int expected, const char *text)
{
	char *got = choose(from, wish, targets, n, expected);

	if (expected == 0)
		assert_string_equal(got, text);
	else if (!strstr(got, text))
		fail_msg("'%s' is not in: %s", text, got);
	free(got);
}

#define W(...) ((struct clv_vm_wish){__VA_ARGS__})

static void test_spread(void **state)
{
	expect(&same_size, W(0), machines, 1, 0, "gpu1/vf:2@1 ");
	expect(&same_size, W(0), machines, 3, 0, "gpu1/vf:2@1 gpu0/vf:2@2 gpu1/vf:2@2 ");
	expect(&inventory, W(.profile = "vf:2"), machines, 1, 0, "gpu1/vf:2@1 ");
	expect(&inventory, W(.memory_bytes = 4 * GIB), machines, 1, 0, "gpu1/vf:2@1 ");
}

static void test_several_for_one_are_together(void **state)
{
	expect(&same_size, W(.count = 2), machines, 1, 0, "gpu1/vf:2@1 gpu1/vf:2@2 ");
	expect(&same_size, W(.count = 3), machines, 1, 0,
		"gpu1/vf:2@1 gpu1/vf:2@2 gpu0/vf:2@2 ");
}

static void test_one_for_each(void **state)
{
	expect(&same_size, W(0), machines + 4, 1, -EEXIST, "has a partition already");
	expect(&same_size, W(.more = true), machines + 4, 1, 0, "gpu1/vf:2@1 ");
	expect(&same_size, W(.more = true),
		(struct clv_vm_target[]){machines[0], machines[0]}, 2, -EINVAL, "twice");
}

static void test_all_or_none(void **state)
{
	expect(&same_size, W(0), machines, 4, -EBUSY,
		"4 partitions are needed and 3 free");
	expect(&inventory, W(.profile = "vf:1"), machines, 1, -EBUSY, "IOMMU");
}

static void test_sizes_match(void **state)
{
	expect(&inventory, W(0), machines, 1, -EINVAL, "vf:2 (4 GiB), vf:1 (8 GiB)");
	expect(&inventory, W(.memory_bytes = 5 * GIB), machines, 1, -ENOENT,
		"vf:2 (4 GiB");
	expect(&inventory, W(.profile = "vf:9"), machines, 1, -ENOENT, "vf:1 (8 GiB)");
	expect(&(struct clv_vm_inventory){0}, W(0), machines, 1, -ENOENT, "cleave apply");
}

/* The partition whose GPU is no other; none is ruled out for the next choice. */
static void test_model(void **state)
{
	struct clv_vm_partition two[] = {partitions[1], partitions[2]};
	const struct clv_vm_inventory both = {.partitions = two, .n_partitions = 2};

	strcpy(two[0].model, "A");
	strcpy(two[1].model, "B");
	expect(&both, W(.profile = "vf:2", .model = "A"), machines, 1, 0, "gpu0/vf:2@2 ");
	expect(&both, W(.profile = "vf:2", .model = "B"), machines, 1, 0, "gpu1/vf:2@1 ");
	expect(&both, W(.profile = "vf:2", .model = "C"), machines, 1, -EBUSY,
		"A is another GPU than C");
	expect(&both, W(.profile = "vf:2", .model = "A", .means = CLV_VM_MDEV), machines,
		1, -EBUSY, "free");
}

static void test_named(void **state)
{
	expect(&inventory, W(.partition = "gpu0/vf:2@2"), machines, 1, 0, "gpu0/vf:2@2 ");
	expect(&inventory, W(.partition = "gpu0/vf:2@1"), machines, 1, -EBUSY,
		"virtual machine x");
	expect(&inventory, W(.partition = "gpu9"), machines, 1, -ENOENT, "gpu9");
	expect(&inventory, W(.partition = "gpu2/vf:1@1"), machines, 1, -ENOTSUP, "IOMMU");
	expect(&inventory, W(.partition = "gpu0/vf:2@2"), machines, 2, -EINVAL, "one");
	expect(&inventory, W(.partition = "gpu0/vf:2@2", .count = 2), machines, 1,
		-EINVAL, "one");
	expect(&inventory, W(.partition = "gpu0/vf:2@2", .memory_bytes = 1), machines, 1,
		-EINVAL, "size");
}

/* Never by chance: only by name, or where whole GPUs are asked for. */
static void test_whole(void **state)
{
	struct clv_vm_partition gpus[] = {
		{"gpu0", "whole", "0000:01:00.0", "gpu0", CLV_VM_PCI, 4 * GIB,
			.model = "A", .is_whole = true},
		{"gpu1", "whole", "0000:02:00.0", "gpu1", CLV_VM_PCI, 4 * GIB, true,
			"process 7 (train)", .model = "A", .is_whole = true},
		{"gpu2", "whole", "0000:04:00.0", "gpu2", CLV_VM_PCI, 4 * GIB,
			.model = "B", .is_whole = true},
		partitions[1],
	};
	const struct clv_vm_inventory one = {.partitions = gpus, .n_partitions = 2};
	const struct clv_vm_inventory all = {.partitions = gpus, .n_partitions = 4};

	gpus[3].device[3] = '3';
	expect(&all, W(0), machines, 1, 0, "gpu0/vf:2@2 ");
	expect(&all, W(.memory_bytes = 4 * GIB), machines, 1, 0, "gpu0/vf:2@2 ");
	expect(&one, W(0), machines, 1, -ENOENT, "--profile whole");
	expect(&one, W(.profile = "whole"), machines, 1, 0, "gpu0 ");
	expect(&one, W(.profile = "whole"), machines, 2, -EBUSY,
		"gpu1 is held by process 7 (train)");
	expect(&all, W(.profile = "whole"), machines, 1, -EINVAL,
		"A as gpu0 and B as gpu2: name one");
	expect(&all, W(.profile = "whole", .model = "B"), machines, 1, 0, "gpu2 ");
	expect(&all, W(.partition = "gpu2"), machines, 1, 0, "gpu2 ");
	expect(&all, W(.partition = "gpu1"), machines, 1, -EBUSY, "process 7 (train)");
	expect(&all, W(.partition = "gpu3"), machines, 1, -ENOTSUP,
		"gpu3 is partitioned: assign one of its partitions");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_several_for_one_are_together),
		cmocka_unit_test(test_one_for_each),
		cmocka_unit_test(test_all_or_none),
		cmocka_unit_test(test_sizes_match),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
