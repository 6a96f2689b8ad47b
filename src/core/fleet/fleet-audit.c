/* SPDX-License-Identifier: Apache-2.0 */
/* Checks all counters of a fleet against its leases. */
#include "core/fleet/fleet-internal.h"
#include "core/fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

/* Copies of the devices of the node with everything free, from which its leases are then
 * taken. */
static void count_devices(const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, struct clv_fleet_device *devices)
{
	for (uint32_t i = 0; i < node->n_devices; i++) {
		devices[i] = fleet->devices[node->first_device + i];
		devices[i].free_milli = CLV_PLACE_WHOLE;
		devices[i].free_mib = devices[i].memory_mib;
		devices[i].units = 0;
		memset(devices[i].n_leases, 0, sizeof(devices[i].n_leases));
	}
}

static const char *take_partition(const struct clv_fleet *fleet,
	struct clv_fleet_device *device, const struct clv_fleet_lease *lease)
{
	const struct clv_mig_model *model = fleet->schemes[device->scheme - 1].model;
	unsigned bits = (1u << model->profiles[lease->profile - 1].size) - 1;
	uint16_t units = (uint16_t)(bits << lease->start);

	if (device->units & units)
		return "two partitions overlap";
	device->units |= units;
	device->free_milli =
		(uint16_t)(CLV_PLACE_WHOLE *
			   (model->grid - (unsigned)__builtin_popcount(device->units)) /
			   model->grid);
	device->free_mib =
		(uint32_t)((uint64_t)device->memory_mib *
			   (model->grid - (unsigned)__builtin_popcount(device->units)) /
			   model->grid);
	return NULL;
}

static const char *take_devices(const struct clv_fleet *fleet,
	struct clv_fleet_device *devices, const struct clv_fleet_lease *lease)
{
	for (uint64_t left = lease->devices; left; left &= left - 1) {
		struct clv_fleet_device *device = &devices[__builtin_ctzll(left)];
		const char *wrong;

		device->n_leases[lease->class]++;
		if (lease->profile) {
			wrong = take_partition(fleet, device, lease);
			if (wrong)
				return wrong;
			continue;
		}
		if (lease->milli > device->free_milli)
			return "a device's compute is given twice";
		if (device->memory_mib && lease->device_mib > device->free_mib)
			return "a device's memory is given twice";
		device->free_milli = (uint16_t)(device->free_milli - lease->milli);
		if (device->memory_mib)
			device->free_mib -= lease->device_mib;
	}
	return NULL;
}

static const char *audit_node(const struct clv_fleet *fleet, uint32_t number,
	uint32_t *n_held, uint64_t *held_milli)
{
	const struct clv_fleet_node *node = &fleet->nodes[number];
	struct clv_fleet_device devices[CLV_PLACE_DEVICES_MAX];
	uint64_t cpu_milli = 0, memory_mib = 0, free_milli = 0;

	count_devices(fleet, node, devices);
	for (uint32_t i = node->first_lease; i != CLV_FLEET_NONE;
		i = fleet->leases[i].next) {
		const struct clv_fleet_lease *lease = &fleet->leases[i];
		const char *wrong = take_devices(fleet, devices, lease);

		if (wrong)
			return wrong;
		if (!lease->is_held || lease->node != number)
			return "a lease is linked where it is not";
		cpu_milli += lease->cpu_milli;
		memory_mib += lease->memory_mib;
		++*n_held;
	}
	if (memcmp(devices, &fleet->devices[node->first_device],
		    node->n_devices * sizeof(*devices)) != 0)
		return "what is free on a device is not what its leases leave";
	if (cpu_milli + node->free_cpu_milli != node->cpu_milli)
		return "a node's processors do not add up";
	if (memory_mib + node->free_memory_mib != node->memory_mib)
		return "a node's memory does not add up";
	for (uint32_t i = 0; i < node->n_devices; i++)
		free_milli += devices[i].free_milli;
	if (free_milli != node->free_milli)
		return "what is free on a node is not what its devices have";
	*held_milli += node->n_devices * CLV_PLACE_WHOLE - free_milli;
	return NULL;
}

const char *clv_fleet_audit(const struct clv_fleet *fleet)
{
	uint64_t held_milli = 0, watts = 0;
	uint32_t n_held = 0;

	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		const char *wrong = audit_node(fleet, i, &n_held, &held_milli);

		if (wrong)
			return wrong;
		watts += clv_fleet_watts_of(fleet, &fleet->nodes[i]);
	}
	if (n_held != fleet->n_held)
		return "the number of leases is wrong";
	if (watts != fleet->watts)
		return "the power is wrong";
	return held_milli == fleet->held_milli ? NULL
					       : "the compute that is held is wrong";
}
