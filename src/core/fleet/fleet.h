/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/request.h"
#include "core/gpu/mig.h"

#include <stddef.h>

struct clv_error;

/* The nodes of a fleet, what is free on them, and the leases that hold the rest.
 *
 * A fleet owns its content; pointers into it are valid until the next change.  Every
 * change happens completely or not at all, and a release restores what was free bit by
 * bit.  Pure: no clock, no I/O.  Not thread-safe; fleets are independent of each
 * other. */

#define CLV_FLEET_NONE UINT32_MAX
/* With the 0 at the end. */
#define CLV_FLEET_RACK_MAX 32
/* The speed of a device for which none is known. */
#define CLV_FLEET_SPEED 1000

/* How a device is divided in hardware: MIG, compute partitions, virtual functions. */
struct clv_fleet_scheme {
	const struct clv_mig_model *model; /* borrowed; profiles and their placements */
	bool is_uniform; /* all partitions of a device have the same profile: XCP, VF */
};

/* 20 bytes, because a fleet may have half a million of them. */
struct clv_fleet_device {
	uint32_t memory_mib; /* 0: unknown, and not checked */
	uint32_t free_mib;
	uint16_t free_milli;
	uint16_t units; /* bitmap of the units in use of the grid of its scheme */
	uint8_t scheme; /* 0: divided into shares; else 1 + index of its scheme */
	uint8_t numa;
	uint16_t n_leases[_CLV_CLASS_MAX];
};

/* Sizes that the clustering policy distinguishes: a part of a device, one device, two,
 * ... */
#define CLV_FLEET_SIZES 5

struct clv_fleet_node {
	uint64_t state; /* a hash of all that a score may depend on */
	uint32_t cpu_milli, free_cpu_milli;
	uint32_t memory_mib, free_memory_mib;
	uint32_t first_device;  /* index in the fleet; devices of a node are adjacent */
	uint32_t free_milli;    /* of all devices */
	uint32_t first_lease;   /* or CLV_FLEET_NONE */
	uint16_t largest_milli; /* the most that is free on one device with shares */
	uint8_t n_devices;
	uint8_t n_whole; /* wholly free devices */
	uint8_t model;
	bool is_lost;
	uint16_t n_leases[CLV_FLEET_SIZES];
	uint16_t rack;    /* 1 + its index in the fleet; 0: unknown */
	uint8_t n_linked; /* adjacent devices that NVLink joins; 0 or 1: none */
	uint8_t power;    /* 1 + the index of its power in the fleet; 0: unknown */
};

/* What a node draws; all 0: unknown.  Of a device and of a socket: without and with a
 * lease, in watts, at most CLV_FLEET_WATTS_MAX. */
struct clv_fleet_power {
	uint32_t device_idle_w, device_full_w;
	uint32_t socket_idle_w, socket_full_w;
	uint32_t socket_milli; /* processors of a socket; 0: all of the node are on one */
};
#define CLV_FLEET_WATTS_MAX 100000

/* 40 bytes. */
struct clv_fleet_lease {
	uint64_t devices; /* bitmap of devices of its node */
	uint32_t node;
	uint32_t next, previous; /* list of its node; next also links free records */
	uint32_t cpu_milli, memory_mib, device_mib;
	uint32_t group;
	uint16_t milli : 10;
	/* What its request required of the place, for moves. */
	bool same_numa : 1;
	bool same_link : 1;
	uint8_t profile;
	uint8_t start : 5;
	uint8_t class : 2;
	bool is_held : 1;
};
_Static_assert(sizeof(struct clv_fleet_lease) == 40, "of a hundred thousand leases");
_Static_assert(CLV_PLACE_WHOLE < 1 << 10, "milli has ten bits");

/* The log of nodes that changed, from which caches of data by node are updated. */
struct clv_fleet_log {
	uint32_t *nodes; /* ring buffer */
	uint64_t n_changes;
	uint64_t *last; /* by node: its latest entry; earlier entries are stale */
	uint32_t mask;
};

struct clv_fleet {
	struct clv_fleet_node *nodes;
	struct clv_fleet_device *devices;
	struct clv_mig_set *sets; /* by device; NULL while no device has a scheme */
	uint8_t *dies; /* by device, see clv_fleet_node_spec; NULL: all unknown */
	struct clv_fleet_lease *leases;
	struct clv_fleet_scheme *schemes;
	char (*models)[32];
	char (*racks)[CLV_FLEET_RACK_MAX];
	uint32_t n_nodes, n_devices, n_leases, n_schemes, n_models, n_racks;
	uint32_t room_nodes, room_devices, room_leases, room_racks;
	uint32_t first_free_lease, n_held;
	/* By model: the relative speed of its devices, in thousandths; 0:
	 * CLV_FLEET_SPEED. */
	uint32_t speeds[CLV_PLACE_MODELS_MAX];
	struct clv_fleet_power *powers;
	uint32_t n_powers;
	uint64_t watts; /* what all nodes draw */
	/* compute of all devices, and the part of it that leases hold */
	uint64_t milli, held_milli;
	struct clv_fleet_log log;
};

/* A node to be added. */
struct clv_fleet_node_spec {
	const char *model;
	const char *rack; /* NULL or "": unknown */
	uint32_t cpu_milli, memory_mib;
	uint32_t device_mib; /* memory of each device; 0: unknown */
	uint8_t n_devices;
	uint8_t n_numa;   /* NUMA nodes with devices, equally many on each; 0: one */
	uint8_t n_linked; /* devices that NVLink joins, from the first one on; 0: none */
	uint8_t scheme;   /* 0: shares; else 1 + index */
	struct clv_fleet_power power;
	/* By device: 1 + the I/O die of the GPU that it is on, 0: unknown.  NULL: all
	 * unknown. */
	const uint8_t *dies;
};

/* Where a request goes. */
struct clv_place_at {
	uint64_t devices; /* bitmap */
	uint32_t node;
	uint8_t start; /* start of a profile, in units */
};

/* The part of an amount of a device (compute, memory) that is left when these units of
 * the grid are in use. */
static inline uint32_t clv_fleet_left_of(
	const struct clv_mig_model *model, uint16_t units, uint32_t amount)
{
	unsigned n_left = model->grid - (unsigned)__builtin_popcount(units);

	return (uint32_t)((uint64_t)amount * n_left / model->grid);
}

/* NULL if out of memory. */
struct clv_fleet *clv_fleet_new(void);
struct clv_fleet *clv_fleet_free(struct clv_fleet *fleet);
/* An independent copy, for experiments; NULL if out of memory. */
struct clv_fleet *clv_fleet_copy(const struct clv_fleet *fleet);

/* Returns the index, -ENOMEM or -EINVAL.  The model is borrowed as long as the fleet
 * lives. */
int clv_fleet_add_scheme(struct clv_fleet *fleet, const struct clv_fleet_scheme *scheme);
/* Returns the number of the model, which is added if it is new.  -ENOSPC: more than
 * CLV_PLACE_MODELS_MAX; -EINVAL: the name is too long; -ENOMEM. */
int clv_fleet_model(struct clv_fleet *fleet, const char *name);
/* Returns -1 if the fleet does not have the model. */
int clv_fleet_find_model(const struct clv_fleet *fleet, const char *name);
/* Returns the number that the rack has in its nodes, or 0 if the fleet has none of that
 * name. */
uint16_t clv_fleet_find_rack(const struct clv_fleet *fleet, const char *name);
/* Nodes are added before the first placer is created.  Of equally good nodes the one that
 * was added first is used. */
int clv_fleet_add_node(struct clv_fleet *fleet, const struct clv_fleet_node_spec *spec,
	struct clv_error *err);

/* Whether the request is valid: 0, or -EINVAL with the reason. */
int clv_fleet_check(const struct clv_fleet *fleet,
	const struct clv_place_request *request, struct clv_error *err);

/* The part of a device that the profile takes, in thousandths. */
uint32_t clv_fleet_profile_milli(
	const struct clv_fleet *fleet, uint8_t scheme, uint8_t profile);
/* The compute of the whole request, in thousandths of a device. */
uint32_t clv_fleet_request_milli(
	const struct clv_fleet *fleet, const struct clv_place_request *request);

/* Takes what the request needs at that place.  Returns 0 and the number of the lease;
 * -ENOSPC: not free there; -EINVAL: no such place; -ENOMEM. */
int clv_fleet_take(struct clv_fleet *fleet, const struct clv_place_request *request,
	const struct clv_place_at *at, uint32_t *ret_lease);
/* Ends a lease.  -ENOENT if there is none. */
int clv_fleet_release(struct clv_fleet *fleet, uint32_t lease);
/* Resizes a share in place.  -ENOSPC: no room, nothing changes; -EOPNOTSUPP: partitions
 * cannot be resized. */
int clv_fleet_resize(
	struct clv_fleet *fleet, uint32_t lease, const struct clv_place_request *request);
/* Marks a node as lost and ends its leases.  gone is called for each lease before it
 * ends, and may be NULL.  -ENOENT, -EALREADY. */
int clv_fleet_lose_node(struct clv_fleet *fleet, uint32_t node,
	void (*gone)(void *userdata, uint32_t lease), void *userdata);
int clv_fleet_return_node(struct clv_fleet *fleet, uint32_t node);

/* The speed of the slowest devices of the leases, in thousandths; CLV_FLEET_SPEED if they
 * have no devices. */
uint32_t clv_fleet_speed_of(
	const struct clv_fleet *fleet, const uint32_t *leases, size_t n);
/* How long something takes at a speed in thousandths that takes so long at
 * CLV_FLEET_SPEED, rounded up; INT64_MAX is for ever. */
int64_t clv_fleet_time_at(int64_t time, uint32_t speed);

/* Its size in memory, in bytes. */
size_t clv_fleet_bytes(const struct clv_fleet *fleet);

/* Compares all counters with the leases.  Returns NULL, or what is wrong.  For tests. */
const char *clv_fleet_audit(const struct clv_fleet *fleet);
