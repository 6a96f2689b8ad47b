/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/queue/places.h"

#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"

void clv_queue_others_done(struct clv_queue *queue, uint64_t n)
{
	uint64_t before = atomic_load(&queue->n_others_done);

	while (before < n &&
		!atomic_compare_exchange_weak(&queue->n_others_done, &before, n))
		;
}

uint64_t clv_queue_n_places(const struct clv_queue *queue)
{
	uint64_t n_done = atomic_load(&queue->n_others_done);

	return CLV_FLIGHT_COUNT(clv_backlog_in_flight(&queue->backlog)) +
	       CLV_FLIGHT_COUNT(atomic_load(&queue->parked)) +
	       atomic_load(&queue->n_markers) + (atomic_load(&queue->n_others) - n_done);
}

uint64_t clv_queue_count_others(struct clv_queue *queue, uint32_t n)
{
	return atomic_fetch_add(&queue->n_others, n) + n;
}

bool clv_queue_has_room(const struct clv_queue *queue)
{
	return clv_queue_n_places(queue) < clv_gate.api->queues->depth / 2;
}

/* The gate's events that are out take at most these parts of the places, so that they
 * leave nearly all to a program that fills a queue behind a command which waits for the
 * program: those around waits, those behind copies, and markers. */
#define PART_OF_WAITS 64 /* with two events each */
#define PART_OF_COPIES 64
#define PART_OF_MARKERS 64

uint32_t clv_queue_waits_max(void)
{
	return clv_gate.api->queues->depth / PART_OF_WAITS;
}

uint32_t clv_queue_copies_max(void)
{
	return clv_gate.api->queues->depth / PART_OF_COPIES;
}

static bool has_all_markers(const struct clv_queue *queue)
{
	uint32_t depth = clv_gate.api->queues->depth;

	return depth > 0 && atomic_load(&queue->n_markers) >= depth / PART_OF_MARKERS;
}

bool clv_queue_is_nearly_full(const struct clv_queue *queue)
{
	uint32_t depth = clv_gate.api->queues->depth;

	return depth > 0 && atomic_load(&queue->n_markers) > 0 &&
	       (has_all_markers(queue) || clv_queue_n_places(queue) >= depth);
}
