/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, extends and copies fleets.  fleet-lease.c has what leases do to them. */
#include "core/fleet/fleet.h"

#include "core/fleet/fleet-internal.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64
#define SOCKETS_MAX 1024

struct clv_fleet *clv_fleet_new(void)
{
	struct clv_fleet *fleet = calloc(1, sizeof(*fleet));

	if (!fleet)
		return NULL;
	fleet->first_free_lease = CLV_FLEET_NONE;
	return fleet;
}

struct clv_fleet *clv_fleet_free(struct clv_fleet *fleet)
{
	if (!fleet)
		return NULL;
	free(fleet->nodes);
	free(fleet->devices);
	free(fleet->sets);
	free(fleet->dies);
	free(fleet->leases);
	free(fleet->schemes);
	free(fleet->models);
	free(fleet->racks);
	free(fleet->powers);
	free(fleet->log.nodes);
	free(fleet->log.last);
	free(fleet);
	return NULL;
}

int clv_fleet_grow(void **items, uint32_t *room, size_t item_bytes, uint32_t wanted)
{
	uint32_t more = *room ? *room : FIRST_ROOM;
	void *grown;

	if (wanted <= *room)
		return 0;
	while (more < wanted)
		more += more / 2;
	grown = realloc(*items, more * item_bytes);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*room = more;
	return 0;
}

static void *copy_of(const void *items, size_t n_bytes, bool *is_failed)
{
	void *copy;

	if (!items || n_bytes == 0)
		return NULL;
	copy = malloc(n_bytes);
	if (copy)
		memcpy(copy, items, n_bytes);
	else
		*is_failed = true;
	return copy;
}

/* The log of the copy starts empty: only placers of the copy read it. */
static int copy_log(struct clv_fleet *copy, const struct clv_fleet *fleet)
{
	size_t n_ring = (size_t)fleet->log.mask + 1;

	if (!fleet->log.nodes)
		return 0;
	copy->log.nodes = calloc(n_ring, sizeof(*copy->log.nodes));
	copy->log.last = calloc(fleet->room_nodes, sizeof(*copy->log.last));
	return copy->log.nodes && copy->log.last ? 0 : -ENOMEM;
}

struct clv_fleet *clv_fleet_copy(const struct clv_fleet *fleet)
{
	struct clv_fleet *copy = calloc(1, sizeof(*copy));
	bool is_failed = false;

	if (!copy)
		return NULL;
	*copy = *fleet;
	copy->log = (struct clv_fleet_log){.mask = fleet->log.mask};
	copy->nodes = copy_of(
		fleet->nodes, fleet->room_nodes * sizeof(*fleet->nodes), &is_failed);
	copy->devices = copy_of(fleet->devices,
		fleet->room_devices * sizeof(*fleet->devices), &is_failed);
	copy->sets = copy_of(
		fleet->sets, fleet->room_devices * sizeof(*fleet->sets), &is_failed);
	copy->dies = copy_of(
		fleet->dies, fleet->room_devices * sizeof(*fleet->dies), &is_failed);
	copy->leases = copy_of(
		fleet->leases, fleet->room_leases * sizeof(*fleet->leases), &is_failed);
	copy->schemes = copy_of(
		fleet->schemes, fleet->n_schemes * sizeof(*fleet->schemes), &is_failed);
	copy->models = copy_of(
		fleet->models, fleet->n_models * sizeof(*fleet->models), &is_failed);
	copy->racks = copy_of(
		fleet->racks, fleet->room_racks * sizeof(*fleet->racks), &is_failed);
	copy->powers = copy_of(
		fleet->powers, fleet->n_powers * sizeof(*fleet->powers), &is_failed);
	if (is_failed || copy_log(copy, fleet) < 0)
		return clv_fleet_free(copy);
	return copy;
}

size_t clv_fleet_bytes(const struct clv_fleet *fleet)
{
	size_t n_ring = fleet->log.nodes ? (size_t)fleet->log.mask + 1 : 0;

	return sizeof(*fleet) + fleet->room_nodes * sizeof(*fleet->nodes) +
	       fleet->room_devices * (sizeof(*fleet->devices) +
					     (fleet->sets ? sizeof(*fleet->sets) : 0) +
					     (fleet->dies ? sizeof(*fleet->dies) : 0)) +
	       fleet->room_leases * sizeof(*fleet->leases) +
	       fleet->room_racks * sizeof(*fleet->racks) +
	       fleet->n_powers * sizeof(*fleet->powers) +
	       fleet->room_nodes * sizeof(*fleet->log.last) +
	       n_ring * sizeof(*fleet->log.nodes);
}

int clv_fleet_add_scheme(struct clv_fleet *fleet, const struct clv_fleet_scheme *scheme)
{
	struct clv_fleet_scheme *grown;

	if (fleet->n_schemes == UINT8_MAX || scheme->model->grid > 16)
		return -EINVAL;
	grown = reallocarray(fleet->schemes, fleet->n_schemes + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	fleet->schemes = grown;
	grown[fleet->n_schemes] = *scheme;
	return (int)fleet->n_schemes++;
}

int clv_fleet_find_model(const struct clv_fleet *fleet, const char *name)
{
	for (uint32_t i = 0; i < fleet->n_models; i++) {
		if (strcmp(fleet->models[i], name) == 0)
			return (int)i;
	}
	return -1;
}

int clv_fleet_model(struct clv_fleet *fleet, const char *name)
{
	int found = clv_fleet_find_model(fleet, name);
	char(*grown)[32];

	if (found >= 0)
		return found;
	if (fleet->n_models == CLV_PLACE_MODELS_MAX)
		return -ENOSPC;
	if (strlen(name) >= sizeof(*grown))
		return -EINVAL;
	grown = reallocarray(fleet->models, fleet->n_models + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	fleet->models = grown;
	memset(grown[fleet->n_models], 0, sizeof(*grown));
	memcpy(grown[fleet->n_models], name, strlen(name));
	return (int)fleet->n_models++;
}

/* From the last one on: the nodes of a rack mostly follow each other. */
uint16_t clv_fleet_find_rack(const struct clv_fleet *fleet, const char *name)
{
	uint32_t number = fleet->n_racks;

	while (number > 0 && strcmp(fleet->racks[number - 1], name) != 0)
		number--;
	return (uint16_t)number;
}

/* Sets the number of a rack, which is added if it is new; 0 without a name. */
static int number_rack(struct clv_fleet *fleet, const char *name, uint16_t *ret)
{
	int r = 0;

	*ret = name && *name ? clv_fleet_find_rack(fleet, name) : 0;
	if (*ret || !name || !*name)
		return 0;
	if (fleet->n_racks == UINT16_MAX)
		return -ENOSPC;
	r = clv_fleet_grow((void **)&fleet->racks, &fleet->room_racks,
		sizeof(*fleet->racks), fleet->n_racks + 1);
	if (r < 0)
		return r;
	memset(fleet->racks[fleet->n_racks], 0, sizeof(*fleet->racks));
	memcpy(fleet->racks[fleet->n_racks], name, strlen(name));
	*ret = (uint16_t)++fleet->n_racks;
	return 0;
}

/* The ring holds twice as many changes as there are nodes.  A placer that is further
 * behind evaluates all nodes again, which costs no more. */
static int grow_log(struct clv_fleet *fleet)
{
	uint32_t n_ring = 1;
	uint64_t *last;
	uint32_t *nodes;

	while (n_ring < 2 * fleet->room_nodes)
		n_ring *= 2;
	last = reallocarray(fleet->log.last, fleet->room_nodes, sizeof(*last));
	if (!last)
		return -ENOMEM;
	fleet->log.last = last;
	nodes = reallocarray(fleet->log.nodes, n_ring, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	fleet->log.nodes = nodes;
	fleet->log.mask = n_ring - 1;
	return 0;
}

/* Makes an array by device, zeroed, unless it is there. */
static int begin_beside(void **items, size_t item_bytes, uint32_t room)
{
	if (!*items)
		*items = calloc(room ? room : 1, item_bytes);
	return *items ? 0 : -ENOMEM;
}

/* Lets an array by device grow with the devices, if there is one. */
static int grow_beside(void **items, size_t item_bytes, uint32_t room)
{
	uint32_t none = 0;

	return *items ? clv_fleet_grow(items, &none, item_bytes, room) : 0;
}

static int make_room(struct clv_fleet *fleet, uint32_t n_devices)
{
	uint32_t room_before = fleet->room_nodes, room_devices = fleet->room_devices;
	/* A node without devices has a place among them, too: an address in no array is
	 * undefined. */
	uint32_t end = fleet->n_devices + (n_devices ? n_devices : 1);
	int r = clv_fleet_grow((void **)&fleet->nodes, &fleet->room_nodes,
		sizeof(*fleet->nodes), fleet->n_nodes + 1);

	if (r == 0)
		r = clv_fleet_grow((void **)&fleet->devices, &fleet->room_devices,
			sizeof(*fleet->devices), end);
	if (r == 0 && room_devices != fleet->room_devices)
		r = grow_beside(
			(void **)&fleet->sets, sizeof(*fleet->sets), fleet->room_devices);
	if (r == 0 && room_devices != fleet->room_devices)
		r = grow_beside(
			(void **)&fleet->dies, sizeof(*fleet->dies), fleet->room_devices);
	if (r == 0 && room_before != fleet->room_nodes)
		r = grow_log(fleet);
	return r;
}

static bool is_good_power(
	const struct clv_fleet_power *power, const struct clv_fleet_node_spec *spec)
{
	return power->device_full_w <= CLV_FLEET_WATTS_MAX &&
	       power->socket_full_w <= CLV_FLEET_WATTS_MAX &&
	       power->device_idle_w <= power->device_full_w &&
	       power->socket_idle_w <= power->socket_full_w &&
	       (power->socket_milli == 0 ||
		       spec->cpu_milli / power->socket_milli < SOCKETS_MAX);
}

static int check_spec(const struct clv_fleet *fleet,
	const struct clv_fleet_node_spec *spec, struct clv_error *err)
{
	if (spec->n_devices > CLV_PLACE_DEVICES_MAX)
		return clv_error_set(err, -EINVAL,
			"a node has at most %d devices, not %u", CLV_PLACE_DEVICES_MAX,
			spec->n_devices);
	if (spec->rack && strlen(spec->rack) >= CLV_FLEET_RACK_MAX)
		return clv_error_set(err, -EINVAL,
			"a rack's name has at most %d characters",
			CLV_FLEET_RACK_MAX - 1);
	if (spec->scheme > fleet->n_schemes)
		return clv_error_set(err, -EINVAL, "the fleet has %u schemes, not %u",
			fleet->n_schemes, spec->scheme);
	if (!is_good_power(&spec->power, spec))
		return clv_error_set(err, -EINVAL,
			"a device or a socket draws at most %d W, no less in use than "
			"idle, and a node has at most %d sockets",
			CLV_FLEET_WATTS_MAX, SOCKETS_MAX);
	return 0;
}

static void add_devices(struct clv_fleet *fleet, const struct clv_fleet_node_spec *spec)
{
	unsigned n_numa = spec->n_numa ? spec->n_numa : 1;

	assert(fleet->n_devices + spec->n_devices <= fleet->room_devices);
	for (unsigned i = 0; i < spec->n_devices; i++) {
		uint32_t device = fleet->n_devices++;

		fleet->devices[device] = (struct clv_fleet_device){
			.memory_mib = spec->device_mib,
			.free_mib = spec->device_mib,
			.free_milli = CLV_PLACE_WHOLE,
			.scheme = spec->scheme,
			.numa = (uint8_t)(i * n_numa / spec->n_devices),
		};
		if (fleet->sets)
			fleet->sets[device] = (struct clv_mig_set){0};
		if (fleet->dies)
			fleet->dies[device] = spec->dies ? spec->dies[i] : 0;
	}
	fleet->milli += spec->n_devices * CLV_PLACE_WHOLE;
}

int clv_fleet_add_node(struct clv_fleet *fleet, const struct clv_fleet_node_spec *spec,
	struct clv_error *err)
{
	int r = check_spec(fleet, spec, err), model;
	uint16_t rack;
	uint8_t power;

	if (r < 0)
		return r;
	if (spec->scheme)
		r = begin_beside(
			(void **)&fleet->sets, sizeof(*fleet->sets), fleet->room_devices);
	if (r == 0 && spec->dies)
		r = begin_beside(
			(void **)&fleet->dies, sizeof(*fleet->dies), fleet->room_devices);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot add a node");
	model = clv_fleet_model(fleet, spec->model);
	if (model < 0)
		return clv_error_set(err, model,
			"no room for the model '%s': at most %d, of 31 characters each",
			spec->model, CLV_PLACE_MODELS_MAX);
	r = make_room(fleet, spec->n_devices);
	if (r == 0)
		r = number_rack(fleet, spec->rack, &rack);
	if (r == 0)
		r = clv_fleet_number_power(fleet, &spec->power, &power);
	if (r == -ENOSPC)
		return clv_error_set(err, r,
			"no room for a node: at most %d racks, and %d kinds of power",
			UINT16_MAX, UINT8_MAX);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot add a node");

	fleet->nodes[fleet->n_nodes] = (struct clv_fleet_node){
		.cpu_milli = spec->cpu_milli,
		.free_cpu_milli = spec->cpu_milli,
		.memory_mib = spec->memory_mib,
		.free_memory_mib = spec->memory_mib,
		.first_device = fleet->n_devices,
		.first_lease = CLV_FLEET_NONE,
		.n_devices = spec->n_devices,
		.model = (uint8_t)model,
		.rack = rack,
		.n_linked = spec->n_linked,
		.power = power,
	};
	add_devices(fleet, spec);
	fleet->watts += clv_fleet_watts_of(fleet, &fleet->nodes[fleet->n_nodes]);
	fleet->log.last[fleet->n_nodes] = 0;
	clv_fleet_node_changed(fleet, fleet->n_nodes++);
	return 0;
}
