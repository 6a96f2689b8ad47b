/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/usage-counters.h"
#include "core/device/device.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_agent;
struct clv_arbiter;
struct clv_condition;
struct clv_error;
struct clv_lease;

#define CLV_REASON_MAX 128u

/* A device of this machine, or a partition of one.  Owned by struct clv_devices; its
 * address is stable until that is freed. */
struct clv_agent_device {
	struct clv_device info;
	struct clv_arbiter *arbiter; /* NULL until the first attach */
	int lock_fd;                 /* the machine-wide lock; -1: not held */
	bool was_refused;            /* another agent had the lock; this was logged */
	bool is_present;             /* the drivers show it at present */
	/* NULL: a whole device; else this is a partition, and its parent has the lock. */
	struct clv_agent_device *parent;
	/* The leases on it, active and queued, oldest first; maintained by the ledger. */
	struct clv_lease **leases;
	size_t n_leases;
	int32_t numa_node; /* nearest to it; -1: unknown */
	int32_t io_die;    /* clv_partition_io_die(); -1: unknown */
	bool is_divided;   /* into partitions, which are leased in its place */
	bool is_cordoned;  /* by an admin: it takes no new lease */
	char cordon_reason[CLV_REASON_MAX];
	struct clv_usage usage;
	struct clv_usage_idle idle;
	struct clv_executor *executor; /* NULL: none was tried */
	bool is_enforced; /* the last readings said something about its leases */
	struct clv_condition *condition; /* of a whole device; NULL: unknown */
	bool has_stored_debts;           /* see agent/lease/debts.h */
	bool is_changing;  /* an operation will change it: it takes no new lease */
	bool was_changing; /* scratch: before the last update */
	const struct clv_operation *operation; /* that changes it and needs its lock */
	uint32_t n_ranked;                     /* scratch number of the queue's ranking */
};

/* All devices, and the probe that finds them: a child process asks the drivers, with a
 * timeout, and its answer is cached in a file. */
struct clv_devices;

int clv_devices_new(
	struct clv_agent *agent, struct clv_devices **ret, struct clv_error *err);
/* Stops the arbiters.  All leases must have been freed. */
struct clv_devices *clv_devices_free(struct clv_devices *devices);

/* Takes the devices from the cache, or starts the probe if the cache does not match what
 * is installed.  Cheap if nothing has changed. */
void clv_devices_refresh(struct clv_devices *devices);

/* To be called when a survey is answered: takes the probe's answer that waits for it. */
void clv_devices_take_held(struct clv_devices *devices);

/* The probe is running, or its answer waits.  CLV_TOPIC_DEVICES is published when it has
 * answered. */
bool clv_devices_is_pending(const struct clv_devices *devices);

/* All, with partitions; whole devices in the order of the numbers in their names. */
size_t clv_devices_count(const struct clv_devices *devices);
struct clv_agent_device *clv_devices_at(const struct clv_devices *devices, size_t at);
/* Looks up a device by name or UUID, of several with the name one that is present; NULL:
 * there is none. */
struct clv_agent_device *clv_devices_find(
	const struct clv_devices *devices, const char *name);

/* The device itself, or the device that a partition is a part of. */
struct clv_agent_device *clv_devices_root(struct clv_agent_device *device);

/* The device of this UUID, which is added if it is new; the name of a known one stays.
 * NULL: out of memory, or too many devices. */
struct clv_agent_device *clv_devices_add(
	struct clv_devices *devices, const struct clv_device *info);

/* Problems that the probe reported: an array of strings, borrowed. */
const json_t *clv_devices_problems(const struct clv_devices *devices);

/* For the adoption: adds a device as it was stored.  NULL with *err set. */
struct clv_agent_device *clv_devices_restore(
	struct clv_devices *devices, const char *json, struct clv_error *err);

/* Takes the machine-wide lock of the device, or of the whole of a partition, unless this
 * agent has it.  -EADDRINUSE: the message names the agent that has it. */
int clv_devices_claim(struct clv_devices *devices, struct clv_agent_device *device,
	struct clv_error *err);
/* Claims all known devices for the lifetime of the system's agent, which can be repeated;
 * other agents claim none in advance. */
void clv_devices_claim_all(struct clv_devices *devices);
/* Releases the lock, unless this is the system's agent, or a lease or an operation needs
 * it. */
void clv_devices_unclaim(struct clv_devices *devices, struct clv_agent_device *device);
