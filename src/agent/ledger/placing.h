/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-request.h"
#include "core/device/node.h"
#include "core/share/share.h"

struct clv_agent;
struct clv_agent_device;
struct clv_error;

struct clv_placing {
	struct clv_agent_device *device; /* claimed */
	struct clv_share share;          /* complete */
	bool must_wait;
	char standing[CLV_PARTITION_NAME_MAX + 64]; /* the standing share, or "" */
	/* Where several were asked for: the devices behind the first, all claimed. */
	struct clv_agent_device *others[CLV_LEASE_DEVICES_MAX - 1];
	size_t n_others;
};

/* Which device a request goes to: the one it names, else of those on which it fits now
 * the one that core/place takes, else (if it may wait) the one with the shortest queue.
 */
int clv_placing_choose(struct clv_agent *agent, const struct clv_lease_request *request,
	struct clv_placing *ret, struct clv_error *err);

/* A device that the request may go to has no number for now (agent/ledger/renumbering.h).
 */
bool clv_placing_awaits_numbers(
	const struct clv_agent *agent, const struct clv_lease_request *request);

/* -EINVAL where a lease on the device cannot have spill_bytes of the host's memory. */
int clv_placing_check_spill(
	const struct clv_device *device, uint64_t spill_bytes, struct clv_error *err);
