/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger, the domains and the hardware: each kind of difference, and none. */
#include "bridge/libvirt/domain/compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define U1 "11111111-9b1e-4c38-8f57-0a1b2c3d4e5f"
#define U2 "22222222-9b1e-4c38-8f57-0a1b2c3d4e5f"

static struct clv_vm_partition partitions[] = {
	{"gpu0/vf:2@1", "vf:2", "0000:01:00.1", "gpu0"},
	{"gpu0/vf:2@2", "vf:2", "0000:01:00.2", "gpu0"},
	{"gpu1", "whole", "0000:02:00.0", "gpu1", .is_whole = true},
	{"gpu2", "whole", "0000:03:00.0", "gpu2", .is_whole = true, .user = "process 7"},
	{"gpu3", "whole", "0000:04:00.0", "gpu3", .is_whole = true, .pool_vm = "vm9"},
};

struct row {
	const char *what;
	/* "l1 U1 gpu0/vf:2@1" */
	struct clv_vm_lease leases[2];
	/* The hostdevs of machine 1 in its persistent and its running XML. */
	struct clv_vm_hostdev config[2], live[2];
	bool is_running, is_undefined, is_incomplete;
	size_t n_partitions;
	const char *differences; /* "KIND:REPAIR ..." */
};

#define LEASE(id, vm, partition)              \
	{                                     \
		id, vm, partition, "old name" \
	}
#define DEVICE(address, alias)              \
	{                                   \
		false, true, address, alias \
	}
#define GOOD LEASE("l1", U1, "gpu0/vf:2@1")
#define AT_1 DEVICE("0000:01:00.1", "ua-cleave-l1")

static const struct row rows[] = {
	{"nothing", .differences = ""},
	{"in order, off", {GOOD}, {AT_1}, .differences = ""},
	{"in order, on", {GOOD}, {AT_1}, {AT_1}, true, .differences = ""},
	{"undefined", {GOOD}, .is_undefined = true, .differences = "lease-without-vm:1 "},
	{"a libvirt that does not answer", {GOOD}, .is_undefined = true,
		.is_incomplete = true, .differences = ""},
	{"edited", {GOOD}, .differences = "not-in-xml:2 "},
	{"edited, running", {GOOD}, {{0}}, {AT_1}, true, .differences = "not-in-xml:2 "},
	{"not there until it restarts", {GOOD}, {AT_1}, {{0}}, true,
		.differences = "not-live:0 "},
	{"lease gone", {{{0}}}, {AT_1}, .differences = "no-lease:3 "},
	{"lease gone, running", {{{0}}}, {AT_1}, {AT_1}, true,
		.differences = "no-lease:3 "},
	{"lease gone, only running", {{{0}}}, {{0}}, {AT_1}, true,
		.differences = "no-lease:3 "},
	{"renumbered", {GOOD}, {DEVICE("0000:01:00.2", "ua-cleave-l1")},
		.differences = "other-address:4 "},
	{"layout gone", {GOOD}, {AT_1}, .n_partitions = SIZE_MAX,
		.differences = "partition-gone:0 "},
	{"stolen", {LEASE("l2", U2, "gpu0/vf:2@2")}, {DEVICE("0000:01:00.2", "")},
		.is_incomplete = true, .differences = "of-another:0 "},
	{"alias of another's lease", {LEASE("l2", U2, "gpu0/vf:2@2")},
		{DEVICE("0000:01:00.2", "ua-cleave-l2")}, .is_incomplete = true,
		.differences = "of-another:0 "},
	{"by hand", {{{0}}}, {DEVICE("0000:01:00.2", "hostdev0")},
		.differences = "unassigned:0 "},
	{"a network card", {{{0}}}, {DEVICE("0000:09:00.0", "hostdev0")},
		.differences = ""},
	{"a whole GPU", {LEASE("l3", U1, "gpu1")},
		{DEVICE("0000:02:00.0", "ua-cleave-l3")}, .differences = ""},
	{"a whole GPU, stolen", {LEASE("l3", U2, "gpu1")}, {DEVICE("0000:02:00.0", "")},
		.is_incomplete = true, .differences = "of-another:0 "},
	{"a whole GPU, lease gone", {{{0}}}, {DEVICE("0000:02:00.0", "ua-cleave-l3")},
		.differences = "no-lease:3 "},
	{"a whole GPU, by hand or by a pool", {{{0}}},
		{DEVICE("0000:02:00.0", "hostdev0")}, .differences = ""},
	{"a whole GPU in use", {LEASE("l4", U1, "gpu2")},
		{DEVICE("0000:03:00.0", "ua-cleave-l4")}, .differences = "in-use:0 "},
	{"the same, whose emulator uses it", {LEASE("l4", U1, "gpu2")},
		{DEVICE("0000:03:00.0", "ua-cleave-l4")},
		{DEVICE("0000:03:00.0", "ua-cleave-l4")}, true, .differences = ""},
	{"by hand, in use", {{{0}}}, {DEVICE("0000:03:00.0", "hostdev0")},
		.differences = "in-use:0 "},
	{"by hand, running", {{{0}}}, {DEVICE("0000:03:00.0", "hostdev0")},
		{DEVICE("0000:03:00.0", "hostdev0")}, true, .differences = ""},
	{"by hand, another's of a pool", {{{0}}}, {DEVICE("0000:04:00.0", "hostdev0")},
		.differences = "in-use:0 "},
	{"by Pacemaker, with another name", {{{0}}},
		{DEVICE("0000:04:00.0", "ua-cleave")}, .differences = ""},
	{"two", {GOOD, LEASE("l2", U1, "gpu0/vf:2@2")},
		{AT_1, DEVICE("0000:01:00.2", "ua-cleave-l2")}, .differences = ""},
};

static void fill(struct clv_vm_domain *domain, const struct clv_vm_hostdev hostdevs[2])
{
	snprintf(domain->uuid, sizeof(domain->uuid), U1);
	domain->name = (char *)"B\xc3\xbcro 1";
	domain->hostdevs = (struct clv_vm_hostdev *)hostdevs;
	domain->n_hostdevs = (size_t)(hostdevs[0].address[0] != '\0') +
			     (hostdevs[1].address[0] != '\0');
}

static void check_row(const struct row *row)
{
	struct clv_vm_inventory inventory = {.partitions = partitions,
		.n_partitions = row->n_partitions ? 0 : CLV_ARRAY_SIZE(partitions),
		.leases = (struct clv_vm_lease *)row->leases,
		.n_leases = (size_t)(row->leases[0].id[0] != '\0') +
			    (row->leases[1].id[0] != '\0')};
	struct clv_vm_guest guest = {.uri = "qemu:///system",
		.is_running = row->is_running,
		.is_persistent = true};
	struct clv_vm_differences found;
	char text[512] = "", line[512];

	fill(&guest.config, row->config);
	fill(&guest.live, row->live);
	assert_int_equal(clv_vm_compare(&inventory, &guest, !row->is_undefined,
				 !row->is_incomplete, &found),
		0);
	for (size_t i = 0; i < found.n; i++) {
		enum clv_vm_difference_kind kind = found.items[i].kind;

		sprintf(text + strlen(text), "%s:%d ", clv_vm_difference_to_string(kind),
			(int)clv_vm_difference_repair(kind));
		clv_vm_difference_describe(&found.items[i], line, sizeof(line));
		if (row->is_undefined)
			assert_non_null(strstr(line, "old name"));
		else
			assert_non_null(strstr(line, "B\xc3\xbcro 1"));
		assert_null(strstr(line, "  "));
	}
	if (strcmp(text, row->differences) != 0)
		fail_msg("%s: '%s' and not '%s'", row->what, text, row->differences);
	free(found.items);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++)
		check_row(&rows[i]);
}

/* A row for each kind. */
static void test_all_kinds(void **state)
{
	for (int kind = 0; kind < _CLV_VM_DIFFERENCE_MAX; kind++) {
		const char *name = clv_vm_difference_to_string(kind);
		bool is_shown = false;

		for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++)
			is_shown |= strstr(rows[i].differences, name) != NULL;
		if (!is_shown)
			fail_msg("no row shows %s", name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_all_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
