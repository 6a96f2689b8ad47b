/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/lease-request.h"
#include "base/error.h"
#include "core/device/node.h"
#include "core/share/share.h"

#include <stddef.h>

struct clv_agent;
struct clv_caller;
struct clv_lease;

/* Where leases would go, if the caller requested them now, one after the other: each is
 * tried as if those before it had been made.  Nothing is changed.  Loop thread only. */

struct clv_trial {
	/* In.  The request's name and whether it may wait have no effect. */
	const struct clv_lease_request *request;
	/* The lease in whose place it comes, or NULL: that one ends once the new one is
	 * there or, where it has no room beside it, and with ends_first, before. */
	struct clv_lease *instead_of;
	bool ends_first;
	/* Out. */
	int r; /* 0, or as clv_lifecycle_create() with the error */
	struct clv_error err;
	char device[CLV_PARTITION_NAME_MAX];
	struct clv_share share;
	bool is_after_end; /* instead_of has to end before */
};

/* gone: leases that are taken to have ended. */
void clv_trial_run(struct clv_agent *agent, const struct clv_caller *caller,
	struct clv_lease *const *gone, size_t n_gone, struct clv_trial *trials, size_t n);
