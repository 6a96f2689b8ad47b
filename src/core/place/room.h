/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/fleet/kinds.h"
#include "core/fleet/workload.h"

/* What a fleet has room for, and what it costs to take that room.
 *
 * Requests that few nodes can take are in classes: by the kinds of node that could take
 * them if they were empty, and by their number of devices.  For each class it is counted
 * how many more such requests the fleet could take, and estimated how many will come
 * before it is full.  Where these may be more, the room has a price.
 *
 * The estimate begins with the workload and follows the requests that come, so that a
 * wrong workload is forgotten.  Embedded in its owner; updated from the log of the
 * fleet. */

#define CLV_ROOM_COUNTED_MAX 96
#define CLV_ROOM_CLASSES_MAX 24
#define CLV_ROOM_WANTS_MAX 64

struct clv_room_class {
	uint64_t kinds;
	/* Sums over the requests that came, recent ones in full. */
	double n, cpu_milli, memory_mib, milli;
	/* What one request needs, as of the last choice of classes. */
	uint32_t cpu_each, memory_each, milli_each;
	/* Room on all nodes: requests or, for a class of one device, thousandths. */
	double room;
	double price; /* of the room for one request, as a part of its size, 0..1 */
	uint8_t n_devices;
	uint8_t cpu_step; /* classes of one device are also divided by processors */
};

/* What requests that accept these models only ask for, in thousandths of a device. */
struct clv_room_want {
	uint64_t models;
	double milli;
};

struct clv_room {
	struct clv_kinds kinds;
	struct clv_room_class counted[CLV_ROOM_COUNTED_MAX];
	unsigned n_counted;
	/* Those that are followed, the scarcest first; and those that have a price. */
	uint8_t followed[CLV_ROOM_CLASSES_MAX], priced[CLV_ROOM_CLASSES_MAX];
	unsigned n_followed, n_priced;
	uint16_t *rooms; /* [node][followed] */
	/* Processors that are free, by node and on all. */
	uint32_t *free_cpu_milli;
	double left_cpu_milli;
	struct clv_room_want wants[CLV_ROOM_WANTS_MAX];
	unsigned n_wants;
	double n, milli;           /* of all requests that came */
	double cpu_milli;          /* of those that have devices */
	double all_cpu_milli;      /* of all of them */
	uint64_t n_chosen;         /* choices of classes so far */
	uint32_t n_since;          /* requests since the classes were chosen */
	uint32_t n_placed, n_held; /* placed since then; leases held then */
	double lasting;            /* leases that remain, of those placed lately, 0..1 */
	unsigned weight;           /* of what lasts as long as leases do, in tenths */
	uint64_t n_seen;           /* changes of the log that are included */
	uint64_t version;          /* differs where a cost or the weight does */
	bool is_chosen;
};

/* What a place takes of a node. */
struct clv_room_use {
	uint32_t cpu_milli, memory_mib, milli;
	unsigned n_whole; /* wholly free devices that are taken or broken */
};

/* Returns 0 or -ENOMEM. */
int clv_room_init(struct clv_room *room, const struct clv_fleet *fleet,
	const struct clv_workload *workload);
void clv_room_done(struct clv_room *room);
size_t clv_room_bytes(const struct clv_fleet *fleet);

/* Takes note of a request that came, and of one that was placed. */
void clv_room_come(struct clv_room *room, const struct clv_fleet *fleet,
	const struct clv_place_request *request);
void clv_room_placed(struct clv_room *room);

/* Brings room and prices up to the state of the fleet. */
void clv_room_update(struct clv_room *room, const struct clv_fleet *fleet);

/* What the use costs on a node, in thousandths of a device. */
int64_t clv_room_cost(const struct clv_room *room, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_room_use *use);
