/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the partitions of a simulated device as its vendor's driver would. */
#include "backend/sim/sim.h"

#include "backend/sim/uuid.h"
#include "base/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RENDER_NODES_BEGIN 128
#define RENDER_NODES_EACH 8

static uint64_t part_of(uint64_t whole, uint64_t n, uint64_t of)
{
	return whole / of * n;
}

/* --- MIG --- */

static uint32_t instance_units(
	const struct clv_sim_device *device, const struct clv_mig_profile *profile)
{
	if (profile->multiprocessors)
		return profile->multiprocessors;
	return device->compute_units * profile->slices / device->mig->slices;
}

/* An instance that is created again at the same place gets the same UUID. */
static void make_uuid(const struct clv_sim_device *device,
	const struct clv_mig_profile *profile, uint32_t start, struct clv_sim_part part,
	struct clv_partition *ret)
{
	char name[160], uuid[CLV_SIM_UUID_TEXT];

	snprintf(name, sizeof(name), "%s/%s@%u/%uc@%u", device->uuid, profile->name,
		start, part.size, part.start);
	clv_sim_uuid(clv_sim_uuid_space, name, uuid);
	snprintf(ret->uuid, sizeof(ret->uuid), "MIG-%s", uuid);
}

static int show_part(const struct clv_sim_device *device,
	const struct clv_mig_profile *profile, struct clv_sim_part from,
	struct clv_partition *owner)
{
	struct clv_partition *part = clv_node_add_part(owner);

	if (!part)
		return -ENOMEM;
	clv_part_make_name(owner->name, from.size, from.start, part->name);
	snprintf(
		part->profile, sizeof(part->profile), "%uc.%s", from.size, profile->name);
	part->driver_id = from.start;
	part->start = from.start;
	part->size = from.size;
	part->compute_units = owner->compute_units * from.size / profile->slices;
	part->memory_bytes = owner->memory_bytes; /* shared by all parts */
	make_uuid(device, profile, owner->start, from, part);
	return 0;
}

static int show_parts(const struct clv_sim_device *device,
	const struct clv_sim_instance *instance, struct clv_partition *ret)
{
	const struct clv_mig_profile *profile = &device->mig->profiles[instance->profile];
	int r = 0;

	ret->is_incomplete = instance->n_parts == 0;
	if (clv_sim_instance_is_whole(device->mig, instance)) {
		make_uuid(device, profile, instance->start, instance->parts[0], ret);
		return 0;
	}
	for (size_t i = 0; i < instance->n_parts && r == 0; i++)
		r = show_part(device, profile, instance->parts[i], ret);
	return r;
}

static int show_instance(const struct clv_sim_device *device,
	const struct clv_sim_instance *instance, struct clv_node_device *ret)
{
	const struct clv_mig_profile *profile = &device->mig->profiles[instance->profile];
	struct clv_partition *partition = clv_node_add_partition(ret);

	if (!partition)
		return -ENOMEM;
	clv_partition_make_name(
		ret->info.name, profile->name, instance->start, partition->name);
	snprintf(partition->profile, sizeof(partition->profile), "%s", profile->name);
	/* The id is the index in a binary tree whose root is the whole GPU. */
	partition->driver_id =
		device->mig->grid / profile->size - 1u + instance->start / profile->size;
	partition->start = instance->start;
	partition->size = profile->size;
	partition->compute_units = instance_units(device, profile);
	partition->memory_bytes =
		clv_mig_profile_memory(device->mig, profile, device->memory_bytes);
	return show_parts(device, instance, partition);
}

static int show_instances(
	const struct clv_sim_device *device, struct clv_node_device *ret)
{
	int r = 0;

	for (size_t i = 0; i < device->state.n_instances && r == 0; i++)
		r = show_instance(device, &device->state.instances[i], ret);
	return r;
}

/* --- Other schemes --- */

static struct clv_partition *add(
	struct clv_node_device *ret, const char *profile, uint32_t start, uint32_t size)
{
	struct clv_partition *partition = clv_node_add_partition(ret);

	if (!partition)
		return NULL;
	clv_partition_make_name(ret->info.name, profile, start, partition->name);
	snprintf(partition->profile, sizeof(partition->profile), "%s", profile);
	partition->driver_id = start;
	partition->start = start;
	partition->size = size;
	return partition;
}

static int show_accelerators(
	const struct clv_sim_device *device, struct clv_node_device *ret)
{
	const struct clv_sim_state *state = &device->state;
	unsigned int n = clv_xcp_devices(state->compute, device->xcp->dies);
	char profile[CLV_PROFILE_NAME_MAX];

	snprintf(profile, sizeof(profile), "%s/%s",
		clv_compute_mode_to_string(state->compute),
		clv_memory_mode_to_string((enum clv_memory_mode)state->memory));
	for (unsigned int i = 0; i < n; i++) {
		struct clv_partition *partition = add(ret, profile, i, 1);

		if (!partition)
			return -ENOMEM;
		partition->compute_units = device->compute_units / n;
		partition->memory_bytes = device->memory_bytes / n;
		partition->memory_part = clv_xcp_memory_part(state->compute,
			(enum clv_memory_mode)state->memory, device->xcp->dies, i);
		snprintf(partition->address, sizeof(partition->address), "renderD%u",
			RENDER_NODES_BEGIN + RENDER_NODES_EACH * device->index + i);
	}
	return 0;
}

static uint64_t function_memory_bytes(
	const struct clv_sim_device *device, const struct clv_vf_quota *quota)
{
	const struct clv_vgpu_type *type = clv_sim_type_find(device, quota->type);

	if (type)
		return type->memory_bytes;
	if (device->vf_framework == CLV_VF_PLAIN)
		return device->memory_bytes / device->state.vf_count;
	return quota->memory_bytes;
}

/* Virtual functions follow the device on its bus, eight for each PCI device number. */
void clv_sim_vf_address(
	const struct clv_sim_device *device, uint32_t number, char ret[16])
{
	snprintf(ret, 16, "%.8s%02x.%x", device->pci_address, (number >> 3) & 0x1f,
		number & 7);
}

static int show_functions(
	const struct clv_sim_device *device, struct clv_node_device *ret)
{
	char profile[CLV_PROFILE_NAME_MAX];

	snprintf(profile, sizeof(profile), "vf:%u", device->state.vf_count);
	for (uint32_t i = 1; i <= device->state.vf_count; i++) {
		struct clv_partition *partition = add(ret, profile, i, 1);

		if (!partition)
			return -ENOMEM;
		/* Functions time-slice all compute units. */
		partition->compute_units = device->compute_units;
		partition->memory_bytes =
			function_memory_bytes(device, &device->state.vf[i - 1]);
		clv_sim_vf_address(device, i, partition->address);
	}
	return 0;
}

static int show_set(const struct clv_sim_device *device, const cpu_set_t *cpus,
	struct clv_node_device *ret)
{
	uint32_t n = (uint32_t)CPU_COUNT(cpus);
	char profile[CLV_PROFILE_NAME_MAX];
	struct clv_partition *partition;

	snprintf(profile, sizeof(profile), "cores:%u", n);
	partition = add(ret, profile, clv_cpus_first(cpus), n);
	if (!partition)
		return -ENOMEM;
	partition->compute_units = n;
	partition->memory_bytes = part_of(device->memory_bytes, n, device->compute_units);
	clv_cpus_format(cpus, partition->address, sizeof(partition->address));
	return 0;
}

static int show_sets(const struct clv_sim_device *device, struct clv_node_device *ret)
{
	int r = 0;

	for (size_t i = 0; i < device->state.n_sets && r == 0; i++)
		r = show_set(device, &device->state.sets[i], ret);
	return r;
}

static int (*const show[_CLV_SCHEME_MAX])(
	const struct clv_sim_device *device, struct clv_node_device *ret) = {
	[CLV_SCHEME_MIG] = show_instances,
	[CLV_SCHEME_XCP] = show_accelerators,
	[CLV_SCHEME_VF] = show_functions,
	[CLV_SCHEME_CORES] = show_sets,
};

int clv_sim_fill_partitions(
	const struct clv_sim_device *device, struct clv_node_device *ret)
{
	return show[ret->scheme] ? show[ret->scheme](device, ret) : 0;
}
