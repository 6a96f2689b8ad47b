/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/page.h"

struct clv_error;

/* The agent's side of a lease's pages: both mapped writable, the control page sealed
 * against every later writer.  The caller owns the storage. */
struct clv_pages {
	int control_fd;
	int report_fd;
	int doorbell_fd; /* where the agent hears it */
	int ring_fd;     /* where tenants ring it */
	struct clv_control_page *control;
	struct clv_report_page *report;
};

/* report_fd >= 0: take this report page (duplicated) in place of a new one; it must be a
 * memfd of the right size that cannot shrink, or -EINVAL: a tenant that could truncate it
 * would kill the agent with SIGBUS. */
int clv_pages_init(struct clv_pages *pages, uint64_t device_memory_bytes, int report_fd,
	struct clv_error *err);
void clv_pages_done(struct clv_pages *pages);
