/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/clock.h"
#include "gate/attach/heartbeat.h"
#include "gate/process/hot.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"

/* The hot part of a submission, inline: two locked additions and a few loads while the
 * gate is open.  No system call, no lock, no allocation; the clock only in a granted turn
 * or when nothing was in flight. */

/* Bits of the count: one more command at a time cannot jump over them unseen. */
#define CLV_FLIGHT_MAX_IN_FLIGHT (UINT64_C(1) << 18)
#define CLV_FLIGHT_MAX_UNMARKED (UINT64_C(1) << 12)
#define CLV_FLIGHT_MARKS_PER_WINDOW 2
#define CLV_FLIGHT_MARK_NS_MAX (20 * CLV_NS_PER_MS)

/* Whether `flight` is less than the window.  The window may be passed by the
 * last one that starts inside it, so a device is not left idle between two kernels that
 * are longer than the window together. */
CLV_HOT bool clv_flight_has_room(const struct clv_control_page *control, uint64_t flight)
{
	return CLV_FLIGHT_NS(flight) <
		       atomic_load_explicit(&control->window_ns, memory_order_relaxed) &&
	       !(flight & CLV_FLIGHT_MAX_IN_FLIGHT);
}

/* One attempt of a command of known length while nobody else has work (open or shared)
 * and all queues together are within the window; else the command takes the long way,
 * which looks at its own queue.
 * Counts itself in first and looks at the phase afterwards; the arbiter stores the phase
 * first and reads the counts afterwards: one of the two sees the other. */
CLV_HOT bool clv_flight_quick_enter(struct clv_view *view, uint64_t packed)
{
	const struct clv_control_page *control = view->control;
	uint32_t phase;
	uint64_t flight;

	atomic_fetch_add(&view->slot->entered, 1);
	phase = CLV_PHASE_OF(atomic_load(&control->phase));
	if (CLV_LIKELY(phase - CLV_PHASE_OPEN <= CLV_PHASE_SHARED - CLV_PHASE_OPEN)) {
		flight = atomic_fetch_add(&clv_gate.flight, packed);
		if (CLV_UNLIKELY(flight == 0)) {
			atomic_store(
				&view->slot->busy_since_ns, clv_agent_clock_ns(view));
			/* Other processes of the lease are looked at first. */
			if (!clv_flight_has_room(control, packed))
				flight = CLV_FLIGHT_MAX_IN_FLIGHT;
		}
		if (CLV_LIKELY(clv_flight_has_room(control, flight)))
			return true;
		atomic_fetch_sub(&clv_gate.flight, packed);
	}
	atomic_fetch_add(&view->slot->done, 1);
	return false;
}

/* Whether what was submitted since the last marker is enough for the next one. */
CLV_HOT bool clv_flight_fills_marker(const struct clv_view *view, uint64_t unmarked)
{
	uint64_t part_ns =
		atomic_load_explicit(&view->control->window_ns, memory_order_relaxed) /
		CLV_FLIGHT_MARKS_PER_WINDOW;

	if (part_ns > CLV_FLIGHT_MARK_NS_MAX)
		part_ns = CLV_FLIGHT_MARK_NS_MAX;
	return CLV_FLIGHT_NS(unmarked) >= part_ns || (unmarked & CLV_FLIGHT_MAX_UNMARKED);
}

/* Enters one command of a queue (NULL: of none) that will take about estimate_ns (0:
 * unknown), and waits for the turn and for room in the queue.  False: it did not go in,
 * and this thread must not wait any longer: it runs a callback, or what is in flight may
 * be waiting for it. */
bool clv_flight_enter(
	struct clv_view *view, struct clv_backlog *backlog, uint64_t estimate_ns);

/* Commands that went in but were refused by the vendor, or are known to be complete. */
void clv_flight_leave(uint64_t packed);

/* One attempt, without waiting, of a command that may go in at any time.  With no agent
 * left to ask it goes in. */
bool clv_flight_try(const struct clv_backlog *backlog, uint64_t packed);

/* Goes in whatever the phase, and pays for it. */
void clv_flight_enter_as_debt(struct clv_view *view, uint64_t packed);

/* A thread in line: begin, wait and try again until it went in, end. */
struct clv_line {
	struct clv_slot *slot;
	uint64_t began_ns;
	uint64_t flight_seen, flight_since_ns;
	struct clv_heartbeat heartbeat;
	uint32_t sequence; /* of clv_gate's flight, before the last try */
	int saved_errno;
	bool is_in_line;
	bool is_patient; /* it never gives up */
};
void clv_line_begin(struct clv_line *line);
void clv_line_end(struct clv_line *line);

/* Waits once, for the turn or for room in the queue (NULL: in any).  False: what this
 * thread waits for may be waiting for this thread, since nothing was complete for far
 * longer than expected. */
bool clv_line_wait(struct clv_line *line, struct clv_backlog *backlog);

/* The same for a command that no thread waits with: it may go in as debt. */
bool clv_flight_is_stalled(
	const struct clv_view *view, const struct clv_backlog *backlog);

/* What was in flight when a command went in for lack of progress may have waited for that
 * command: how long it took says nothing, and learnt would make the next wait longer. */
void clv_flight_note_forced(void);
bool clv_flight_was_forced(uint64_t since_ns);

/* In a granted turn so long passes at least between two markers that nothing but the end
 * of work calls for.  Less than the grace that an idle process has. */
#define CLV_FLIGHT_TAIL_NS (200 * CLV_NS_PER_US)
/* So long after its estimated end work is looked at. */
#define CLV_FLIGHT_LATE_NS (20 * CLV_NS_PER_US)
bool clv_flight_may_mark_tail(void);

/* In a granted turn: by estimate, when all that was submitted will be complete.  Until
 * then no marker tells anything new, and the helper sleeps. */
static inline bool clv_flight_end_is_known(void)
{
	return atomic_load(&clv_gate.ends_ns) != UINT64_MAX;
}

/* In a granted turn the arbiter must learn soon that this process is idle: a marker at
 * once, unless the end is known, one is out, or the program waits for its own work. */
bool clv_flight_wants_marker_now(
	const struct clv_view *view, uint32_t n_markers, bool sync_style);

/* Tells the arbiter when this process has just drained (closed) or fallen idle (granted).
 */
void clv_flight_report_idle(struct clv_view *view, bool after_grace);
