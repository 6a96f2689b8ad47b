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

/* Processes that drivers report on devices, matched with leases by the
 * ledger.  Loop thread only. */

enum clv_driver_process_kind {
	CLV_DRIVER_PROCESS_LEASED,    /* its lease is on this device */
	CLV_DRIVER_PROCESS_MISPLACED, /* its lease is on another device, or queued */
	CLV_DRIVER_PROCESS_LEFT_OVER, /* its lease has ended */
	CLV_DRIVER_PROCESS_UNLEASED,  /* it has no known lease */
};

/* A process on a device. */
struct clv_driver_process {
	struct clv_process_id id; /* start_ticks 0: not in this /proc */
	struct clv_agent_device *device;
	enum clv_driver_process_kind kind;
	char lease[CLV_LEASE_ID_MAX]; /* "": no known lease */
	char lease_name[CLV_LEASE_NAME_MAX];
	uid_t lease_owner;
	char command[32]; /* from /proc/PID/comm; printable */
	uid_t uid;
	uint64_t memory_bytes; /* CLV_READING_UNKNOWN: not reported */
	double utilization;    /* 0 to 1; NAN: not reported */
	uint64_t first_ns;     /* first reading that had it, CLOCK_MONOTONIC */
	uint64_t ended_ns;     /* when SIGTERM was sent; 0: it was not */
	bool is_reported;
	bool is_now; /* is in the last reading of its device */
};

struct clv_driver_processes {
	struct clv_driver_process *items; /* owned */
	size_t n;
};

/* Updates the processes from a reading of a whole device; processes that are no longer in
 * it are dropped. */
void clv_driver_processes_take(struct clv_driver_processes *processes,
	struct clv_agent *agent, struct clv_agent_device *device,
	const struct clv_reading *reading);

/* The sums over all processes of a lease on its first device. */
struct clv_driver_processes_total {
	size_t n;
	uint64_t memory_bytes; /* CLV_READING_UNKNOWN: n is 0, or not reported of one */
	double utilization;    /* NAN: likewise */
};

void clv_driver_processes_sum(const struct clv_driver_processes *processes,
	const struct clv_lease *lease, struct clv_driver_processes_total *ret);

/* Sends SIGTERM, or SIGKILL if SIGTERM was sent five seconds ago; never to another
 * process that got the same pid. */
void clv_driver_process_end(struct clv_driver_process *entry, uint64_t now_ns);

/* clv_driver_process_end() for all processes of a lease, on any device. */
void clv_driver_processes_end(struct clv_driver_processes *processes,
	const struct clv_lease *lease, uint64_t now_ns);

/* Writes text for people: "process 4711 (python3) of alice". */
void clv_driver_process_describe(
	const struct clv_driver_process *entry, char *ret, size_t ret_bytes);

/* An array of the processes on the device or its partitions that the caller may see. */
json_t *clv_driver_processes_render(const struct clv_driver_processes *processes,
	struct clv_agent_device *device, const struct clv_caller *caller);
