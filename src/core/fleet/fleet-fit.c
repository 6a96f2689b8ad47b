/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of requests: validity, and fit on nodes and devices. */
#include "core/fleet/fleet-fit.h"

#include "base/error.h"
#include "core/fleet/fleet.h"

#include <errno.h>

int clv_fleet_check(const struct clv_fleet *fleet,
	const struct clv_place_request *request, struct clv_error *err)
{
	if (request->milli > CLV_PLACE_WHOLE)
		return clv_error_set(err, -EINVAL,
			"%u thousandths of a device are more than %u: request more "
			"devices",
			request->milli, CLV_PLACE_WHOLE);
	if (request->n_devices > CLV_PLACE_DEVICES_MAX)
		return clv_error_set(err, -EINVAL, "%u devices: a node has at most %d",
			request->n_devices, CLV_PLACE_DEVICES_MAX);
	if (request->n_devices > 1 && !request->profile && request->milli == 0 &&
		request->device_mib == 0)
		return clv_error_set(err, -EINVAL,
			"%u devices without a share or memory of them",
			request->n_devices);
	if (!request->profile)
		return 0;
	if (request->n_devices != 1 || request->scheme == 0 ||
		request->scheme > fleet->n_schemes ||
		request->profile > fleet->schemes[request->scheme - 1].model->n_profiles)
		return clv_error_set(err, -EINVAL,
			"a profile is one partition of a scheme that the fleet has");
	return 0;
}

uint32_t clv_fleet_profile_milli(
	const struct clv_fleet *fleet, uint8_t scheme, uint8_t profile)
{
	const struct clv_mig_model *model = fleet->schemes[scheme - 1].model;

	return CLV_PLACE_WHOLE * model->profiles[profile - 1].size / model->grid;
}

uint32_t clv_fleet_request_milli(
	const struct clv_fleet *fleet, const struct clv_place_request *request)
{
	if (!request->profile)
		return (uint32_t)request->milli * request->n_devices;
	return clv_fleet_profile_milli(fleet, request->scheme, request->profile);
}

/* Whether the request may have both devices of the node. */
static bool are_near(const struct clv_fleet_device *devices,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	int one, int other)
{
	if (request->same_numa && devices[one].numa != devices[other].numa)
		return false;
	return !request->same_link ||
	       (node->n_linked > 1 && one / node->n_linked == other / node->n_linked);
}

/* Restricts fitting devices to those of one NUMA node, or that NVLink joins: of these
 * sets with enough devices the one with the fewest, so that larger ones stay whole. */
static uint64_t near_each_other(const struct clv_fleet_device *devices,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	uint64_t fitting)
{
	uint64_t best = 0;

	for (uint64_t left = fitting; left;) {
		int first = __builtin_ctzll(left);
		uint64_t near = left & -left;

		for (uint64_t rest = left & (left - 1); rest; rest &= rest - 1) {
			if (are_near(
				    devices, node, request, first, __builtin_ctzll(rest)))
				near |= rest & -rest;
		}
		left &= ~near;
		if (__builtin_popcountll(near) < request->n_devices)
			continue;
		if (!best || __builtin_popcountll(near) < __builtin_popcountll(best))
			best = near;
	}
	return best;
}

uint64_t clv_fit_devices(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request)
{
	const struct clv_fleet_device *devices = &fleet->devices[node->first_device];
	uint64_t fitting = 0;

	for (unsigned i = 0; i < node->n_devices; i++)
		fitting |= (uint64_t)clv_fit_device(&devices[i], request) << i;
	if (__builtin_popcountll(fitting) < request->n_devices)
		return 0;
	if ((request->same_numa || request->same_link) && request->n_devices > 1)
		return near_each_other(devices, node, request, fitting);
	return fitting;
}

bool clv_fit_start(const struct clv_fleet *fleet, uint32_t number,
	const struct clv_place_request *request, uint8_t start)
{
	const struct clv_fleet_device *device = &fleet->devices[number];
	const struct clv_fleet_scheme *scheme;
	struct clv_mig_set set;
	struct clv_mig_instance instance = {
		.profile = request->profile - 1,
		.start = start,
	};

	if (device->scheme != request->scheme ||
		(request->alone_in_class && device->n_leases[request->class] > 0))
		return false;
	scheme = &fleet->schemes[device->scheme - 1];
	set = fleet->sets[number];
	for (size_t i = 0; scheme->is_uniform && i < scheme->model->n_profiles; i++) {
		if (set.counts[i] > 0 && i != instance.profile)
			return false;
	}
	return clv_mig_set_add(scheme->model, &set, instance) == CLV_MIG_NO_OBSTACLE;
}

static bool fits_partition(const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	const struct clv_mig_profile *profile =
		&fleet->schemes[request->scheme - 1]
			 .model->profiles[request->profile - 1];

	for (uint32_t i = 0; i < node->n_devices; i++) {
		for (unsigned j = 0; j < profile->n_starts; j++) {
			if (clv_fit_start(fleet, node->first_device + i, request,
				    profile->starts[j]))
				return true;
		}
	}
	return false;
}

bool clv_fit_node(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_place_request *request)
{
	if (node->free_cpu_milli < request->cpu_milli ||
		node->free_memory_mib < request->memory_mib || node->is_lost ||
		(request->rack && request->rack != node->rack) ||
		(request->models && !(request->models >> node->model & 1)))
		return false;
	if (request->n_devices == 0)
		return true;
	if (request->profile)
		return fits_partition(fleet, node, request);
	if (node->largest_milli < request->milli || node->n_devices < request->n_devices)
		return false;
	/* Fast paths for the two most frequent kinds of request. */
	if (request->device_mib == 0 && !request->alone_in_class && !request->same_numa &&
		!request->same_link) {
		if (request->n_devices == 1)
			return request->milli > 0 || node->largest_milli > 0;
		if (request->milli == CLV_PLACE_WHOLE)
			return node->n_whole >= request->n_devices;
	}
	return clv_fit_devices(fleet, node, request) != 0;
}

uint32_t clv_fit_home_of_group(const struct clv_fleet *fleet, uint32_t group)
{
	for (uint32_t i = 0; i < fleet->n_leases; i++) {
		if (fleet->leases[i].is_held && fleet->leases[i].group == group)
			return fleet->leases[i].node;
	}
	return CLV_FLEET_NONE;
}

uint32_t clv_fit_count_group(const struct clv_fleet *fleet, uint32_t node, uint32_t group)
{
	uint32_t n = 0;

	for (uint32_t lease = fleet->nodes[node].first_lease; lease != CLV_FLEET_NONE;
		lease = fleet->leases[lease].next)
		n += fleet->leases[lease].group == group;
	return n;
}

uint32_t clv_fleet_speed_of(
	const struct clv_fleet *fleet, const uint32_t *leases, size_t n)
{
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct clv_fleet_lease *lease = &fleet->leases[leases[i]];
		uint32_t speed = fleet->speeds[fleet->nodes[lease->node].model];

		speed = speed ? speed : CLV_FLEET_SPEED;
		if (lease->devices && speed < least)
			least = speed;
	}
	return least == UINT32_MAX ? CLV_FLEET_SPEED : least;
}

int64_t clv_fleet_time_at(int64_t time, uint32_t speed)
{
	if (speed == CLV_FLEET_SPEED || time > (INT64_MAX - speed) / CLV_FLEET_SPEED)
		return time;
	return (time * CLV_FLEET_SPEED + speed - 1) / speed;
}
