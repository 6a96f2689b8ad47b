/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/placing.h"

/* What the files of placing share. */

/* Whether the request may go to the device, as to what it names. */
bool clv_placing_is_candidate(
	const struct clv_agent_device *device, const struct clv_lease_request *request);

/* 0, or -EBUSY: the share does not fit now, or others wait there already. */
int clv_placing_try(const struct clv_agent *agent, const struct clv_agent_device *device,
	const struct clv_share *share, bool overcommit, struct clv_error *err);

/* No device is a candidate: why. */
int clv_placing_fail_without_device(const struct clv_agent *agent,
	const struct clv_lease_request *request, struct clv_error *err);

/* For a request with a count of two or more. */
int clv_placing_choose_several(struct clv_agent *agent,
	const struct clv_lease_request *request, struct clv_placing *ret,
	struct clv_error *err);
