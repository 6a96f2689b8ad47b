/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/placing/placing.h"
#include "core/share/admission.h"

/* Declarations that the files of placing share. */

/* Whether the device is one that the request names, present, not cordoned, healthy enough
 * and not being changed. */
bool clv_placing_is_candidate(const struct clv_agent *agent,
	const struct clv_agent_device *device, const struct clv_lease_request *request);

/* 0, or -EBUSY: the share does not fit now, or other leases are queued there.
 * *ret_promised is set in both cases: the device's promises so far. */
int clv_placing_try(struct clv_agent *agent, const struct clv_agent_device *device,
	const struct clv_share *share, bool overcommit, struct clv_promised *ret_promised,
	struct clv_error *err);

/* A candidate device of a request. */
struct clv_placing_option {
	struct clv_agent_device *device;
	struct clv_share share; /* the request's share, resolved for the device */
	struct clv_promised promised;
	bool is_open; /* the share fits now */
};

/* What to choose from the candidates. */
struct clv_placing_goal {
	const struct clv_placing_option *options; /* in the order of the devices */
	size_t n;
	unsigned count;      /* devices needed, all alike */
	bool is_same_device; /* all must be partitions of one device */
};

/* Chooses among the open options: their indexes go to ret, which has room for count. 0;
 * -ENOSPC: not so many are free together; -ENOMEM. */
int clv_placing_best(
	const struct clv_agent *agent, const struct clv_placing_goal *wish, size_t *ret);

/* Whether two devices may be in one lease: of the same model, profile and memory. */
bool clv_placing_are_alike(
	const struct clv_agent_device *a, const struct clv_agent_device *b);

/* Sets the error for a request that has no candidate: why there is none. */
int clv_placing_fail_without_device(const struct clv_agent *agent,
	const struct clv_lease_request *request, struct clv_error *err);

/* clv_placing_choose() for a request with a count of two or more. */
int clv_placing_choose_several(struct clv_agent *agent,
	const struct clv_lease_request *request, struct clv_placing *ret,
	struct clv_error *err);
