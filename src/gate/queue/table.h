/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/queue-record.h"

/* Where queue records are found by handle: an open-addressed table that is read without a
 * lock.  Records and outgrown tables are kept for ever, so stale readers stay safe. */

/* NULL only when memory ran out.  A released record has no handle, so what a thread
 * remembers is never taken for its successor. */
struct clv_queue *clv_queue_find(const void *handle);

/* NULL: nothing was ever submitted to it. */
struct clv_queue *clv_queue_find_known(const void *handle);

/* Visits every live record of the moment it began: start with zeros, stop at NULL. */
struct clv_table_walk {
	const struct clv_table *table;
	uint32_t index;
};
struct clv_queue *clv_table_next(struct clv_table_walk *walk);

/* It is used no longer by the program. */
void clv_table_remove(struct clv_queue *queue);

/* By whom else a record is used; the last that does so no longer makes it another's. */
void clv_table_use(struct clv_queue *queue);
void clv_table_unuse(struct clv_queue *queue);

void clv_table_forget(void);
