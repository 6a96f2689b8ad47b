/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

/* Takes the record; the device is looked up by the caller. */
struct clv_lease *clv_lease_new(struct clv_agent *agent, struct clv_agent_device *device,
	const struct clv_lease_record *record);
/* Releases everything but the row in the state file and the folder. */
struct clv_lease *clv_lease_free(struct clv_lease *lease);

/* Opens it for programs, with its quota in the kernel's hands where that takes it; and
 * the end of that. */
int clv_lease_activate(struct clv_lease *lease, struct clv_error *err);
void clv_lease_deactivate(struct clv_lease *lease);
