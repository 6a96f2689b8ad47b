/* SPDX-License-Identifier: Apache-2.0 */
/* Placing: which devices a new lease goes to.  Loop thread only. */
#pragma once

#include "agent/record/lease-request.h"
#include "core/device/node.h"
#include "core/share/share.h"

struct clv_agent;
struct clv_agent_device;
struct clv_error;
struct clv_lease;

/* The devices and the share for a request. */
struct clv_placing {
	struct clv_agent_device *device; /* claimed */
	struct clv_share share;          /* resolved */
	bool must_wait;                  /* the share does not fit now: queue the lease */
	/* The standing share to take, or "" */
	char standing[CLV_PARTITION_NAME_MAX + 64];
	/* For a request of several devices: the others, all claimed. */
	struct clv_agent_device *others[CLV_LEASE_DEVICES_MAX - 1];
	size_t n_others;
};

/* Chooses the device of a request: the one it names, else among those where it fits now
 * the one that core/place chooses, else, if it may wait, the one with the shortest
 * queue.  The devices are claimed (clv_devices_claim()). */
int clv_placing_choose(struct clv_agent *agent, const struct clv_lease_request *request,
	struct clv_placing *ret, struct clv_error *err);

/* Whether a device that the request may go to has no known number now
 * (agent/lifecycle/renumbering.h), so that the request should wait. */
bool clv_placing_awaits_numbers(
	const struct clv_agent *agent, const struct clv_lease_request *request);

/* Whether a queued lease may go to another device than its own and fits there now; *ret
 * has its share there, and the standing share if it waits for one. */
bool clv_placing_fits_elsewhere(const struct clv_lease *lease,
	struct clv_agent_device *device, struct clv_placing *ret);

/* 0, or -EINVAL if leases on the device cannot spill memory to the host. */
int clv_placing_check_spill(
	const struct clv_device *device, uint64_t spill_bytes, struct clv_error *err);
