/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations on each node that is given as an argument. A refused operation leaves
 * the state unchanged; a completed one obeys the rules of core and is visible to the next
 * process. */
#include "sim-world.h"

#include "base/cleanup.h"
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

#define N_STEPS 200
#define STATE_MAX (1u << 18)

static struct sim_world world;
static unsigned int seed;
static unsigned int n_done, n_refused;

static uint32_t pick(uint32_t n)
{
	return n ? (uint32_t)rand_r(&seed) % n : 0;
}

/* --- The parameters of a step: mostly possible ones --- */

static int try_mig(size_t index)
{
	return sim_world_mig(&world, index, pick(4) > 0);
}

static int try_compute(size_t index)
{
	return sim_world_compute(
		&world, index, (enum clv_compute_mode)pick(_CLV_COMPUTE_MODE_MAX));
}

static int try_memory(size_t index)
{
	return sim_world_memory(&world, index, (enum clv_memory_mode)(1u << pick(4)));
}

static int try_reload(size_t index)
{
	return sim_world_reload(&world, index);
}

static int try_vf_count(size_t index)
{
	return sim_world_vf_count(&world, index,
		pick(2) * pick(sim_world_device(&world, index)->vf.total + 2));
}

static int try_vf_quota(size_t index)
{
	static const struct clv_vf_quota quotas[] = {
		{.memory_bytes = 700000000},
		{.exec_quantum_ms = 32, .preempt_timeout_us = 64000},
		{.contexts = 500, .doorbells = 7},
		{.contexts = 60000},
		{.priority = "normal"},
		{.driver = "vfio-pci"},
		{.type = "NVIDIA L40S-12Q"},
		{.memory_bytes = UINT64_C(1) << 50},
	};

	return sim_world_vf_quota(
		&world, index, pick(6), quotas[pick(CLV_ARRAY_SIZE(quotas))]);
}

static int create_instance(const struct clv_mig_model *model, size_t index)
{
	const struct clv_mig_profile *profile =
		&model->profiles[pick((uint32_t)model->n_profiles)];

	if (pick(3) == 0)
		return sim_world_create_half(&world, index, profile->name,
			profile->starts[pick(profile->n_starts)]);
	return sim_world_create(&world, index, profile->name, pick(model->grid));
}

static int try_create(size_t index)
{
	const struct clv_node_device *device = sim_world_device(&world, index);
	uint32_t first = pick(device->cores.total + 1);
	char profile[32], cpus[32];

	if (device->mig.model)
		return create_instance(device->mig.model, index);
	snprintf(profile, sizeof(profile), "cores:%u", 1 + pick(2));
	snprintf(cpus, sizeof(cpus), "%u-%u", first, first + pick(2));
	return sim_world_create_cores(&world, index, profile, cpus);
}

/* A partition of the device, if it has one. */
static const struct clv_partition *any_partition(size_t index)
{
	const struct clv_node_device *device = sim_world_device(&world, index);

	if (device->n_partitions == 0)
		return NULL;
	return &device->partitions[pick((uint32_t)device->n_partitions)];
}

static const char *short_name(size_t index, const struct clv_partition *partition)
{
	size_t skip = strlen(sim_world_device(&world, index)->info.name) + 1;

	return partition ? partition->name + skip : "none@0";
}

static int try_create_part(size_t index)
{
	const struct clv_partition *inside = any_partition(index);
	char profile[64], name[80];

	snprintf(profile, sizeof(profile), "%uc.%s", 1 + pick(4),
		inside ? inside->profile : "none");
	snprintf(name, sizeof(name), "%s", short_name(index, inside));
	return sim_world_create_part(&world, index, name, profile, pick(4));
}

static int try_destroy(size_t index)
{
	char name[80];

	snprintf(name, sizeof(name), "%s", short_name(index, any_partition(index)));
	return sim_world_destroy(&world, index, name);
}

static int try_destroy_part(size_t index)
{
	const struct clv_partition *inside = any_partition(index);
	const struct clv_partition *part = inside;
	char owner[80], name[80];

	if (inside && inside->n_parts > 0)
		part = &inside->parts[pick((uint32_t)inside->n_parts)];
	snprintf(owner, sizeof(owner), "%s", short_name(index, inside));
	snprintf(name, sizeof(name), "%s", short_name(index, part));
	return sim_world_destroy_part(&world, index, owner, name);
}

static bool has_mig(const struct clv_node_device *device)
{
	return device->mig.is_capable;
}

static bool has_xcp(const struct clv_node_device *device)
{
	return device->xcp.is_capable;
}

static bool has_vf(const struct clv_node_device *device)
{
	return device->vf.is_capable;
}

static bool has_partitions(const struct clv_node_device *device)
{
	return device->mig.is_on || device->cores.is_capable;
}

static const struct {
	int (*try)(size_t index);
	bool (*is_worth_it)(const struct clv_node_device *device);
} tries[] = {
	{try_mig, has_mig},
	{try_compute, has_xcp},
	{try_memory, has_xcp},
	{try_reload, has_xcp},
	{try_vf_count, has_vf},
	{try_vf_quota, has_vf},
	{try_create, has_partitions},
	{try_create, has_partitions},
	{try_create_part, has_partitions},
	{try_destroy, has_partitions},
	{try_destroy_part, has_partitions},
};

/* One in ten is tried even if it makes no sense. */
static int try_something(size_t index)
{
	for (;;) {
		size_t i = pick(CLV_ARRAY_SIZE(tries));

		if (pick(10) == 0 ||
			tries[i].is_worth_it(sim_world_device(&world, index)))
			return tries[i].try(index);
	}
}

/* --- What must hold --- */

/* A refused call changes only the count of calls and the wished mode. */
static void read_state(char *ret)
{
	FILE *file = fopen(world.state_path, "r");
	char line[8192];
	size_t used = 0;

	ret[0] = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		if (!strstr(line, "mig-pending:") && !strstr(line, "calls:"))
			used += (size_t)snprintf(
				ret + used, STATE_MAX - used, "%s", line);
	}
	assert_true(used < STATE_MAX);
	if (file)
		fclose(file);
}

static void check_error(int r)
{
	assert_int_equal(world.err.code, r);
	assert_true(world.err.msg[0] != '\0');
	assert_null(strchr(world.err.msg, '\n'));
}

static void check_instances(const struct clv_node_device *device)
{
	struct clv_mig_set set = {0};

	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];
		struct clv_mig_instance instance = {
			.profile = (uint8_t)clv_mig_profile_find(
				device->mig.model, partition->profile, NULL),
			.start = (uint8_t)partition->start,
		};

		assert_int_equal(clv_mig_set_add(device->mig.model, &set, instance),
			CLV_MIG_NO_OBSTACLE);
		assert_true(partition->is_incomplete || partition->n_parts > 0 ||
			    partition->uuid[0] != '\0');
	}
}

static void check_names(const struct clv_node_device *device)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *a = &device->partitions[i];

		assert_true(a->memory_bytes <= device->info.memory_bytes);
		assert_true(a->compute_units <= device->info.compute_units);
		for (size_t j = 0; j < i; j++) {
			const struct clv_partition *b = &device->partitions[j];

			assert_string_not_equal(a->name, b->name);
			if (a->uuid[0] != '\0')
				assert_string_not_equal(a->uuid, b->uuid);
		}
	}
}

static void check_device(const struct clv_node_device *device)
{
	check_names(device);
	if (device->mig.is_on)
		check_instances(device);
	if (device->xcp.is_capable)
		assert_int_equal(clv_xcp_check(device->xcp.model, device->xcp.compute,
					 (enum clv_memory_mode)device->xcp.memory, NULL),
			0);
	if (device->scheme == CLV_SCHEME_VF)
		assert_int_equal(device->n_partitions, device->vf.n);
}

/* --- The walk --- */

static void take_step(char *before, char *after)
{
	size_t index = pick((uint32_t)world.node.n_devices);
	int r;

	read_state(before);
	r = try_something(index);
	sim_world_reopen(&world);
	for (size_t i = 0; i < world.node.n_devices; i++)
		check_device(&world.node.devices[i]);
	if (r == 0) {
		n_done++;
		return;
	}
	n_refused++;
	check_error(r);
	read_state(after);
	if (before[0] != '\0')
		assert_string_equal(before, after);
}

static void walk(void **state)
{
	char *before = malloc(STATE_MAX), *after = malloc(STATE_MAX);

	assert_true(before && after);
	sim_world_make_from(&world, *state);
	if (sim_world_open(&world) < 0 || sim_world_look(&world) < 0)
		fail_msg("%s", world.err.msg);
	n_done = n_refused = 0;
	seed = 1; /* the same sequence in any order of the nodes */
	for (unsigned int i = 0; i < N_STEPS; i++)
		take_step(before, after);
	print_message(
		"# %s: %u done, %u refused\n", (const char *)*state, n_done, n_refused);
	assert_true(n_done > 0 && n_refused > 0);
	sim_world_remove(&world);
	free(before);
	free(after);
}

/* Creates the smallest instance of a GPU. */
static void check_mig(const struct clv_gpu *gpu)
{
	const struct clv_mig_profile *smallest = &gpu->mig->profiles[0];
	const struct clv_partition *partition;
	char name[64];

	assert_int_equal(sim_world_mig(&world, 0, true), 0);
	if (sim_world_create(&world, 0, smallest->name, smallest->starts[0]) < 0)
		fail_msg("%s: %s", gpu->name, world.err.msg);
	snprintf(name, sizeof(name), "%s@%u", smallest->name, smallest->starts[0]);
	partition = sim_world_find(&world, 0, name);
	assert_non_null(partition);
	assert_true(partition->compute_units > 0);
	assert_true(partition->memory_bytes > 0);
	assert_true(partition->memory_bytes < clv_gpu_memory_bytes(gpu));
}

/* Every model whose profiles are in the table of GPUs can be simulated. */
static void test_models(void **state)
{
	const struct clv_gpu *gpu;
	char text[160];

	for (size_t i = 0; (gpu = clv_gpu_at(i)); i++) {
		if (!gpu->mig && !gpu->xcp)
			continue;
		snprintf(text, sizeof(text),
			"version: 1\nname: one\ndevices:\n  - {model: %s}\n", gpu->name);
		sim_world_make(&world, text, false);
		if (sim_world_open(&world) < 0 || sim_world_look(&world) < 0)
			fail_msg("%s: %s", gpu->name, world.err.msg);
		if (gpu->mig)
			check_mig(gpu);
		sim_world_remove(&world);
	}
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[32] = {cmocka_unit_test(test_models)};
	int n = argc < 32 ? argc : 32;

	for (int i = 1; i < n; i++)
		tests[i] = (struct CMUnitTest){
			.name = argv[i],
			.test_func = walk,
			.initial_state = argv[i],
		};
	return _cmocka_run_group_tests("nodes", tests, (size_t)n, NULL, NULL) || n == 1;
}
