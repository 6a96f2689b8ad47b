/* SPDX-License-Identifier: Apache-2.0 */
/* Makes devices of the partitions that a survey has found. */
#include "agent/device/partitions.h"

#include "agent/device/cordons.h"
#include "agent/device/devices.h"
#include "agent/record/agent.h"
#include "base/log.h"
#include "core/device/vgpu.h"

#include <stdio.h>
#include <string.h>

/* The UUID by which leases refer to the partition: the driver's, or else the device's
 * UUID with the rest of the partition's name. */
static void make_uuid(const struct clv_node_device *device,
	const struct clv_partition *partition, char *ret, size_t ret_bytes)
{
	const char *slash = strchr(partition->name, '/');

	if (partition->uuid[0] != '\0')
		snprintf(ret, ret_bytes, "%s", partition->uuid);
	else
		snprintf(ret, ret_bytes, "%s%s", device->info.uuid, slash ? slash : "");
}

static void make_info(const struct clv_agent_device *whole,
	const struct clv_node_device *device, const struct clv_partition *partition,
	struct clv_device *ret)
{
	*ret = whole->info;
	make_uuid(device, partition, ret->uuid, sizeof(ret->uuid));
	snprintf(ret->name, sizeof(ret->name), "%s", partition->name);
	snprintf(ret->parent, sizeof(ret->parent), "%s", whole->info.uuid);
	snprintf(ret->scheme, sizeof(ret->scheme), "%s",
		clv_scheme_to_string(device->scheme));
	snprintf(ret->profile, sizeof(ret->profile), "%s", partition->profile);
	snprintf(ret->address, sizeof(ret->address), "%s", partition->address);
	memcpy(ret->visible, partition->visible, sizeof(ret->visible));
	ret->memory_bytes = partition->memory_bytes;
	if (ret->max_allocation_bytes > ret->memory_bytes)
		ret->max_allocation_bytes = ret->memory_bytes;
	ret->compute_units = partition->compute_units;
}

/* No program can use an incomplete partition, or one without memory.  A virtual machine
 * can use a function whose memory its driver does not report; a vGPU without a type is
 * none. */
static bool is_usable(
	const struct clv_node_device *device, const struct clv_partition *partition)
{
	if (partition->is_incomplete)
		return false;
	return partition->memory_bytes > 0 ||
	       (device->scheme == CLV_SCHEME_VF &&
		       !clv_vgpu_has_types(device->vf.framework));
}

static void take_partition(struct clv_agent *agent, struct clv_agent_device *whole,
	const struct clv_node_device *device, const struct clv_partition *partition)
{
	struct clv_agent_device *part;
	struct clv_device info;

	if (!is_usable(device, partition))
		return;
	make_info(whole, device, partition, &info);
	part = clv_devices_add(agent->devices, &info);
	if (!part) {
		clv_log_error(0, "%s is left out: too many devices", partition->name);
		return;
	}
	part->info = info;
	part->parent = whole;
	part->is_present = true;
	part->numa_node = partition->numa_node;
	part->io_die = clv_partition_io_die(device, partition);
}

static void take_partitions(struct clv_agent *agent, struct clv_agent_device *whole,
	const struct clv_node_device *device)
{
	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];

		if (partition->n_parts == 0)
			take_partition(agent, whole, device, partition);
		for (size_t j = 0; j < partition->n_parts; j++)
			take_partition(agent, whole, device, &partition->parts[j]);
	}
}

/* A GPU in MIG mode is divided even without instances: programs cannot use the whole. */
static bool is_divided(const struct clv_node_device *device)
{
	return device->n_partitions > 0 || device->mig.is_on;
}

static void take_device(struct clv_agent *agent, const struct clv_node_device *device)
{
	struct clv_agent_device *whole = clv_devices_add(agent->devices, &device->info);

	if (!whole)
		return;
	whole->is_present = true;
	whole->numa_node = device->numa_node;
	memcpy(whole->info.pci_address, device->pci_address,
		sizeof(whole->info.pci_address));
	memcpy(whole->info.visible, device->info.visible, sizeof(whole->info.visible));
	whole->info.generation = device->info.generation;
	whole->is_divided = is_divided(device);
	take_partitions(agent, whole, device);
}

void clv_partitions_take_node(struct clv_agent *agent, const struct clv_node *node)
{
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (device->parent || device->info.parent[0] != '\0' ||
			strcmp(device->info.backend, "opencl") != 0) {
			device->is_present = false;
			/* The number may be another device's by now. */
			device->info.visible[0] = '\0';
		}
		device->is_divided = false;
	}
	for (size_t i = 0; i < node->n_devices; i++)
		take_device(agent, &node->devices[i]);
	clv_cordons_restore(agent);
}
