/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The files to which this process has exported memory, and whether they still exist in
 * any process.  An epoll instance watches them (base/watched.h), which the agent has too:
 * it charges to the lease what outlives this process (arbiter/attach.h).  Call with the
 * lock of the pieces, except where noted. */

struct clv_view;

enum clv_export_watch {
	CLV_EXPORT_WATCHED,
	/* The driver's files cannot be watched. */
	CLV_EXPORT_UNWATCHABLE,
	/* It cannot be watched now, or the agent does not know it. */
	CLV_EXPORT_REFUSED,
};

/* Watches one more file of the memory that has this number. */
enum clv_export_watch clv_exports_watch(
	const struct clv_view *view, int fd, uint32_t number, uint64_t n_bytes);

/* Counts the instances: files that were watched under another count are not known any
 * more, because the program closed the instance's descriptor. */
uint32_t clv_exports_instance(void);

/* Visits the number of each file that exists.  False: the list cannot be read. */
bool clv_exports_visit(void (*visit)(uint32_t number, void *userdata), void *userdata);

/* Without the lock: sends the instance to another agent. */
void clv_exports_tell_again(const struct clv_view *view);

void clv_exports_forget_parent(void);
