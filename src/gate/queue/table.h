/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/queue-record.h"

#include <stdbool.h>

/* The lookup of queue records by handle: an open-addressed table that is read without a
 * lock.  Records and outgrown tables are never freed, so stale readers stay safe. */

/* Finds or creates a queue's record, for a call of the thread that uses the queue; NULL:
 * no memory.  A released record has no handle, so a record that a thread remembers is
 * never taken for its successor. */
struct clv_queue *clv_queue_find(const void *handle);

/* The same for a call that submits nothing: many programs create a queue in one thread
 * and use it in another. */
struct clv_queue *clv_queue_add(const void *handle);

/* Finds a record; NULL: nothing was ever submitted to the queue. */
struct clv_queue *clv_queue_find_known(const void *handle);

/* Visits every record that is live when the walk begins: start with zeros, stop at
 * NULL. */
struct clv_table_walk {
	const struct clv_table *table;
	uint32_t index;
};
struct clv_queue *clv_table_next(struct clv_table_walk *walk);

/* How many records are live.  A walk visits far more places than that. */
uint32_t clv_table_n(void);

/* The program has released the queue. */
void clv_table_remove(struct clv_queue *queue);

/* Counts other users of a record; it is reused once the last user is gone.  The caller of
 * clv_table_use() knows that the record has a user.  clv_table_try_use() is for records
 * that may have none; false: it has none. */
void clv_table_use(struct clv_queue *queue);
bool clv_table_try_use(struct clv_queue *queue);
void clv_table_unuse(struct clv_queue *queue);

void clv_table_forget(void);
