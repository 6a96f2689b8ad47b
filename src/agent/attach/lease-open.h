/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

/* Makes a lease on the device with a copy of the record.  It is neither in the ledger nor
 * active.  NULL without memory. */
struct clv_lease *clv_lease_new(struct clv_agent *agent, struct clv_agent_device *device,
	const struct clv_lease_record *record);
/* Frees the lease.  Its row in the state file and its folder stay. */
struct clv_lease *clv_lease_free(struct clv_lease *lease);

/* Activation makes the lease's folder and socket and sets the kernel's memory limit where
 * possible.  Deactivation undoes all of it. */
int clv_lease_activate(struct clv_lease *lease, struct clv_error *err);
void clv_lease_deactivate(struct clv_lease *lease);
