/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_attached;
struct clv_lease;

/* Memory that outlives the process that allocated it, because another process has it
 * mapped or has the file to which it was exported.  It counts in the lease's quota until
 * nothing has the file any more (arbiter/attach.h).  Loop thread only. */

/* The process sent an epoll instance that watches its exported files (fd is borrowed, and
 * may be of any kind). */
void clv_orphaned_memory_record(struct clv_attached *process, int fd);

/* Charges to the lease what still exists of the memory of a process that has ended.  Call
 * before its slot is cleared, so that the memory is never uncharged in between. */
void clv_orphaned_memory_inherit(struct clv_attached *process);

/* Drops the charges of memory that no longer exists.  Call once a second. */
void clv_orphaned_memory_check(struct clv_lease *lease);

void clv_orphaned_memory_forget(struct clv_lease *lease);
void clv_orphaned_memory_forget_process(struct clv_attached *process);
