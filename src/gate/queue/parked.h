/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Counts of blocked queues and polled markers (blocked-queue.c). */

struct clv_queue;

struct clv_parked {
	_Atomic uint32_t n_polled;   /* markers that are polled instead of waited for */
	_Atomic uint32_t n_standing; /* blocked queues */
};
extern struct clv_parked clv_parked __attribute__((visibility("hidden")));

/* Whether markers must be polled instead of waited for. */
bool clv_markers_must_poll(void);

/* With the queue's mark_lock held: its parked work without a marker is in flight
 * again. */
void clv_parked_take_back(struct clv_queue *queue);

/* Work that was blocked is in flight again, whatever the phase. */
void clv_parked_resume(uint64_t packed);
