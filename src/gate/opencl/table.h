/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/opencl/queues.h"

/* Where queue records are found by handle: an open-addressed table that is read without a
 * lock.  Records and outgrown tables are kept for ever, so stale readers stay safe. */

/* Visits every live record: start with *index 0, stop at false. */
bool clv_table_walk(uint32_t *index, struct clv_cl_queue **ret);

void clv_table_remove(struct clv_cl_queue *queue);

/* Makes a released record reusable once its last marker is in. */
void clv_table_recycle(struct clv_cl_queue *queue);

void clv_table_forget(void);
