/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;
struct clv_lease;
struct clv_process_id;

/* Makes the lease known to the arbiter if it is not yet: slots of processes from before
 * an adoption are opened or cleared.  id: the process that attaches just now, or NULL.
 * report_fd as for clv_arbiter_add(). */
int clv_lease_open_arbiter(struct clv_lease *lease, const struct clv_process_id *id,
	int report_fd, struct clv_error *err);
