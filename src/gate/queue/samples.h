/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/queue/markers.h"

/* Learns how long commands take (window/costs.h) from the completion of their markers.
 * Any thread; two threads that book markers of one queue at a time cost a sample. */

/* Learns from commands that are complete since now_ns. */
void clv_samples_learn(
	struct clv_queue *queue, const struct clv_marker *done, uint64_t now_ns);

/* Drops what has no estimate yet: the queue was idle since, or the time tells nothing. */
void clv_samples_drop(struct clv_queue *queue);
