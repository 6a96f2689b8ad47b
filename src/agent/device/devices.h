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

/* A device of this machine.  Owned by struct clv_devices, never moved, never freed before
 * it. */
struct clv_agent_device {
	struct clv_device info;
	struct clv_arbiter *arbiter; /* from the first attach on */
	int lock_fd;                 /* the machine-wide lock; -1: not ours */
	bool is_present;             /* the drivers show it */
	/* NULL: a whole device.  Else this is a partition, and locks are its parent's. */
	struct clv_agent_device *parent;
	/* Those that have it or wait for it, oldest first; the ledger's. */
	struct clv_lease **leases;
	size_t n_leases;
	int32_t numa_node; /* that is nearest to it; -1: not known */
	bool is_divided;   /* into partitions: these are leased, the whole is not */
	bool is_cordoned;  /* by an admin: nothing new is let in until he says so */
	char cordon_reason[CLV_REASON_MAX];
	struct clv_usage usage;
	struct clv_usage_idle idle;
	struct clv_executor *executor; /* NULL: nothing was tried */
	bool is_enforced; /* drivers said something of its leases when it was last read */
	struct clv_condition *condition; /* of a whole device; NULL: nothing is known */
	bool has_stored_debts; /* the state has some of it: agent/lease/debts.h */
	bool is_changing;  /* an apply is about to take it away: nothing new is let in */
	uint32_t n_ranked; /* the queue's */
};

/* The devices and how they are found: drivers are asked in a process of their own, with a
 * time-out, and the answer is kept in a cache file. */
struct clv_devices;

int clv_devices_new(
	struct clv_agent *agent, struct clv_devices **ret, struct clv_error *err);
/* Stops the arbiters; leases must be gone. */
struct clv_devices *clv_devices_free(struct clv_devices *devices);

/* Takes the devices from the cache, or starts to ask the drivers if the cache does not
 * fit (any more) what is installed.  Cheap when nothing changed. */
void clv_devices_refresh(struct clv_devices *devices);

/* The drivers are being asked; CLV_TOPIC_DEVICES is woken when they answered. */
bool clv_devices_is_pending(const struct clv_devices *devices);

size_t clv_devices_count(const struct clv_devices *devices);
struct clv_agent_device *clv_devices_at(const struct clv_devices *devices, size_t at);
/* By name or UUID; NULL if there is none. */
struct clv_agent_device *clv_devices_find(
	const struct clv_devices *devices, const char *name);

/* The device itself, or what it is a part of. */
struct clv_agent_device *clv_devices_root(struct clv_agent_device *device);

/* The device of this UUID, made from info if there is none yet; its name stays.  NULL
 * without room. */
struct clv_agent_device *clv_devices_add(
	struct clv_devices *devices, const struct clv_device *info);

/* Why there are not more of them: an array of strings, borrowed. */
const json_t *clv_devices_problems(const struct clv_devices *devices);

/* For adoption: a device as it was stored. */
struct clv_agent_device *clv_devices_restore(
	struct clv_devices *devices, const char *json, struct clv_error *err);

/* Takes the machine-wide lock of the device if this agent has not got it yet.
 * -EADDRINUSE names the agent that has it. */
int clv_devices_claim(struct clv_devices *devices, struct clv_agent_device *device,
	struct clv_error *err);
/* The system's agent has all devices for as long as it runs; others, none in advance. */
void clv_devices_claim_all(struct clv_devices *devices);
/* Gives it back, unless this is the system's agent. */
void clv_devices_unclaim(struct clv_devices *devices, struct clv_agent_device *device);

/* The names of whole devices: {UUID: NAME}. */
void clv_devices_add_names(const struct clv_devices *devices, json_t *names);
