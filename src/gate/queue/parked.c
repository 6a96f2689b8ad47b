/* SPDX-License-Identifier: Apache-2.0 */
/* Counts blocked work out of the work in flight, and in again. */
#include "gate/queue/parked.h"

#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/process/view.h"
#include "gate/queue/booking.h"
#include "gate/window/costs.h"
#include "gate/window/flight.h"

struct clv_parked clv_parked;

bool clv_markers_must_poll(void)
{
	const struct clv_queue_ops *ops = clv_gate.api->queues;

	return ops->may_block &&
	       (atomic_load(&clv_parked.n_polled) > 0 || ops->may_block());
}

void clv_parked_resume(uint64_t packed)
{
	struct clv_view *view = clv_gate_current_view();

	if (view && CLV_FLIGHT_COUNT(packed) > 0)
		clv_flight_enter_as_debt(view, packed);
}

void clv_parked_take_back(struct clv_queue *queue)
{
	uint64_t packed = atomic_exchange(&queue->parked, 0);

	if (atomic_exchange(&queue->is_blocked, 0))
		atomic_fetch_sub(&clv_parked.n_standing, 1);
	clv_parked_resume(packed);
	if (CLV_FLIGHT_COUNT(packed) == 0)
		return;
	atomic_store(&queue->unmarked_kind, CLV_COST_MIXED);
	clv_queue_note_first(queue);
	atomic_fetch_add(&queue->backlog.unmarked, packed);
}
