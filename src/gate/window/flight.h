/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/clock.h"
#include "gate/attach/heartbeat.h"
#include "gate/process/hot.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"

/* The fast path of a submission, inline: two atomic additions and a few loads while the
 * gate is open.  No system call, no lock, no allocation; the clock is read only in a
 * granted turn or when nothing was in flight. */

/* Single bits of the count: it is incremented by one, so it cannot jump over them. */
#define CLV_FLIGHT_MAX_IN_FLIGHT (UINT64_C(1) << 18)
#define CLV_FLIGHT_MAX_UNMARKED (UINT64_C(1) << 12)
#define CLV_FLIGHT_MARKS_PER_WINDOW 2
#define CLV_FLIGHT_MARK_NS_MAX (20 * CLV_NS_PER_MS)

/* Whether `flight` is less than the window.  The last command that starts inside the
 * window may exceed it, so a device is not left idle between two kernels that are longer
 * than the window together. */
CLV_HOT bool clv_flight_has_room(const struct clv_control_page *control, uint64_t flight)
{
	return CLV_FLIGHT_NS(flight) <
		       atomic_load_explicit(&control->window_ns, memory_order_relaxed) &&
	       !(flight & CLV_FLIGHT_MAX_IN_FLIGHT);
}

/* Tries to enter one command of known length while no other lease has work (open or
 * shared) and all queues together are within the window; otherwise the command takes the
 * slow path, which checks its own queue.  Increments `entered` first and loads the phase
 * afterwards; the arbiter stores the phase first and loads the counters afterwards: at
 * least one of the two sees the other. */
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
			/* The slow path checks other processes of the lease first. */
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

/* Whether what was submitted since the last marker calls for the next one. */
CLV_HOT bool clv_flight_fills_marker(const struct clv_view *view, uint64_t unmarked)
{
	uint64_t window_ns =
		atomic_load_explicit(&view->control->window_ns, memory_order_relaxed);
	uint64_t ns = CLV_FLIGHT_NS(unmarked);

	return ns * CLV_FLIGHT_MARKS_PER_WINDOW >= window_ns ||
	       ns >= CLV_FLIGHT_MARK_NS_MAX || (unmarked & CLV_FLIGHT_MAX_UNMARKED);
}

/* Enters one command of a queue (NULL: of none) that will take about estimate_ns (0:
 * unknown), and waits for the turn and for room in the queue.  False: it was not entered
 * and this thread must not wait any longer, because it runs a callback, or work in flight
 * may be waiting for it. */
bool clv_flight_enter(
	struct clv_view *view, struct clv_backlog *backlog, uint64_t estimate_ns);

/* Removes commands that the vendor refused, or that are known to be complete. */
void clv_flight_leave(uint64_t packed);

/* Tries once to enter a command, without waiting.  If the agent is dead the command
 * enters. */
bool clv_flight_try(const struct clv_backlog *backlog, uint64_t packed);

/* Enters a command in any phase; the lease is charged for it. */
void clv_flight_enter_as_debt(struct clv_view *view, uint64_t packed);

/* A waiting thread: begin; wait and try again until the command has entered; end. */
struct clv_line {
	struct clv_slot *slot;
	uint64_t began_ns;
	uint64_t flight_seen, flight_since_ns;
	/* Since when the thread has waited in a closed gate and the lease has not
	 * drained; 0: it does not, or the lease has. */
	uint64_t undrained_since_ns;
	/* For how long it has waited in an open one for other processes of the lease. */
	uint64_t beside_others_ns;
	struct clv_heartbeat heartbeat;
	uint32_t sequence; /* clv_gate.flight_sequence before the last try */
	int saved_errno;
	bool is_in_line;
	bool is_patient; /* clv_line_wait() never returns false */
};
void clv_line_begin(struct clv_line *line);
void clv_line_end(struct clv_line *line);

/* Waits once, for the turn or for room in the queue (NULL: in any).  False: work in
 * flight may be waiting for this thread, since none completed for far longer than
 * expected. */
bool clv_line_wait(struct clv_line *line, struct clv_backlog *backlog);

/* The same check for a held command, which no thread waits with: it may enter as debt. */
bool clv_flight_is_stalled(
	const struct clv_view *view, const struct clv_backlog *backlog);

/* For how long a held command has waited in open gates for other processes of the lease;
 * initially 0. */
struct clv_beside_others {
	uint64_t seen_ns; /* when it last did; 0: not at the last look */
	uint64_t sum_ns;
};

/* Of a held command that found no room: whether it has waited for other processes for as
 * long as a thread would, and so may enter as debt.  To be called at each look. */
bool clv_flight_has_waited_for_others(const struct clv_view *view,
	const struct clv_backlog *backlog, struct clv_beside_others *beside);

/* Work that was in flight when a command entered for lack of progress may have waited for
 * that command: its duration must not be learned, since it would make the next wait
 * longer. */
void clv_flight_note_forced(void);
bool clv_flight_was_forced(uint64_t since_ns);

/* In a granted turn the least time between two markers that are only for the end of work.
 * Less than the grace of an idle process. */
#define CLV_FLIGHT_TAIL_NS (200 * CLV_NS_PER_US)
/* How long after its estimated end work is checked. */
#define CLV_FLIGHT_LATE_NS (20 * CLV_NS_PER_US)
bool clv_flight_may_mark_tail(void);

/* In a granted turn: whether the end of all submitted work is estimated.  Until that end
 * no marker tells anything new, and the helper sleeps. */
static inline bool clv_flight_end_is_known(void)
{
	return atomic_load(&clv_gate.ends_ns) != UINT64_MAX;
}

/* In a granted turn the arbiter must learn soon that this process is idle: whether to
 * place a marker at once, which is not needed if the end is known, a marker is out, or
 * the program waits for its own work. */
bool clv_flight_wants_marker_now(
	const struct clv_view *view, uint32_t n_markers, bool sync_style);

/* Rings if this process has drained (closed) or is idle (granted), once for each time.
 * after_grace: the grace of an idle process is over. */
void clv_flight_report_idle(struct clv_view *view, bool after_grace);
