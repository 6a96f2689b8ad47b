/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/ledger/placing.h"
#include "core/share/admission.h"

/* What the files of placing share. */

/* Whether the request may go to the device, as to what it names. */
bool clv_placing_is_candidate(const struct clv_agent *agent,
	const struct clv_agent_device *device, const struct clv_lease_request *request);

/* 0, or -EBUSY: the share does not fit now, or others wait there already.  ret_promised:
 * what the device has promised, in both cases. */
int clv_placing_try(const struct clv_agent *agent, const struct clv_agent_device *device,
	const struct clv_share *share, bool overcommit, struct clv_promised *ret_promised,
	struct clv_error *err);

/* A device that is a candidate. */
struct clv_placing_option {
	struct clv_agent_device *device;
	struct clv_share share; /* what the request is there */
	struct clv_promised promised;
	bool is_open; /* it fits now */
};

struct clv_placing_wish {
	const struct clv_placing_option *options; /* in the order of the devices */
	size_t n;
	unsigned count;      /* of devices that are alike */
	bool is_same_device; /* all of them partitions of one device */
};

/* Which of the open options to take: ret has room for count.  0; -ENOSPC: so many are not
 * free together; -ENOMEM. */
int clv_placing_best(
	const struct clv_agent *agent, const struct clv_placing_wish *wish, size_t *ret);

/* For use together. */
bool clv_placing_are_alike(
	const struct clv_agent_device *a, const struct clv_agent_device *b);

/* No device is a candidate: why. */
int clv_placing_fail_without_device(const struct clv_agent *agent,
	const struct clv_lease_request *request, struct clv_error *err);

/* For a request with a count of two or more. */
int clv_placing_choose_several(struct clv_agent *agent,
	const struct clv_lease_request *request, struct clv_placing *ret,
	struct clv_error *err);
