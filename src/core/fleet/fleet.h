/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/request.h"
#include "core/gpu/mig.h"

#include <stddef.h>

struct clv_error;

/* The nodes of a fleet, what is free on them, and the leases that hold the rest.
 *
 * A fleet owns all that is in it; what its functions hand out is borrowed until the next
 * change.  Every change either happens wholly or not at all, and giving back what was
 * taken restores the fleet bit by bit.  Pure: no clock, no I/O.  Not thread-safe: one
 * thread at a time, and several fleets do not know of each other. */

#define CLV_FLEET_NONE UINT32_MAX

/* How a device is divided in hardware: MIG, compute partitions, virtual functions. */
struct clv_fleet_scheme {
	const struct clv_mig_model *model; /* borrowed; profiles and where they may sit */
	bool is_uniform; /* all partitions of a device have the same profile: XCP, VF */
};

/* 20 bytes, since a fleet may have half a million. */
struct clv_fleet_device {
	uint32_t memory_mib; /* 0: not known, and then not looked at */
	uint32_t free_mib;
	uint16_t free_milli;
	uint16_t units; /* of its scheme's grid: a bit for each that is taken */
	uint8_t scheme; /* 0: held by shares; else 1 + the index of its scheme */
	uint8_t numa;
	uint16_t n_leases[_CLV_CLASS_MAX];
};

/* What GPU clustering tells apart: one part of a device, one, two, ... devices. */
#define CLV_FLEET_SIZES 5

struct clv_fleet_node {
	uint64_t state; /* a hash of all that a score may depend on */
	uint32_t cpu_milli, free_cpu_milli;
	uint32_t memory_mib, free_memory_mib;
	uint32_t first_device;  /* in the fleet; they lie side by side */
	uint32_t free_milli;    /* of all devices */
	uint32_t first_lease;   /* or CLV_FLEET_NONE */
	uint16_t largest_milli; /* the most that is free on a device for shares */
	uint8_t n_devices;
	uint8_t n_whole; /* devices that are wholly free */
	uint8_t model;
	bool is_lost;
	uint16_t n_leases[CLV_FLEET_SIZES];
};

/* 40 bytes. */
struct clv_fleet_lease {
	uint64_t devices; /* bits, of its node's devices */
	uint32_t node;
	uint32_t next, previous; /* on its node; next also links free records */
	uint32_t cpu_milli, memory_mib, device_mib;
	uint32_t group;
	uint16_t milli;
	uint8_t profile;
	uint8_t start : 5;
	uint8_t class : 2;
	bool is_held : 1;
};

/* Nodes that changed, in order: whoever keeps something by node catches up from here. */
struct clv_fleet_log {
	uint32_t *nodes; /* a ring */
	uint64_t n_changes;
	uint64_t *last; /* by node: its latest entry; entries before are out of date */
	uint32_t mask;
};

struct clv_fleet {
	struct clv_fleet_node *nodes;
	struct clv_fleet_device *devices;
	struct clv_mig_set *sets; /* by device; NULL while no device has a scheme */
	struct clv_fleet_lease *leases;
	struct clv_fleet_scheme *schemes;
	char (*models)[32];
	uint32_t n_nodes, n_devices, n_leases, n_schemes, n_models;
	uint32_t room_nodes, room_devices, room_leases;
	uint32_t first_free_lease, n_held;
	uint64_t milli,
		held_milli; /* compute of all devices, and of it what leases hold */
	struct clv_fleet_log log;
};

/* A node to be added. */
struct clv_fleet_node_spec {
	const char *model;
	uint32_t cpu_milli, memory_mib;
	uint32_t device_mib; /* memory of each device; 0: not known */
	uint8_t n_devices;
	uint8_t n_numa; /* NUMA nodes that have devices, each as many; 0: one */
	uint8_t scheme; /* 0: shares; else 1 + index */
};

/* Where a request goes. */
struct clv_place_at {
	uint64_t devices; /* bits */
	uint32_t node;
	uint8_t start; /* of a profile, in units */
};

/* What a grid with these units taken leaves of a device's amount of anything. */
static inline uint32_t clv_fleet_left_of(
	const struct clv_mig_model *model, uint16_t units, uint32_t amount)
{
	unsigned n_left = model->grid - (unsigned)__builtin_popcount(units);

	return (uint32_t)((uint64_t)amount * n_left / model->grid);
}

/* NULL without memory. */
struct clv_fleet *clv_fleet_new(void);
struct clv_fleet *clv_fleet_free(struct clv_fleet *fleet);
/* A copy of its own, for trying things; NULL without memory. */
struct clv_fleet *clv_fleet_copy(const struct clv_fleet *fleet);

/* The index, or -ENOMEM, -EINVAL.  The model is borrowed for as long as the fleet lives.
 */
int clv_fleet_add_scheme(struct clv_fleet *fleet, const struct clv_fleet_scheme *scheme);
/* The model's number, added where it is new; -ENOSPC: more than CLV_PLACE_MODELS_MAX. */
int clv_fleet_model(struct clv_fleet *fleet, const char *name);
/* -1: no node has it. */
int clv_fleet_find_model(const struct clv_fleet *fleet, const char *name);
/* Nodes are added before the first placer is made.  Of equally good nodes the one that
 * was added first is taken. */
int clv_fleet_add_node(struct clv_fleet *fleet, const struct clv_fleet_node_spec *spec,
	struct clv_error *err);

/* Whether the request makes sense at all: -EINVAL and why not. */
int clv_fleet_check(const struct clv_fleet *fleet,
	const struct clv_place_request *request, struct clv_error *err);

/* Its part of a device, in thousandths. */
uint32_t clv_fleet_profile_milli(
	const struct clv_fleet *fleet, uint8_t scheme, uint8_t profile);
/* Compute of all that it asks for. */
uint32_t clv_fleet_request_milli(
	const struct clv_fleet *fleet, const struct clv_place_request *request);

/* Takes what the request asks for at that place.  0 and the lease's number; -ENOSPC: not
 * free there, -EINVAL: no such place, -ENOMEM. */
int clv_fleet_take(struct clv_fleet *fleet, const struct clv_place_request *request,
	const struct clv_place_at *at, uint32_t *ret_lease);
/* -ENOENT: there is no such lease. */
int clv_fleet_release(struct clv_fleet *fleet, uint32_t lease);
/* A share becomes larger or smaller where it is.  -ENOSPC: no room, and all as before;
 * -EOPNOTSUPP: partitions have the size that they have. */
int clv_fleet_resize(
	struct clv_fleet *fleet, uint32_t lease, const struct clv_place_request *request);
/* The node and its leases are gone; gone is told of each lease before it ends, and may be
 * NULL.  -ENOENT, -EALREADY. */
int clv_fleet_lose_node(struct clv_fleet *fleet, uint32_t node,
	void (*gone)(void *userdata, uint32_t lease), void *userdata);
int clv_fleet_return_node(struct clv_fleet *fleet, uint32_t node);

/* All that it holds. */
size_t clv_fleet_bytes(const struct clv_fleet *fleet);

/* Looks at everything and compares it with the leases: NULL, or what is wrong.  For
 * tests. */
const char *clv_fleet_audit(const struct clv_fleet *fleet);
