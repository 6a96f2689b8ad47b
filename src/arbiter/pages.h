/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/page.h"

struct clv_error;

/* The agent's side of a lease's pages: both are mapped writable, and the control page is
 * sealed against every later writer.  The caller owns the storage. */
struct clv_pages {
	int control_fd;
	int report_fd;
	int doorbell_fd; /* the read end, for the agent */
	int ring_fd;     /* the write end, for gates */
	struct clv_control_page *control;
	struct clv_report_page *report;
};

/* report_fd >= 0: take this report page (duplicated) in place of a new one.  It must be a
 * memfd of the right size that cannot shrink, else -EINVAL: a tenant that could truncate
 * it could kill the agent with SIGBUS. */
int clv_pages_init(struct clv_pages *pages, uint64_t device_memory_bytes, int report_fd,
	struct clv_error *err);
void clv_pages_done(struct clv_pages *pages);
