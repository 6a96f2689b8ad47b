/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/attach/choose-lease.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_error;

/* Where the process's lease is, and whether the process may run without it. */
struct clv_lease_place {
	char socket[CLV_LEASE_PLACE_MAX]; /* to connect to */
	/* A lease belongs to this gate: what starts programs has put a link to its socket
	 * where the program did not choose the place.  The program's variables then
	 * neither lead to another socket nor allow it to run without a lease. */
	bool is_known;
	/* Where no agent answers, the process may use the device without a limit. */
	bool may_be_ungated;
	uint32_t n_before; /* devices in the container's leases before this one */
};

/* Returns 0, and otherwise fills in what is known.  -EPERM: CLEAVE_LEASE names a socket
 * other than that of the lease.  -ENODEV: the program was started without a lease on
 * purpose; the message has the reason and what would work.  Any thread. */
int clv_lease_find(uint32_t api, struct clv_lease_place *ret, struct clv_error *err);

/* The same for the lease whose socket, or link to it, is in this folder.  *ret is zeroed
 * before. */
int clv_lease_find_in(
	const char *folder, struct clv_lease_place *ret, struct clv_error *err);
