/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/streams/legacy.h"

#include "base/clock.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"

#include <sched.h>
#include <stdlib.h>

/* The other thread is between two calls of the driver that take microseconds, or has lost
 * its processor there: that is waited for, since a marker that comes later than this
 * thread's command may close a circle.  Only in a full stream the driver may keep it
 * until the device has done what waits for this thread; then its command is not in the
 * stream yet, and the marker adds nothing to it. */
#define WAIT_NS (1 * CLV_NS_PER_S)
#define WAIT_IF_FULL_NS (1 * CLV_NS_PER_MS)
#define SPARE 64 /* commands that other threads may have under way */

/* Only ever grows, so that it is read without a lock. */
static _Atomic(struct clv_legacy *) all;

static struct clv_legacy *find(const void *context)
{
	struct clv_legacy *each = atomic_load(&all);

	while (each && each->context != context)
		each = each->next;
	return each;
}

struct clv_legacy *clv_legacy_of(void *context)
{
	struct clv_legacy *legacy = find(context), *made;

	if (legacy)
		return legacy;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->context = context;
	made->next = atomic_load(&all);
	while (!atomic_compare_exchange_weak(&all, &made->next, made)) {
		legacy = find(context);
		if (legacy) {
			free(made);
			return legacy;
		}
	}
	return made;
}

void clv_legacy_forget(const void *context)
{
	struct clv_legacy *legacy = find(context);

	if (!legacy)
		return;
	atomic_store(&legacy->has_blocking, 0);
	atomic_store(&legacy->is_used, 0);
	atomic_store(&legacy->is_drained, 0);
}

void clv_legacy_forget_parent(void)
{
	struct clv_legacy *each;

	for (each = atomic_load(&all); each; each = each->next) {
		clv_legacy_forget(each->context);
		atomic_store(&each->n_marking, 0);
		atomic_store(&each->n_events, 0);
	}
}

bool clv_legacy_submit(struct clv_legacy *legacy)
{
	if (!legacy)
		return false;
	if (!atomic_exchange(&legacy->is_used, 1))
		clv_queues_forbid_quick();
	atomic_fetch_add(&legacy->n_marking, 1);
	return true;
}

void clv_legacy_marked(struct clv_legacy *legacy)
{
	atomic_fetch_sub(&legacy->n_marking, 1);
}

/* Its handle: stream.h. */
static struct clv_queue *queue_of(const struct clv_legacy *legacy)
{
	return clv_queue_find_known((const char *)legacy->context + 1);
}

static bool may_be_full(const struct clv_legacy *legacy)
{
	const struct clv_queue *queue = queue_of(legacy);
	uint32_t depth = clv_gate.api->queues->depth;

	return queue && depth > 0 &&
	       CLV_FLIGHT_COUNT(clv_backlog_in_flight(&queue->backlog)) +
			       atomic_load(&queue->n_markers) + SPARE >=
		       depth;
}

static void wait_for_marks(struct clv_legacy *legacy)
{
	uint64_t since_ns, wait_ns;

	if (atomic_load(&legacy->n_marking) == 0)
		return;
	since_ns = clv_clock_ns();
	do {
		sched_yield();
		wait_ns = may_be_full(legacy) ? WAIT_IF_FULL_NS : WAIT_NS;
	} while (atomic_load(&legacy->n_marking) > 0 &&
		 clv_clock_ns() - since_ns < wait_ns);
}

/* What is in the legacy stream without a marker gets one now: later it would be too late.
 */
static void note_first_blocking(struct clv_legacy *legacy)
{
	struct clv_queue *queue = queue_of(legacy);

	clv_queues_forbid_quick();
	wait_for_marks(legacy);
	if (queue)
		clv_queue_mark_at_once(queue);
}

void clv_legacy_submit_blocking(struct clv_legacy *legacy)
{
	if (!legacy)
		return;
	if (!atomic_load(&legacy->has_blocking) &&
		!atomic_exchange(&legacy->has_blocking, 1))
		note_first_blocking(legacy);
	wait_for_marks(legacy);
}
