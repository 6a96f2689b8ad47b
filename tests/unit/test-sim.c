/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated drivers' rules, through the vtable: successful calls, and the errors of
 * others. */
#include "sim-world.h"

#include "backend/sim/uuid.h"
#include "base/cpus.h"
#include "core/gpu/gpu.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MI (UINT64_C(1) << 20)
#define GI (UINT64_C(1) << 30)

#define NODE(devices) "version: 1\nname: test\ndevices: [" devices "]\n"

static struct sim_world world;

/* Opens the node, which must be valid. */
static void open_node(const char *text)
{
	sim_world_make(&world, text, true);
	if (sim_world_open(&world) < 0 || sim_world_look(&world) < 0)
		fail_msg("%s", world.err.msg);
}

static int close_node(void **state)
{
	if (world.folder[0] != '\0')
		sim_world_remove(&world);
	world.folder[0] = '\0';
	return 0;
}

static void works(int r)
{
	if (r < 0)
		fail_msg("%s", world.err.msg);
}

static void refused(int r, int code, const char *says)
{
	sim_world_refused(&world, r, code, says);
}

/* --- Small parts --- */

static void uuids_follow_the_standard(void **state)
{
	/* The namespace of DNS names; python's uuid.uuid5 gives the same result. */
	static const uint8_t dns[16] = {0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1,
		0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
	static const struct {
		const char *name;
		const char *uuid;
	} rows[] = {
		{"python.org", "886313e1-3b8a-5372-9b90-0c9aee199e5d"},
		{"", "4ebd0208-8328-5d69-8c44-ec50939c0967"},
		{"a name that is longer than a block of sixty-four bytes is hashed in "
		 "two of them",
			"77a7eb0b-3c69-54a1-8993-ac38b68dfe8c"},
	};
	char uuid[CLV_SIM_UUID_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		clv_sim_uuid(dns, rows[i].name, uuid);
		assert_string_equal(uuid, rows[i].uuid);
	}
}

static void processors_are_read_and_written(void **state)
{
	static const char *const good[] = {"0", "0-3", "1,3,5-7", "0-1,1022-1023"};
	static const char *const bad[] = {
		"", "-", "a", "1-", "3-1", "0,", ",1", "1024", "0-1024", "1 2", "1x"};
	char text[64];
	cpu_set_t cpus;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(clv_cpus_parse(good[i], &cpus), 0);
		clv_cpus_format(&cpus, text, sizeof(text));
		assert_string_equal(text, good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(clv_cpus_parse(bad[i], &cpus), -EINVAL);
	clv_cpus_parse("700-723", &cpus);
	clv_cpus_format(&cpus, text, 4);
	assert_string_equal(text, "700");
}

/* --- The node's file --- */

static void without_a_file_there_is_no_node(void **state)
{
	unsetenv("CLEAVE_SIM");
	refused(sim_world_open(&world), -ENODEV, "CLEAVE_SIM names no file");
	setenv("CLEAVE_SIM", "/nonexistent/node.yaml", 1);
	refused(sim_world_open(&world), -ENOENT, "/nonexistent/node.yaml");
}

static const struct {
	const char *text;
	int code;
	const char *says;
} bad_nodes[] = {
	/* clang-format off */
	{ "version: 1\nname: x\n", -EINVAL, "the key 'devices' is missing" },
	{ "version: 2\nname: x\ndevices: [{model: T4}]\n", -ERANGE, ":1:10: 2 is out of range" },
	{ "version: 1\nname: \"a\\tb\"\ndevices: [{model: T4}]\n", -EINVAL, ":2:7: only printable ASCII" },
	{ NODE(""), -EINVAL, "a node has at least one device" },
	{ NODE("{count: 2}"), -EINVAL, ":3:11: the key 'model' is missing" },
	{ NODE("{model: A100-41GB}"), -EINVAL, ":3:19: unknown model 'A100-41GB': did you mean 'A100-40GB'?" },
	{ NODE("{model: Voodoo}"), -EINVAL, ":3:19: unknown model 'Voodoo': there are A30-24GB, A100-40GB" },
	{ NODE("{model: T4, pcie: 3}"), -EINVAL, ":3:23: unknown key 'pcie': did you mean 'pci'?" },
	{ NODE("{model: T4, count: 1025}"), -ERANGE, "1025 is out of range: from 1 to 1024" },
	{ NODE("{model: T4, count: 1000}, {model: T4, count: 40}"), -E2BIG, "more than 1024 devices" },
	{ NODE("{model: T4, hive: a}"), -EINVAL, "T4 cannot have 'hive': that is for AMD's devices" },
	{ NODE("{model: T4, reset: none}"), -EINVAL, "T4 cannot have 'reset': that is for GPUs with MIG" },
	{ NODE("{model: T4, cores: 4}"), -EINVAL, "T4 cannot have 'cores': that is for the CPU" },
	{ NODE("{model: CPU, sriov: {total: 4}}"), -EINVAL, "CPU cannot have 'sriov': that is for GPUs" },
	{ NODE("{model: A30-24GB, memory: 3G}"), -EINVAL, "A30-24GB cannot have 'memory': that is for devices whose memory is in no table" },
	{ NODE("{model: T4, memory: 3X}"), -EINVAL, "no unit that cleave knows" },
	{ NODE("{model: T4, memory: 1M}"), -ERANGE, "a device has at least 1G" },
	{ NODE("{model: T4, pci: 3b:00.0}"), -EINVAL, "'3b:00.0' is not a PCI address" },
	{ NODE("{model: T4, count: 2, pci: [\"0000:3b:00.0\"]}"), -EINVAL, "1 are listed and there are 2 devices" },
	{ NODE("{model: T4, count: 2, pci: \"0000:3b:00.0\"}"), -EINVAL, "device 0 is at 0000:3b:00.0, too" },
	{ NODE("{model: T4, numa: [0, 1]}"), -EINVAL, "2 are listed and there are 1 devices" },
	{ NODE("{model: CPU, cores: 3-1}"), -EINVAL, "'3-1' is not a list of processors" },
	{ NODE("{model: A30-24GB, reset: maybe}"), -EINVAL, "'maybe' is none of none, allowed, refused" },
	{ NODE("{model: A30-24GB, fail: {creat: 1}}"), -EINVAL, "'creat' is none of create, destroy" },
	{ NODE("{model: A30-24GB, fail: 3}"), -EINVAL, "a map of calls and numbers is expected here" },
	{ NODE("{model: L4, sriov: {total: 65}}"), -ERANGE, "from 0 to 64" },
	{ NODE("{model: L4, sriov: {total: 4, framework: xen}}"), -EINVAL, "'xen' is none of pci, xe" },
	{ NODE("{model: L4, sriov: {total: 4, types: [{id: 1, name: a}]}}"), -EINVAL, "the key 'memory' is missing" },
	{ NODE("{model: T4, at-start: {mig: on}}"), -EINVAL, "T4 cannot have 'mig'" },
	{ NODE("{model: A30-24GB, at-start: {instances: [{profile: 1g.6gb, start: 0}]}}"), -EINVAL, "there are instances, but MIG is off" },
	{ NODE("{model: A30-24GB, at-start: {mig: on, instances: [{profile: 1g.5gb, start: 0}]}}"), -EINVAL, ":3:71: A30-24GB has no profile '1g.5gb'" },
	{ NODE("{model: A30-24GB, at-start: {mig: on, instances: [{profile: 2g.12gb, start: 1}]}}"), -EINVAL, "no 2g.12gb at 1: the profile has no placement there" },
	{ NODE("{model: A30-24GB, at-start: {mig: on, instances: [{profile: 2g.12gb, start: 0, parts: [3c@0]}]}}"), -EINVAL, "no 3c.2g.12gb at 0: the profile has no placement there" },
	{ NODE("{model: A30-24GB, at-start: {mig: on, instances: [{profile: 2g.12gb, start: 0, parts: [half]}]}}"), -EINVAL, "'half' is not a compute instance: write 2c@0" },
	{ NODE("{model: MI300X, at-start: {compute-mode: SPX, memory-mode: NPS4}}"), -EINVAL, "NPS4 cannot be used with SPX on MI300X" },
	{ NODE("{model: MI300X, at-start: {compute-mode: XPX}}"), -EINVAL, "'XPX' is not a compute mode" },
	{ NODE("{model: MI325X, at-start: {requested-memory-mode: NPS2}}"), -EINVAL, "MI325X has no memory mode NPS2" },
	{ NODE("{model: Flex 170, at-start: {vf-count: 17}}"), -ERANGE, "17 virtual functions are too many: at most 16" },
	{ NODE("{model: Flex 170, at-start: {vf: [{number: 17}]}}"), -ERANGE, "from 1 to 16" },
	{ NODE("{model: Flex 170, at-start: {vf: [{number: 1, type: a}]}}"), -ENOTSUP, "does not support type" },
	{ NODE("{model: CPU, cores: 4, at-start: {core-sets: [0-1, 1-2]}}"), -ENOSPC, "the processors 1 are in another partition" },
	{ NODE("{model: A30-24GB, sriov: {total: 2}, at-start: {mig: on, vf-count: 2}}"), -EINVAL, "a device is divided in one way at a time" },
	{ NODE("{model: T4}") "holders: [{on: gpu1}]\n", -EINVAL, "there is no gpu1: the devices are gpu0 to gpu0" },
	{ NODE("{model: T4}") "holders: [{on: cpu0}]\n", -EINVAL, "'cpu0' is not a device or partition" },
	{ NODE("{model: T4}") "holders: [{pid: 1}]\n", -EINVAL, "the key 'on' is missing" },
	{ NODE("{model: T4}") "holders: [{on: gpu0, pid: 0}]\n", -ERANGE, "0 is out of range" },
	/* clang-format on */
};

static void errors_in_a_node_are_reported(void **state)
{
	for (size_t i = 0; i < sizeof(bad_nodes) / sizeof(bad_nodes[0]); i++) {
		sim_world_make(&world, bad_nodes[i].text, false);
		sim_world_refused(&world, sim_world_open(&world), bad_nodes[i].code,
			bad_nodes[i].says);
		close_node(state);
	}
}

static void devices_are_as_their_file_says(void **state)
{
	const struct clv_node_device *a100, *cpu;

	open_node(NODE("{model: a100-40gb, count: 2, numa: [0, 1], pci: "
		       "[\"0000:07:00.0\", \"0000:0f:00.0\"]}, {model: CPU, cores: "
		       "\"2-3,8\", memory: 32G}"));
	assert_int_equal(world.node.n_devices, 3);
	assert_string_equal(world.node.name, "test");
	a100 = sim_world_device(&world, 1);
	assert_string_equal(a100->info.name, "gpu1");
	assert_string_equal(a100->info.model, "NVIDIA A100-SXM4-40GB");
	assert_string_equal(a100->info.vendor, "NVIDIA");
	assert_string_equal(a100->pci_address, "0000:0f:00.0");
	assert_int_equal(a100->numa_node, 1);
	assert_true(a100->info.memory_bytes == 40192 * MI);
	assert_int_equal(a100->info.compute_units, 108);
	assert_memory_equal(a100->info.uuid, "GPU-", 4);
	assert_string_not_equal(a100->info.uuid, sim_world_device(&world, 0)->info.uuid);
	assert_string_equal(a100->mig.model->name, "A100-40GB");
	cpu = sim_world_device(&world, 2);
	assert_string_equal(cpu->info.type, "cpu");
	assert_int_equal(cpu->cores.total, 3);
	assert_int_equal(cpu->cores.ids[2], 8);
	assert_int_equal(cpu->info.compute_units, 3);
	assert_true(cpu->info.memory_bytes == 32 * GI);
}

static void an_indivisible_device_names_an_alternative(void **state)
{
	open_node(NODE("{model: T4}"));
	assert_non_null(
		strstr(sim_world_device(&world, 0)->cannot_divide, "use shares of it"));
	refused(sim_world_mig(&world, 0, true), -ENOTSUP, "gpu0 (Tesla T4) has no MIG");
	refused(sim_world_compute(&world, 0, CLV_CPX), -ENOTSUP,
		"has no compute and memory modes");
	refused(sim_world_memory(&world, 0, CLV_NPS4), -ENOTSUP,
		"has no compute and memory modes");
	refused(sim_world_vf_count(&world, 0, 1), -ENOTSUP, "has no virtual functions");
	refused(sim_world_vf_quota(&world, 0, 1, (struct clv_vf_quota){0}), -ENODEV,
		"gpu0 has no virtual function 1");
	refused(sim_world_create(&world, 0, "1g.5gb", 0), -ENOTSUP,
		"cannot be created one by one");
	refused(sim_world_destroy(&world, 0, "1g.5gb@0"), -ENOTSUP,
		"cannot be destroyed one by one");
}

/* --- MIG --- */

static void mig_mode_is_pending_until_the_reset(void **state)
{
	const struct clv_mig_state *mig;

	open_node(NODE(
		"{model: A100-40GB}, {model: A100-40GB, reset: refused}, {model: "
		"A100-40GB}") "holders: [{on: gpu2, process: python3, pid: 4711}]\n");
	mig = &sim_world_device(&world, 0)->mig;
	assert_true(mig->needs_reset && !mig->is_lost_at_reboot);
	works(sim_world_mig(&world, 0, true));
	assert_true(mig->is_on && !mig->is_pending);

	mig = &sim_world_device(&world, 1)->mig;
	refused(sim_world_mig(&world, 1, true), -ENOTSUP, "gpu1 may not be reset");
	assert_true(!mig->is_on && mig->is_pending);
	works(sim_world_mig(&world, 1, false));
	assert_false(mig->is_pending);

	mig = &sim_world_device(&world, 2)->mig;
	refused(sim_world_mig(&world, 2, true), -EBUSY,
		"gpu2 is used by process 4711 (python3)");
	assert_true(!mig->is_on && mig->is_pending);
	refused(sim_world_reload(&world, 0), -EBUSY, "gpu2 is used by process 4711");
}

static void mig_mode_comes_at_once_from_hopper_on(void **state)
{
	const struct clv_mig_state *mig;

	open_node(NODE("{model: H100-80GB, count: 2}") "holders: [{on: gpu1, pid: 9}]\n");
	mig = &sim_world_device(&world, 0)->mig;
	assert_true(!mig->needs_reset && mig->is_lost_at_reboot);
	works(sim_world_mig(&world, 0, true));
	assert_true(mig->is_on);
	works(sim_world_create(&world, 0, "7g.80gb", 0));
	refused(sim_world_mig(&world, 0, false), -EBUSY,
		"gpu0 has GPU instances: destroy them first");
	refused(sim_world_mig(&world, 1, true), -EBUSY, "gpu1 is used by process 9");
	assert_false(sim_world_device(&world, 1)->mig.is_pending);
}

static void a_reload_of_the_driver_takes_instances_and_modes(void **state)
{
	open_node(NODE("{model: H100-80GB, at-start: {mig: on}}, {model: A30-24GB, "
		       "at-start: {mig: on, instances: [{profile: 4g.24gb, start: 0}]}}, "
		       "{model: A30-24GB, reset: refused}"));
	refused(sim_world_mig(&world, 2, true), -ENOTSUP, "may not be reset");
	works(sim_world_reload(&world, 0));
	works(sim_world_look(&world));
	assert_false(sim_world_device(&world, 0)->mig.is_on);
	assert_true(sim_world_device(&world, 1)->mig.is_on);
	assert_int_equal(sim_world_device(&world, 1)->n_partitions, 0);
	assert_true(sim_world_device(&world, 2)->mig.is_on);
}

static void instances_take_exact_places(void **state)
{
	const struct clv_partition *partition;

	open_node(NODE("{model: A100-40GB, at-start: {mig: on}}, {model: A100-40GB}"));
	works(sim_world_create(&world, 0, "3g.20gb", 4));
	partition = sim_world_find(&world, 0, "3g.20gb@4");
	assert_non_null(partition);
	assert_int_equal(partition->start, 4);
	assert_int_equal(partition->size, 4);
	assert_int_equal(partition->compute_units, 42);
	assert_true(partition->memory_bytes == 19968 * MI);
	assert_int_equal(partition->driver_id, 2);
	assert_memory_equal(partition->uuid, "MIG-", 4);
	assert_int_equal(partition->uuid[4 + 14], '5');

	refused(sim_world_create(&world, 0, "1g.5gb", 4), -ENOSPC,
		"gpu0: no 1g.5gb at 4: another instance is there");
	refused(sim_world_create(&world, 0, "1g.5gb", 7), -EINVAL,
		"the profile has no placement there");
	refused(sim_world_create(&world, 0, "1g.5gb", 70), -EINVAL, "gpu0 has no place");
	refused(sim_world_create(&world, 0, "1g.6gb", 0), -EINVAL,
		"A100-40GB has no profile '1g.6gb'");
	refused(sim_world_create(&world, 1, "1g.5gb", 0), -ENOTSUP,
		"MIG is off on gpu1: turn it on first");
	works(sim_world_create(&world, 0, "1g.5gb+me", 0));
	refused(sim_world_create(&world, 0, "1g.5gb+me", 1), -ENOSPC,
		"the GPU may have no more of this profile");
	works(sim_world_create(&world, 0, "2g.10gb", 2));
	works(sim_world_create(&world, 0, "1g.5gb", 1));
	refused(sim_world_destroy(&world, 0, "1g.5gb@2"), -ENODEV,
		"there is no partition gpu0/1g.5gb@2");
	works(sim_world_destroy(&world, 0, "2g.10gb@2"));
	assert_null(sim_world_find(&world, 0, "2g.10gb@2"));
	assert_non_null(sim_world_find(&world, 0, "1g.5gb@1"));
}

/* NVIDIA's documentation says that a 40 GB A100 holds four. */
static void a_fourth_2g_is_refused(void **state)
{
	open_node(NODE("{model: A100-40GB, at-start: {mig: on}}"));
	for (uint32_t start = 0; start <= 4; start += 2)
		works(sim_world_create(&world, 0, "2g.10gb", start));
	refused(sim_world_create(&world, 0, "2g.10gb", 6), -EINVAL,
		"the profile has no placement there");
	works(sim_world_create(&world, 0, "1g.10gb", 6));
}

static void the_same_instance_has_the_same_uuid(void **state)
{
	char first[96];

	open_node(NODE("{model: B200-180GB, at-start: {mig: on}}"));
	works(sim_world_create(&world, 0, "1g.23gb", 0));
	strcpy(first, sim_world_find(&world, 0, "1g.23gb@0")->uuid);
	works(sim_world_create(&world, 0, "1g.23gb", 1));
	assert_string_not_equal(first, sim_world_find(&world, 0, "1g.23gb@1")->uuid);
	works(sim_world_destroy(&world, 0, "1g.23gb@0"));
	works(sim_world_create(&world, 0, "1g.23gb", 0));
	assert_string_equal(first, sim_world_find(&world, 0, "1g.23gb@0")->uuid);
}

static void compute_instances_divide_an_instance(void **state)
{
	const struct clv_partition *owner, *part;

	open_node(NODE("{model: A100-40GB, at-start: {mig: on}}"));
	works(sim_world_create_half(&world, 0, "3g.20gb", 0));
	owner = sim_world_find(&world, 0, "3g.20gb@0");
	assert_true(owner->is_incomplete && owner->uuid[0] == '\0');
	works(sim_world_create_part(&world, 0, "3g.20gb@0", "1c.3g.20gb", 2));
	works(sim_world_create_part(&world, 0, "3g.20gb@0", "2c.3g.20gb", 0));
	owner = sim_world_find(&world, 0, "3g.20gb@0");
	assert_false(owner->is_incomplete);
	assert_int_equal(owner->n_parts, 2);
	part = sim_world_find(&world, 0, "3g.20gb@0/2c@0");
	assert_string_equal(part->profile, "2c.3g.20gb");
	assert_int_equal(part->compute_units, 28);
	assert_true(part->memory_bytes == owner->memory_bytes);
	assert_memory_equal(part->uuid, "MIG-", 4);

	refused(sim_world_create_part(&world, 0, "3g.20gb@0", "1c.3g.20gb", 1), -ENOSPC,
		"gpu0/3g.20gb@0: no 1c.3g.20gb at 1: another instance is there");
	works(sim_world_destroy_part(&world, 0, "3g.20gb@0", "3g.20gb@0/2c@0"));
	refused(sim_world_create_part(&world, 0, "3g.20gb@0", "2c.3g.20gb", 1), -EINVAL,
		"no 2c.3g.20gb at 1: the profile has no placement there");
	refused(sim_world_create_part(&world, 0, "3g.20gb@0", "1c.4g.20gb", 0), -EINVAL,
		"'1c.4g.20gb' is not a compute instance of 3g.20gb");
	refused(sim_world_create_part(&world, 0, "3g.20gb@4", "1c.3g.20gb", 0), -ENODEV,
		"there is no partition gpu0/3g.20gb@4");
	refused(sim_world_destroy_part(&world, 0, "3g.20gb@0", "3g.20gb@0/2c@0"), -ENODEV,
		"there is no partition gpu0/3g.20gb@0/2c@0");
	works(sim_world_destroy_part(&world, 0, "3g.20gb@0", "3g.20gb@0/1c@2"));
	assert_true(sim_world_find(&world, 0, "3g.20gb@0")->is_incomplete);
	works(sim_world_create_part(&world, 0, "3g.20gb@0", "3g.20gb", 0));
	owner = sim_world_find(&world, 0, "3g.20gb@0");
	assert_true(owner->n_parts == 0 && !owner->is_incomplete && owner->uuid[0]);
}

/* A part that fills its instance has the instance's name and place. */
static void a_part_that_fills_its_instance_is_destroyed(void **state)
{
	static const struct {
		const char *name, *profile;
		uint32_t start;
	} filled[] = {{"1g.5gb@5", "1g.5gb", 5}, {"3g.20gb@4", "3g.20gb", 4},
		{"4g.20gb@0", "4g.20gb", 0}, {"7g.40gb@0", "7g.40gb", 0}};

	open_node(NODE("{model: A100-40GB, at-start: {mig: on}}"));
	for (size_t i = 0; i < sizeof(filled) / sizeof(filled[0]); i++) {
		const char *name = filled[i].name;

		works(sim_world_create(&world, 0, filled[i].profile, filled[i].start));
		works(sim_world_destroy_part(&world, 0, name, name));
		assert_true(sim_world_find(&world, 0, name)->is_incomplete);
		refused(sim_world_destroy_part(&world, 0, name, name), -ENODEV, name);
		works(sim_world_destroy(&world, 0, name));
	}
}

static void what_is_used_is_not_destroyed(void **state)
{
	open_node(NODE("{model: A100-40GB, at-start: {mig: on, instances: [{profile: "
		       "3g.20gb, start: 4, parts: [1c@0, 1c@1]}, {profile: 1g.5gb, "
		       "start: 0}]}}") "holders: [{on: gpu0/3g.20gb@4/1c@1, lease: a1, "
				       "text: lease train of "
				       "bob}, {on: gpu0/1g.5gb@0, process: python3, pid: "
				       "7}, {on: "
				       "gpu0/1g.5gb@1, pid: 8}]\n");
	assert_string_equal(
		sim_world_find(&world, 0, "3g.20gb@4/1c@1")->holders.items[0].lease,
		"a1");
	refused(sim_world_destroy(&world, 0, "3g.20gb@4"), -EBUSY,
		"gpu0/3g.20gb@4/1c@1 is used by lease train of bob");
	refused(sim_world_destroy_part(&world, 0, "3g.20gb@4", "3g.20gb@4/1c@1"), -EBUSY,
		"lease train of bob");
	works(sim_world_destroy_part(&world, 0, "3g.20gb@4", "3g.20gb@4/1c@0"));
	refused(sim_world_destroy(&world, 0, "1g.5gb@0"), -EBUSY, "process 7 (python3)");
	/* A process that waits for an instance holds it as soon as it exists. */
	works(sim_world_create(&world, 0, "1g.5gb", 1));
	refused(sim_world_destroy(&world, 0, "1g.5gb@1"), -EBUSY, "process 8");
}

/* --- AMD --- */

#define MI300X_NODE                                                                   \
	NODE("{model: MI300X, count: 2, hive: a}, {model: MI300X, hive: b}, {model: " \
	     "MI300A}")

static void compute_modes_go_with_the_memory_mode(void **state)
{
	const struct clv_node_device *device;

	open_node(MI300X_NODE);
	device = sim_world_device(&world, 0);
	assert_true(device->info.memory_bytes == 192 * GI);
	assert_int_equal(device->xcp.compute_available,
		1 << CLV_SPX | 1 << CLV_DPX | 1 << CLV_QPX | 1 << CLV_CPX);
	assert_int_equal(device->n_partitions, 0);
	works(sim_world_compute(&world, 0, CLV_CPX));
	assert_int_equal(device->scheme, CLV_SCHEME_XCP);
	assert_int_equal(device->n_partitions, 8);
	assert_string_equal(device->partitions[7].name, "gpu0/CPX/NPS1@7");
	assert_int_equal(device->partitions[7].memory_part, -1);
	assert_string_equal(device->partitions[7].address, "renderD135");
	assert_int_equal(device->partitions[7].compute_units, 38);
	assert_true(device->partitions[7].memory_bytes == 24 * GI);
	refused(sim_world_compute(&world, 0, CLV_TPX), -EINVAL,
		"MI300X has no mode TPX: it has SPX, DPX, QPX, CPX");
	works(sim_world_compute(&world, 3, CLV_TPX));
	assert_int_equal(sim_world_device(&world, 3)->n_partitions, 3);
}

/* A driver that shows other dies than the model has, and a device that is not divided. */
static void io_dies_are_those_of_the_model(void **state)
{
	struct clv_partition partition = {.start = 3};
	struct clv_node_device device = {.scheme = CLV_SCHEME_XCP,
		.xcp = {.model = clv_xcp_model_find("MI300X"),
			.dies = 8,
			.compute = CLV_CPX}};

	assert_int_equal(clv_partition_io_die(&device, &partition), 1);
	device.xcp.dies = 4;
	assert_int_equal(clv_partition_io_die(&device, &partition), -1);
	device.xcp.dies = 8;
	device.xcp.model = NULL;
	assert_int_equal(clv_partition_io_die(&device, &partition), -1);
	device.xcp.model = clv_xcp_model_find("MI300X");
	device.scheme = CLV_SCHEME_VF;
	assert_int_equal(clv_partition_io_die(&device, &partition), -1);
}

static void a_memory_mode_is_a_wish_until_the_reload(void **state)
{
	const struct clv_node_device *device;

	open_node(MI300X_NODE);
	works(sim_world_memory(&world, 0, CLV_NPS4));
	works(sim_world_look(&world));
	assert_int_equal(sim_world_device(&world, 0)->xcp.requested_memory, CLV_NPS4);
	assert_int_equal(sim_world_device(&world, 1)->xcp.requested_memory, CLV_NPS4);
	assert_int_equal(sim_world_device(&world, 2)->xcp.requested_memory, 0);
	assert_int_equal(sim_world_device(&world, 0)->xcp.memory, CLV_NPS1);
	/* The driver ignores a request for the current mode, and keeps the older one. */
	works(sim_world_memory(&world, 1, CLV_NPS1));
	assert_int_equal(sim_world_device(&world, 1)->xcp.requested_memory, CLV_NPS4);
	works(sim_world_compute(&world, 2, CLV_QPX));

	works(sim_world_reload(&world, 1));
	works(sim_world_look(&world));
	assert_int_equal(sim_world_device(&world, 0)->xcp.memory, CLV_NPS4);
	assert_int_equal(sim_world_device(&world, 0)->xcp.requested_memory, 0);
	assert_int_equal(sim_world_device(&world, 0)->xcp.compute, CLV_CPX);
	/* Two of eight partitions in each of four parts of the memory, on its I/O die. */
	device = sim_world_device(&world, 0);
	for (int32_t i = 0; i < 8; i++) {
		assert_int_equal(device->partitions[i].memory_part, i / 2);
		assert_int_equal(
			clv_partition_io_die(device, &device->partitions[i]), i / 2);
	}
	assert_int_equal(sim_world_device(&world, 2)->xcp.memory, CLV_NPS1);
	assert_int_equal(sim_world_device(&world, 2)->xcp.compute, CLV_SPX);
	refused(sim_world_compute(&world, 0, CLV_SPX), -EINVAL,
		"NPS4 cannot be used with SPX on MI300X: SPX allows NPS1");
	works(sim_world_compute(&world, 0, CLV_QPX));

	works(sim_world_memory(&world, 0, CLV_NPS2));
	works(sim_world_reload(&world, 0));
	assert_int_equal(sim_world_device(&world, 0)->xcp.compute, CLV_DPX);
	works(sim_world_memory(&world, 0, CLV_NPS1));
	works(sim_world_reload(&world, 0));
	assert_int_equal(sim_world_device(&world, 0)->xcp.compute, CLV_SPX);
	refused(sim_world_memory(&world, 0, CLV_NPS8), -EINVAL,
		"MI300X has no memory mode NPS8: it has NPS1, NPS2, NPS4");
}

static void a_user_of_any_amd_device_keeps_the_driver(void **state)
{
	open_node(NODE("{model: MI300X, count: 2}") "holders: [{on: gpu1/DPX/NPS1@1, "
						    "process: exporter, pid: 3}]\n");
	works(sim_world_reload(&world, 0));
	works(sim_world_compute(&world, 1, CLV_DPX));
	refused(sim_world_compute(&world, 1, CLV_SPX), -EBUSY,
		"gpu1/DPX/NPS1@1 is used by process 3 (exporter)");
	works(sim_world_compute(&world, 0, CLV_CPX));
	works(sim_world_memory(&world, 0, CLV_NPS4));
	refused(sim_world_reload(&world, 0), -EBUSY, "gpu1/DPX/NPS1@1 is used by");
	assert_int_equal(sim_world_device(&world, 0)->xcp.memory, CLV_NPS1);
}

/* --- Virtual functions --- */

static void their_number_changes_from_and_to_none(void **state)
{
	const struct clv_node_device *device;

	open_node(NODE("{model: Flex 170}") "holders: [{on: \"gpu0/vf:4@2\", text: "
					    "machine desk-1}]\n");
	device = sim_world_device(&world, 0);
	assert_true(device->vf.is_capable && device->vf.total == 16);
	refused(sim_world_vf_count(&world, 0, 17), -ERANGE, "at most 16");
	works(sim_world_vf_count(&world, 0, 2));
	assert_int_equal(device->scheme, CLV_SCHEME_VF);
	assert_true(device->vf.items[1].quota.memory_bytes == 8064 * MI);
	assert_int_equal(device->vf.items[1].quota.doorbells, 120);
	refused(sim_world_vf_count(&world, 0, 4), -EBUSY,
		"gpu0 has 2 virtual functions: their number can only be changed from 0");
	works(sim_world_vf_count(&world, 0, 0));
	works(sim_world_vf_count(&world, 0, 4));
	assert_string_equal(device->partitions[1].name, "gpu0/vf:4@2");
	assert_string_equal(device->partitions[1].address, "0000:11:00.2");
	assert_string_equal(device->vf.items[1].driver, "i915");
	assert_int_equal(device->vf.items[1].holders.n, 1);
	refused(sim_world_vf_count(&world, 0, 0), -EBUSY, "used by machine desk-1");
	refused(sim_world_vf_quota(&world, 0, 2, (struct clv_vf_quota){.contexts = 1}),
		-EBUSY, "used by machine desk-1");
	works(sim_world_vf_quota(&world, 0, 1, (struct clv_vf_quota){.contexts = 1}));
}

static void quotas_are_aligned_and_summed(void **state)
{
	const struct clv_vf *vf;

	open_node(NODE("{model: Flex 170}"));
	works(sim_world_vf_count(&world, 0, 4));
	vf = sim_world_device(&world, 0)->vf.items;
	works(sim_world_vf_quota(&world, 0, 1,
		(struct clv_vf_quota){.memory_bytes = 3 * GI + 1,
			.contexts = 1000,
			.exec_quantum_ms = 200000,
			.preempt_timeout_us = 64000,
			.driver = "vfio-pci"}));
	vf = sim_world_device(&world, 0)->vf.items;
	assert_true(vf[0].quota.memory_bytes == 3 * GI + 2 * MI);
	assert_int_equal(vf[0].quota.contexts, 1024);
	assert_int_equal(vf[0].quota.doorbells, 60);
	assert_int_equal(vf[0].quota.exec_quantum_ms, 100000);
	assert_string_equal(vf[0].driver, "vfio-pci");
	refused(sim_world_vf_quota(
			&world, 0, 1, (struct clv_vf_quota){.memory_bytes = 5 * GI}),
		-ENOSPC, "are more than the device has, 16128 MiB without the host's");
	refused(sim_world_vf_quota(&world, 0, 1, (struct clv_vf_quota){.doorbells = 61}),
		-ENOSPC, "241 doorbells for all virtual functions: there are 240");
	refused(sim_world_vf_quota(
			&world, 0, 1, (struct clv_vf_quota){.contexts = 64000}),
		-ENOSPC, "contexts for all virtual functions: there are 65536");
	refused(sim_world_vf_quota(
			&world, 0, 1, (struct clv_vf_quota){.priority = "low"}),
		-ENOTSUP,
		"virtual function 1 of gpu0: the driver (i915) does not support "
		"priority");
	refused(sim_world_vf_quota(&world, 0, 1, (struct clv_vf_quota){.driver = "a b"}),
		-EINVAL, "'a b' is not a name of a driver");
	refused(sim_world_vf_quota(&world, 0, 5, (struct clv_vf_quota){.contexts = 1}),
		-ENODEV, "gpu0 has no virtual function 5: there are 4");
	refused(sim_world_vf_quota(&world, 0, 0, (struct clv_vf_quota){.contexts = 1}),
		-ENODEV, "gpu0 has no virtual function 0");
}

static void quotas_given_before_keep_the_driver_from_giving_any(void **state)
{
	const struct clv_vf *vf;

	open_node(NODE("{model: Arc Pro B60}"));
	works(sim_world_vf_quota(&world, 0, 2,
		(struct clv_vf_quota){.memory_bytes = 4 * GI, .priority = "high"}));
	refused(sim_world_vf_quota(
			&world, 0, 2, (struct clv_vf_quota){.priority = "top"}),
		-EINVAL, "'top' is not a priority");
	works(sim_world_vf_count(&world, 0, 2));
	vf = sim_world_device(&world, 0)->vf.items;
	assert_true(vf[0].quota.memory_bytes == 0);
	assert_true(vf[1].quota.memory_bytes == 4 * GI);
	assert_string_equal(vf[1].quota.priority, "high");
	assert_string_equal(vf[1].driver, "xe");
	works(sim_world_vf_count(&world, 0, 0));
	works(sim_world_vf_count(&world, 0, 2));
	vf = sim_world_device(&world, 0)->vf.items;
	assert_true(vf[0].quota.memory_bytes == 12176 * MI);
}

/* A quota of any kind: the rest might not be enough for the others. */
static void one_quota_given_before_is_enough_for_that(void **state)
{
	static const struct clv_vf_quota given[] = {
		{.doorbells = 7}, {.contexts = 60032}, {.memory_bytes = GI}};
	const struct clv_vf_quota *first, *fifth;

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		open_node(NODE("{model: Flex 170}"));
		works(sim_world_vf_quota(&world, 0, 5, given[i]));
		works(sim_world_vf_count(&world, 0, 16));
		sim_world_reopen(&world);
		first = &sim_world_device(&world, 0)->vf.items[0].quota;
		fifth = &sim_world_device(&world, 0)->vf.items[4].quota;
		assert_memory_equal(first, &(struct clv_vf_quota){0}, sizeof(*first));
		assert_memory_equal(fifth, &given[i], sizeof(*fifth));
		close_node(state);
	}
}

static void types_of_vgpu_are_of_one_size(void **state)
{
	const struct clv_node_device *device;

	open_node(NODE("{model: L40S, sriov: {total: 16, counts: [2, 8], types: [{id: "
		       "\"7\", name: L40S-12Q, memory: 12G, max: 2}, {id: \"8\", name: "
		       "L40S-4Q, memory: 4G}]}}"));
	device = sim_world_device(&world, 0);
	assert_int_equal(device->vf.n_types, 2);
	assert_int_equal(device->vf.counts, 0x82);
	refused(sim_world_vf_count(&world, 0, 4), -EINVAL, "4 virtual functions are not");
	works(sim_world_vf_count(&world, 0, 8));
	assert_true(device->partitions[0].memory_bytes == 0);
	works(sim_world_vf_quota(
		&world, 0, 1, (struct clv_vf_quota){.type = "L40S-12Q"}));
	assert_true(device->partitions[0].memory_bytes == 12 * GI);
	works(sim_world_vf_quota(&world, 0, 2, (struct clv_vf_quota){.type = "7"}));
	assert_string_equal(device->vf.items[1].quota.type, "L40S-12Q");
	refused(sim_world_vf_quota(
			&world, 0, 3, (struct clv_vf_quota){.type = "L40S-4Q"}),
		-ENOSPC, "L40S-4Q and L40S-12Q have different sizes");
	refused(sim_world_vf_quota(
			&world, 0, 3, (struct clv_vf_quota){.type = "L40S-12Q"}),
		-ENOSPC, "a GPU has at most 2 of the type L40S-12Q");
	refused(sim_world_vf_quota(&world, 0, 3, (struct clv_vf_quota){.type = "A"}),
		-EINVAL, "there is no type 'A'");
	refused(sim_world_vf_count(&world, 0, 0), -EBUSY,
		"virtual function 1 of gpu0 is a vGPU (L40S-12Q)");
	works(sim_world_vf_quota(&world, 0, 1, (struct clv_vf_quota){.type = "none"}));
	works(sim_world_vf_quota(&world, 0, 2, (struct clv_vf_quota){.type = "none"}));
	assert_string_equal(device->vf.items[1].quota.type, "");
	refused(sim_world_vf_quota(
			&world, 0, 3, (struct clv_vf_quota){.driver = "vfio-pci"}),
		-ENOTSUP, "the driver (vgpu-vfio) does not support driver");
	refused(sim_world_vf_quota(
			&world, 0, 3, (struct clv_vf_quota){.memory_bytes = GI}),
		-ENOTSUP, "does not support memory");
}

static void types_of_vgpu_may_mix_where_the_file_says_so(void **state)
{
	open_node(NODE("{model: L40S, sriov: {total: 4, mixed: true, types: [{id: \"7\", "
		       "name: NVIDIA L40S-12Q, memory: 12G}, {id: \"8\", name: NVIDIA "
		       "L40S-4Q, memory: 4G}]}}"));
	works(sim_world_vf_count(&world, 0, 4));
	works(sim_world_vf_quota(
		&world, 0, 1, (struct clv_vf_quota){.type = "L40S-12Q"}));
	works(sim_world_vf_quota(&world, 0, 2, (struct clv_vf_quota){.type = "l40s-4q"}));
	assert_true(sim_world_device(&world, 0)->vf.is_mixed);
	assert_string_equal(
		sim_world_device(&world, 0)->vf.items[1].quota.type, "NVIDIA L40S-4Q");
}

static void plain_functions_divide_the_memory(void **state)
{
	open_node(NODE(
		"{model: MI300X, sriov: {total: 8, counts: [1, 8], framework: pci}}"));
	works(sim_world_vf_count(&world, 0, 8));
	assert_true(sim_world_device(&world, 0)->partitions[0].memory_bytes == 24 * GI);
	assert_string_equal(sim_world_device(&world, 0)->vf.items[0].driver, "amdgpu");
	refused(sim_world_compute(&world, 0, CLV_CPX), -EBUSY,
		"gpu0 is divided already (vf), and a device is divided in one way at a "
		"time");
	works(sim_world_vf_count(&world, 0, 0));
	works(sim_world_compute(&world, 0, CLV_CPX));
	refused(sim_world_vf_count(&world, 0, 8), -EBUSY, "divided already (xcp)");
}

/* --- Cores --- */

static void sets_of_processors_are_disjoint(void **state)
{
	const struct clv_partition *partition;

	open_node(NODE("{model: CPU, cores: 0-7, memory: 16G}") "holders: [{on: "
								"\"gpu0/cores:1@7\", "
								"pid: 5}]\n");
	works(sim_world_create_cores(&world, 0, "cores:3", "0-1,4"));
	partition = sim_world_find(&world, 0, "cores:3@0");
	assert_string_equal(partition->address, "0-1,4");
	assert_int_equal(partition->size, 3);
	assert_true(partition->memory_bytes == 6 * GI);
	refused(sim_world_create_cores(&world, 0, "cores:2", "4-5"), -ENOSPC,
		"gpu0: the processors 4 are in another partition");
	refused(sim_world_create_cores(&world, 0, "cores:1", "8"), -EINVAL,
		"the device lacks some of the processors 8");
	refused(sim_world_create_cores(&world, 0, "cores:2", "5"), -EINVAL,
		"1 processors are named for a partition of cores:2");
	refused(sim_world_create_cores(&world, 0, "cores:1", "x"), -EINVAL,
		"'x' is not a list of processors");
	works(sim_world_create_cores(&world, 0, "cores:1", "7"));
	refused(sim_world_destroy(&world, 0, "cores:1@7"), -EBUSY, "used by process 5");
	works(sim_world_destroy(&world, 0, "cores:3@0"));
	refused(sim_world_destroy(&world, 0, "cores:3@0"), -ENODEV,
		"there is no partition gpu0/cores:3@0");
}

/* --- Injected failures --- */

static void the_call_that_is_to_fail_fails_once(void **state)
{
	open_node(NODE("{model: A30-24GB, fail: {create: 2, mig-mode: 1}}"));
	refused(sim_world_mig(&world, 0, true), -EIO,
		"the simulated driver fails: the node's file sets call 1 of");
	works(sim_world_mig(&world, 0, true));
	works(sim_world_create(&world, 0, "1g.6gb", 0));
	sim_world_reopen(&world);
	refused(sim_world_create(&world, 0, "1g.6gb", 1), -EIO, "call 2 of 'create'");
	assert_int_equal(sim_world_device(&world, 0)->n_partitions, 1);
	sim_world_reopen(&world);
	works(sim_world_create(&world, 0, "1g.6gb", 1));
}

#define TEST(name) cmocka_unit_test_teardown(name, close_node)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(uuids_follow_the_standard),
		TEST(processors_are_read_and_written),
		TEST(without_a_file_there_is_no_node),
		TEST(errors_in_a_node_are_reported),
		TEST(devices_are_as_their_file_says),
		TEST(an_indivisible_device_names_an_alternative),
		TEST(mig_mode_is_pending_until_the_reset),
		TEST(mig_mode_comes_at_once_from_hopper_on),
		TEST(a_reload_of_the_driver_takes_instances_and_modes),
		TEST(instances_take_exact_places),
		TEST(a_fourth_2g_is_refused),
		TEST(the_same_instance_has_the_same_uuid),
		TEST(compute_instances_divide_an_instance),
		TEST(a_part_that_fills_its_instance_is_destroyed),
		TEST(what_is_used_is_not_destroyed),
		TEST(compute_modes_go_with_the_memory_mode),
		TEST(io_dies_are_those_of_the_model),
		TEST(a_memory_mode_is_a_wish_until_the_reload),
		TEST(a_user_of_any_amd_device_keeps_the_driver),
		TEST(their_number_changes_from_and_to_none),
		TEST(quotas_are_aligned_and_summed),
		TEST(quotas_given_before_keep_the_driver_from_giving_any),
		TEST(one_quota_given_before_is_enough_for_that),
		TEST(types_of_vgpu_are_of_one_size),
		TEST(types_of_vgpu_may_mix_where_the_file_says_so),
		TEST(plain_functions_divide_the_memory),
		TEST(sets_of_processors_are_disjoint),
		TEST(the_call_that_is_to_fail_fails_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
