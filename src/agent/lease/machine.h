/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_agent_device;
struct clv_lease;
struct clv_error;

/* -EBUSY: a virtual machine has the device or partition; even a lease that may overcommit
 * is not placed there. */
int clv_machine_check(const struct clv_agent_device *device, struct clv_error *err);

/* Whether the lease gives a whole device away, so that VFIO may take it from its driver:
 * one for a virtual machine, or a kept one of all of it, as those of pools. */
bool clv_machine_has_whole(const struct clv_lease *lease);

/* -ENODEV: the memory of the device or partition is not known, so that no quota can be
 * kept there, and only a virtual machine can have it. */
int clv_machine_check_memory(
	const struct clv_agent_device *device, struct clv_error *err);
