/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;
struct clv_lease;
struct clv_process_id;

/* Adds the lease to its device's arbiter, if it is not there yet; starts the arbiter if
 * it is the device's first.  Slots of an earlier agent's processes are opened again,
 * those of dead ones cleared. id: the process that attaches, or NULL. report_fd as for
 * clv_arbiter_add(). */
int clv_lease_open_arbiter(struct clv_lease *lease, const struct clv_process_id *id,
	int report_fd, struct clv_error *err);
