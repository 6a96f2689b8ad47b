/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of a fleet: take, release, resize, and loss of nodes.  add_lease() updates all
 * counters in both directions, so that a release undoes a take by construction. */
#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet-internal.h"

#include "base/error.h"
#include "core/fleet/fleet.h"

#include <assert.h>
#include <errno.h>

/* The size by which the clustering policy distinguishes leases. */
static unsigned size_of(const struct clv_fleet_lease *lease)
{
	int n = __builtin_popcountll(lease->devices);

	if (n == 1 && lease->milli < CLV_PLACE_WHOLE)
		return 0;
	return n == 1 ? 1 : n == 2 ? 2 : n <= 4 ? 3 : 4;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* A hash of all that a score may depend on, with the size of the node, which decides its
 * kind.  The score of a state is computed only once: at first most nodes of a fleet are
 * equal. */
static uint64_t state_of(const struct clv_fleet *fleet, const struct clv_fleet_node *node)
{
	uint64_t hash = mix((uint64_t)node->power << 16 | (uint64_t)node->n_linked << 8 |
				    (node->model + 1u),
		node->free_cpu_milli);

	hash = mix(hash, (uint64_t)node->cpu_milli << 32 | node->memory_mib);
	hash = mix(hash, node->free_memory_mib);
	for (uint32_t i = 0; i < node->n_devices; i++) {
		const struct clv_fleet_device *device =
			&fleet->devices[node->first_device + i];
		uint64_t die = fleet->dies ? fleet->dies[node->first_device + i] : 0;

		hash = mix(hash, (uint64_t)device->memory_mib << 32 | device->free_mib);
		hash = mix(hash, (uint64_t)device->free_milli << 48 | die << 32 |
					 (uint64_t)device->units << 16 |
					 (uint64_t)device->scheme << 8 | device->numa);
		hash = mix(
			hash, (uint64_t)device->n_leases[CLV_CLASS_LATENCY] << 32 |
				      (uint64_t)device->n_leases[CLV_CLASS_NORMAL] << 16 |
				      device->n_leases[CLV_CLASS_BATCH]);
	}
	for (unsigned i = 0; i < CLV_FLEET_SIZES; i++)
		hash = mix(hash, node->n_leases[i]);
	return hash;
}

void clv_fleet_node_changed(struct clv_fleet *fleet, uint32_t number)
{
	struct clv_fleet_node *node = &fleet->nodes[number];
	struct clv_fleet_log *log = &fleet->log;

	assert(number < fleet->n_nodes);
	node->free_milli = 0;
	node->largest_milli = 0;
	node->n_whole = 0;
	for (uint32_t i = 0; i < node->n_devices; i++) {
		const struct clv_fleet_device *device =
			&fleet->devices[node->first_device + i];

		node->free_milli += device->free_milli;
		if (device->scheme)
			continue;
		if (device->free_milli > node->largest_milli)
			node->largest_milli = device->free_milli;
		node->n_whole += device->free_milli == CLV_PLACE_WHOLE;
	}
	node->state = state_of(fleet, node);
	log->nodes[log->n_changes & log->mask] = number;
	log->last[number] = log->n_changes++;
}

void clv_fleet_put_partition(struct clv_fleet *fleet, uint32_t number, uint8_t profile,
	uint8_t start, bool is_put)
{
	struct clv_fleet_device *device = &fleet->devices[number];
	const struct clv_mig_model *model = fleet->schemes[device->scheme - 1].model;
	struct clv_mig_instance instance = {.profile = profile, .start = start};
	struct clv_mig_set *set = &fleet->sets[number];

	assert(device->scheme > 0 && device->scheme <= fleet->n_schemes);
	if (is_put)
		clv_mig_set_put(model, set, instance);
	else
		clv_mig_set_remove(model, set, instance);
	device->units = set->units;
	device->free_milli =
		(uint16_t)clv_fleet_left_of(model, device->units, CLV_PLACE_WHOLE);
	device->free_mib = clv_fleet_left_of(model, device->units, device->memory_mib);
}

static void add_to_device(struct clv_fleet *fleet, uint32_t number,
	const struct clv_fleet_lease *lease, int sign)
{
	struct clv_fleet_device *device = &fleet->devices[number];
	uint16_t before = device->free_milli;

	assert(sign > 0 || device->n_leases[lease->class] > 0);
	if (lease->profile) {
		clv_fleet_put_partition(
			fleet, number, lease->profile - 1, lease->start, sign > 0);
	} else {
		assert(sign < 0 || device->free_milli >= lease->milli);
		device->free_milli = (uint16_t)(device->free_milli - sign * lease->milli);
		if (device->memory_mib)
			device->free_mib -= (uint32_t)sign * lease->device_mib;
	}
	device->n_leases[lease->class] =
		(uint16_t)(device->n_leases[lease->class] + sign);
	fleet->held_milli += (uint64_t)((int64_t)before - device->free_milli);
}

/* sign 1 takes what the lease holds, -1 gives it back. */
static void add_lease(
	struct clv_fleet *fleet, const struct clv_fleet_lease *lease, int sign)
{
	struct clv_fleet_node *node = &fleet->nodes[lease->node];
	uint32_t watts = clv_fleet_watts_of(fleet, node);

	node->free_cpu_milli -= (uint32_t)sign * lease->cpu_milli;
	node->free_memory_mib -= (uint32_t)sign * lease->memory_mib;
	for (uint64_t left = lease->devices; left; left &= left - 1)
		add_to_device(fleet, node->first_device + (uint32_t)__builtin_ctzll(left),
			lease, sign);
	if (lease->devices)
		node->n_leases[size_of(lease)] =
			(uint16_t)(node->n_leases[size_of(lease)] + sign);
	fleet->watts += clv_fleet_watts_of(fleet, node) - (uint64_t)watts;
	clv_fleet_node_changed(fleet, lease->node);
}

static int lease_new(struct clv_fleet *fleet, uint32_t *ret)
{
	int r;

	if (fleet->first_free_lease != CLV_FLEET_NONE) {
		*ret = fleet->first_free_lease;
		fleet->first_free_lease = fleet->leases[*ret].next;
		return 0;
	}
	r = clv_fleet_grow((void **)&fleet->leases, &fleet->room_leases,
		sizeof(*fleet->leases), fleet->n_leases + 1);
	if (r < 0)
		return r;
	*ret = fleet->n_leases++;
	return 0;
}

static void link_lease(struct clv_fleet *fleet, uint32_t number)
{
	struct clv_fleet_lease *lease = &fleet->leases[number];
	struct clv_fleet_node *node = &fleet->nodes[lease->node];

	lease->previous = CLV_FLEET_NONE;
	lease->next = node->first_lease;
	if (lease->next != CLV_FLEET_NONE)
		fleet->leases[lease->next].previous = number;
	node->first_lease = number;
}

static void unlink_lease(struct clv_fleet *fleet, uint32_t number)
{
	struct clv_fleet_lease *lease = &fleet->leases[number];

	if (lease->next != CLV_FLEET_NONE)
		fleet->leases[lease->next].previous = lease->previous;
	if (lease->previous != CLV_FLEET_NONE)
		fleet->leases[lease->previous].next = lease->next;
	else
		fleet->nodes[lease->node].first_lease = lease->next;
	lease->is_held = false;
	lease->next = fleet->first_free_lease;
	fleet->first_free_lease = number;
}

/* Returns 0 if the place exists and is free. */
static int check_place(const struct clv_fleet *fleet,
	const struct clv_place_request *request, const struct clv_place_at *at)
{
	const struct clv_fleet_node *node;

	if (at->node >= fleet->n_nodes ||
		__builtin_popcountll(at->devices) != request->n_devices)
		return -EINVAL;
	node = &fleet->nodes[at->node];
	if (node->n_devices < 64 && at->devices >> node->n_devices)
		return -EINVAL;
	if (!clv_fit_node(fleet, node, request))
		return -ENOSPC;
	if (request->profile)
		return clv_fit_start(fleet,
			       node->first_device +
				       (uint32_t)__builtin_ctzll(at->devices),
			       request, at->start)
			       ? 0
			       : -ENOSPC;
	for (uint64_t left = at->devices; left; left &= left - 1) {
		uint32_t device = node->first_device + (uint32_t)__builtin_ctzll(left);

		if (!clv_fit_device(&fleet->devices[device], request))
			return -ENOSPC;
	}
	return 0;
}

int clv_fleet_take(struct clv_fleet *fleet, const struct clv_place_request *request,
	const struct clv_place_at *at, uint32_t *ret_lease)
{
	uint32_t number = 0;
	int r = clv_fleet_check(fleet, request, NULL);

	if (r == 0)
		r = check_place(fleet, request, at);
	if (r == 0)
		r = lease_new(fleet, &number);
	if (r < 0)
		return r;

	fleet->leases[number] = (struct clv_fleet_lease){
		.devices = at->devices,
		.node = at->node,
		.cpu_milli = request->cpu_milli,
		.memory_mib = request->memory_mib,
		.device_mib = request->device_mib,
		.group = request->group,
		.milli = request->milli & 1023,
		.same_numa = request->same_numa,
		.same_link = request->same_link,
		.class = request->class & 3,
		.profile = request->profile,
		.start = at->start & 31,
		.is_held = true,
	};
	link_lease(fleet, number);
	add_lease(fleet, &fleet->leases[number], 1);
	fleet->n_held++;
	*ret_lease = number;
	return 0;
}

static bool is_held(const struct clv_fleet *fleet, uint32_t lease)
{
	return lease < fleet->n_leases && fleet->leases[lease].is_held;
}

int clv_fleet_release(struct clv_fleet *fleet, uint32_t lease)
{
	if (!is_held(fleet, lease))
		return -ENOENT;
	add_lease(fleet, &fleet->leases[lease], -1);
	unlink_lease(fleet, lease);
	fleet->n_held--;
	return 0;
}

int clv_fleet_resize(
	struct clv_fleet *fleet, uint32_t number, const struct clv_place_request *request)
{
	struct clv_fleet_lease *lease, before;
	struct clv_place_at at;
	int r;

	if (!is_held(fleet, number))
		return -ENOENT;
	lease = &fleet->leases[number];
	if (lease->profile || request->profile)
		return -EOPNOTSUPP;
	r = clv_fleet_check(fleet, request, NULL);
	if (r < 0)
		return r;
	before = *lease;
	at = (struct clv_place_at){.devices = lease->devices, .node = lease->node};
	add_lease(fleet, lease, -1);
	r = check_place(fleet, request, &at);
	if (r == 0) {
		lease->cpu_milli = request->cpu_milli;
		lease->memory_mib = request->memory_mib;
		lease->device_mib = request->device_mib;
		lease->milli = request->milli & 1023;
		lease->class = request->class & 3;
	} else {
		*lease = before;
	}
	add_lease(fleet, lease, 1);
	return r;
}

int clv_fleet_lose_node(struct clv_fleet *fleet, uint32_t number,
	void (*gone)(void *userdata, uint32_t lease), void *userdata)
{
	struct clv_fleet_node *node;

	if (number >= fleet->n_nodes)
		return -ENOENT;
	node = &fleet->nodes[number];
	if (node->is_lost)
		return -EALREADY;
	while (node->first_lease != CLV_FLEET_NONE) {
		if (gone)
			gone(userdata, node->first_lease);
		clv_fleet_release(fleet, node->first_lease);
	}
	fleet->watts -= clv_fleet_watts_of(fleet, node);
	node->is_lost = true;
	fleet->milli -= (uint64_t)node->n_devices * CLV_PLACE_WHOLE;
	clv_fleet_node_changed(fleet, number);
	return 0;
}

int clv_fleet_return_node(struct clv_fleet *fleet, uint32_t number)
{
	if (number >= fleet->n_nodes)
		return -ENOENT;
	if (!fleet->nodes[number].is_lost)
		return -EALREADY;
	fleet->nodes[number].is_lost = false;
	fleet->watts += clv_fleet_watts_of(fleet, &fleet->nodes[number]);
	fleet->milli += (uint64_t)fleet->nodes[number].n_devices * CLV_PLACE_WHOLE;
	clv_fleet_node_changed(fleet, number);
	return 0;
}
