/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The places of the driver's queue, of which CUDA and HIP have a bounded number: a call
 * that finds them taken blocks until a command is complete.  Any thread. */

struct clv_queue;

/* How many are taken, at most. */
uint64_t clv_queue_n_places(const struct clv_queue *queue);

/* Counts commands that are no work and take places in the driver's queue all the same.
 * Returns how many have been counted now. */
uint64_t clv_queue_count_others(struct clv_queue *queue, uint32_t n);
/* The first n of these are complete: those before a marker, a wait or a copy that is. */
void clv_queue_others_done(struct clv_queue *queue, uint64_t n);

/* Whether the driver's queue has so many places left that the gate may take some for
 * events that it can do without. */
bool clv_queue_has_room(const struct clv_queue *queue);

/* How many waits of a queue may have events of the gate's around them at once, and how
 * many copies one behind them. */
uint32_t clv_queue_waits_max(void);
uint32_t clv_queue_copies_max(void);

/* Whether a marker is out and another could block this thread, or one that submits later.
 * Then the one that is out is booked first, and the tail gets another behind it. */
bool clv_queue_is_nearly_full(const struct clv_queue *queue);
