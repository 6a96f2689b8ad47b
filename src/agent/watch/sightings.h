/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"
#include "core/device/reading.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_agent;
struct clv_agent_device;
struct clv_caller;

/* Whom drivers see on devices, and whose he is by the ledger.  Loop thread only. */

enum clv_sighting_kind {
	CLV_SIGHTING_LEASED,    /* of a lease on this device */
	CLV_SIGHTING_MISPLACED, /* of a lease, and on a device that it has not got */
	CLV_SIGHTING_LEFT_OVER, /* of a lease that has ended */
	CLV_SIGHTING_STRANGER,  /* of no lease that is known */
};

struct clv_sighting {
	struct clv_process_id id; /* start_ticks 0: in no /proc of ours */
	struct clv_agent_device *device;
	enum clv_sighting_kind kind;
	char lease[CLV_LEASE_ID_MAX]; /* "" for a stranger */
	char lease_name[CLV_LEASE_NAME_MAX];
	uid_t lease_owner;
	char command[32];
	uid_t uid;
	uint64_t memory_bytes; /* CLV_READING_UNKNOWN: not said */
	double utilization;    /* 0 to 1; NAN: not said */
	uint64_t first_ns;     /* CLOCK_MONOTONIC */
	uint64_t ended_ns;     /* when it was told to end; 0: it was not */
	bool is_reported;
	bool is_now; /* in the last reading of its device */
};

struct clv_sightings {
	struct clv_sighting *items; /* owned */
	size_t n;
};

/* Takes whom the reading of a whole device shows: who is not there any more is dropped.
 */
void clv_sightings_take(struct clv_sightings *sightings, struct clv_agent *agent,
	struct clv_agent_device *device, const struct clv_reading *reading);

/* What the driver says of all processes of a lease on its device together. */
struct clv_sightings_total {
	size_t n;
	uint64_t memory_bytes; /* CLV_READING_UNKNOWN: of one it is not said, or n is 0 */
	double utilization;    /* NAN: the same */
};

void clv_sightings_sum(const struct clv_sightings *sightings,
	const struct clv_lease *lease, struct clv_sightings_total *ret);

/* SIGTERM, and SIGKILL where that was sent five seconds ago.  Only to the process that
 * was seen, never to one that got its number. */
void clv_sighting_end(struct clv_sighting *sighting, uint64_t now_ns);

/* The same to all of a lease's, on any device. */
void clv_sightings_end(
	struct clv_sightings *sightings, const struct clv_lease *lease, uint64_t now_ns);

/* For people: "process 4711 (python3) of alice". */
void clv_sighting_describe(
	const struct clv_sighting *sighting, char *ret, size_t ret_bytes);

/* Those on the device or its parts that the caller may know of. */
json_t *clv_sightings_render(const struct clv_sightings *sightings,
	struct clv_agent_device *device, const struct clv_caller *caller);
