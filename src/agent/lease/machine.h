/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent_device;
struct clv_error;

/* -EBUSY: a virtual machine has the device or partition; even a lease that may overcommit
 * is not placed there. */
int clv_machine_check(const struct clv_agent_device *device, struct clv_error *err);

/* -ENODEV: the memory of the device or partition is not known, so that no quota can be
 * kept there, and only a virtual machine can have it. */
int clv_machine_check_memory(
	const struct clv_agent_device *device, struct clv_error *err);
