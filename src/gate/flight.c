/* SPDX-License-Identifier: Apache-2.0 */
/* The turn and the window: what a submission does when it may not simply go ahead
 * (flight.h has that part), and what is done when commands are complete. */
#include "gate/flight.h"

#include "base/futex.h"
#include "gate/attach.h"

#include <errno.h>

#define WAIT_NS (10 * CLV_NS_PER_MS)
#define WINDOW_WAIT_NS (1 * CLV_NS_PER_MS)
#define PATIENCE_NS (2 * WAIT_NS)

static bool is_open(const struct clv_control_page *control, enum clv_phase phase)
{
	if (phase == CLV_PHASE_GRANTED)
		return clv_clock_ns() < atomic_load(&control->deadline_ns);
	return phase != CLV_PHASE_CLOSED;
}

/* In a granted turn only what will start before the deadline may join, so that a turn is
 * overrun by part of one command.  Unknown commands (estimate 0) go alone while somebody
 * else may be waiting. */
static bool fits(const struct clv_control_page *control, enum clv_phase phase,
	uint64_t flight, uint64_t estimate_ns)
{
	if (CLV_FLIGHT_COUNT(flight) == 0)
		return true;
	if (phase == CLV_PHASE_GRANTED && clv_clock_ns() + CLV_FLIGHT_NS(flight) >=
						  atomic_load(&control->deadline_ns))
		return false;
	if (CLV_FLIGHT_COUNT(flight) < atomic_load(&control->window_commands))
		return true;
	return clv_flight_has_room(control, flight) &&
	       (estimate_ns > 0 || phase == CLV_PHASE_OPEN);
}

static bool is_drained(const struct clv_view *view)
{
	return atomic_load(&view->slot->done) == atomic_load(&view->slot->entered);
}

/* One attempt, of any command in any phase: the order of steps is
 * clv_flight_quick_enter's. */
static bool try_enter(struct clv_view *view, uint64_t packed)
{
	enum clv_phase phase;
	uint64_t flight;

	atomic_fetch_add(&view->slot->entered, 1);
	phase = CLV_PHASE_OF(atomic_load(&view->control->phase));
	if (is_open(view->control, phase)) {
		flight = atomic_fetch_add(&clv_gate.flight, packed);
		if (CLV_FLIGHT_COUNT(flight) == 0)
			atomic_store(&clv_gate.busy_since_ns, clv_clock_ns());
		if (fits(view->control, phase, flight, CLV_FLIGHT_NS(packed)))
			return true;
		atomic_fetch_sub(&clv_gate.flight, packed);
	}
	atomic_fetch_add(&view->slot->done, 1);
	return false;
}

static void enter_unasked(struct clv_view *view, uint64_t packed)
{
	atomic_fetch_add(&view->slot->entered, CLV_FLIGHT_COUNT(packed));
	if (CLV_FLIGHT_COUNT(atomic_fetch_add(&clv_gate.flight, packed)) == 0)
		atomic_store(&clv_gate.busy_since_ns, clv_clock_ns());
}

/* Work that no turn was asked for, in a closed gate: the arbiter is told, once a turn,
 * and charges it until it is complete. */
static void enter_as_debt(struct clv_view *view, uint64_t packed)
{
	static _Atomic uint32_t told_for;
	uint32_t word;

	enter_unasked(view, packed);
	word = atomic_load(&view->control->phase);
	if (CLV_PHASE_OF(word) == CLV_PHASE_CLOSED &&
		atomic_exchange(&told_for, word) != word)
		clv_attach_ring(view);
}

static void wait_for_window(void)
{
	uint32_t sequence;

	atomic_fetch_add(&clv_gate.n_window_waiters, 1);
	sequence = atomic_load(&clv_gate.flight_sequence);
	clv_gate.api->mark_tails(false);
	if (CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight)) > 0)
		clv_futex_wait(&clv_gate.flight_sequence, sequence, WINDOW_WAIT_NS);
	atomic_fetch_sub(&clv_gate.n_window_waiters, 1);
}

static void wait_for_turn(struct clv_view *view, uint32_t word, bool ring)
{
	/* An expired turn needs no ring: the arbiter's own timer looks at it. */
	if (ring && CLV_PHASE_OF(word) == CLV_PHASE_CLOSED && !clv_attach_ring(view))
		clv_gate_seek_agent(view);
	clv_futex_wait(&view->control->phase, word, WAIT_NS);
}

/* In line for a turn, or not: told once for each change, before the bell rings. */
static void stand_in_line(struct clv_slot *slot, bool *in_line, bool wanted)
{
	if (*in_line == wanted)
		return;
	*in_line = wanted;
	if (wanted)
		atomic_fetch_add(&slot->waiting, 1);
	else
		atomic_fetch_sub(&slot->waiting, 1);
}

/* A callback that waits for a lock of the program's, which this thread holds while it
 * waits for the callback's command to complete, would wait for ever.  So whoever finds a
 * callback running and nothing completing goes ahead, and pays afterwards. */
struct patience {
	uint64_t since_ns;
	uint64_t flight;
};

static bool is_exhausted(struct patience *patience, const struct clv_view *view)
{
	uint64_t flight = atomic_load(&clv_gate.flight), now_ns = clv_clock_ns();

	if (atomic_load(&clv_gate.n_in_callback) == 0 || is_drained(view) ||
		flight != patience->flight) {
		*patience = (struct patience){now_ns, flight};
		return false;
	}
	return now_ns - patience->since_ns > PATIENCE_NS;
}

void clv_flight_wait_for_turn(struct clv_view *view)
{
	int saved_errno = errno;
	bool in_line = false;
	struct clv_slot *slot = view->slot;
	uint32_t word;

	if (clv_gate_thread.callback_depth > 0)
		return;
	for (;; view = clv_gate_peek()) {
		word = atomic_load(&view->control->phase);
		if (view->slot != slot) {
			stand_in_line(slot, &in_line, false);
			slot = view->slot;
		}
		if (clv_gate_agent_is_dead(view) ||
			is_open(view->control, CLV_PHASE_OF(word)))
			break;
		stand_in_line(slot, &in_line, true);
		wait_for_turn(view, word, true);
	}
	stand_in_line(slot, &in_line, false);
	errno = saved_errno;
}

static void enter_slowly(struct clv_view *view, uint64_t packed)
{
	struct patience patience = {0};
	uint64_t began_ns = clv_clock_ns();
	struct clv_slot *slot = view->slot;
	bool ring = true, in_line = false;

	for (;; view = clv_gate_peek()) {
		uint32_t word = atomic_load(&view->control->phase);
		uint64_t asked_ns = clv_clock_ns();

		if (view->slot != slot) {
			stand_in_line(slot, &in_line, false);
			slot = view->slot;
		}
		if (clv_gate_agent_is_dead(view)) {
			clv_gate_seek_agent(view);
			if (clv_gate_peek() != view)
				continue;
			enter_unasked(view, packed);
			break;
		}
		if (is_exhausted(&patience, view)) {
			enter_as_debt(view, packed);
			break;
		}
		if (!is_open(view->control, CLV_PHASE_OF(word))) {
			stand_in_line(slot, &in_line, true);
			wait_for_turn(view, word, ring);
			/* Only a ring that was due and given needs no other. */
			ring = (ring && CLV_PHASE_OF(word) != CLV_PHASE_CLOSED) ||
			       clv_clock_ns() - asked_ns >= WAIT_NS;
		} else if (try_enter(view, packed)) {
			break;
		} else {
			stand_in_line(slot, &in_line, false);
			wait_for_window();
			ring = true;
		}
	}
	stand_in_line(slot, &in_line, false);
	atomic_fetch_add(&slot->waited_ns, clv_clock_ns() - began_ns);
}

void clv_flight_enter(struct clv_view *view, uint64_t estimate_ns)
{
	uint64_t packed = CLV_FLIGHT_PACK(estimate_ns);
	int saved_errno;

	if (CLV_LIKELY(clv_gate_thread.callback_depth == 0 && try_enter(view, packed)))
		return;

	saved_errno = errno;
	if (clv_gate_thread.callback_depth > 0)
		enter_as_debt(view, packed);
	else
		enter_slowly(view, packed);
	errno = saved_errno;
}

void clv_flight_released(uint64_t packed)
{
	struct clv_view *view = clv_gate_peek();

	if (!view)
		return;
	enter_as_debt(view, packed);
}

/* Closed and drained, or granted and idle: the arbiter is told once for each time. */
void clv_flight_report_idle(struct clv_view *view, bool after_grace)
{
	uint32_t word = atomic_load(&view->control->phase);
	enum clv_phase phase = CLV_PHASE_OF(word);
	uint64_t done = atomic_load(&view->slot->done), key;

	if (phase == CLV_PHASE_OPEN || phase == CLV_PHASE_SHARED ||
		done != atomic_load(&view->slot->entered))
		return;
	if (phase == CLV_PHASE_GRANTED && atomic_load(&view->slot->waiting) > 0)
		return;
	if (phase == CLV_PHASE_GRANTED && !after_grace &&
		atomic_load_explicit(&view->control->grace_ns, memory_order_relaxed) > 0)
		return;
	key = ((uint64_t)word << 32) | (uint32_t)done;
	if (atomic_exchange(&clv_gate.rung_for, key) != key && !clv_attach_ring(view))
		clv_gate_seek_agent(view);
}

void clv_flight_leave(uint64_t packed)
{
	struct clv_view *view = clv_gate_peek();
	uint64_t now_ns, since_ns;

	atomic_fetch_sub(&clv_gate.flight, packed);
	if (!view)
		return;
	/* Not only when the last one is in: a deep queue never gets there. */
	now_ns = clv_clock_ns();
	since_ns = atomic_exchange(&clv_gate.busy_since_ns, now_ns);
	if (now_ns > since_ns)
		atomic_fetch_add(&view->slot->busy_ns, now_ns - since_ns);
	atomic_fetch_add(&view->slot->done, CLV_FLIGHT_COUNT(packed));
	if (atomic_load(&clv_gate.n_window_waiters) > 0) {
		atomic_fetch_add(&clv_gate.flight_sequence, 1);
		clv_futex_wake(&clv_gate.flight_sequence, INT_MAX);
	}
	clv_flight_report_idle(view, false);
}

bool clv_flight_wants_marker_now(
	const struct clv_view *view, uint32_t n_markers, bool sync_style)
{
	return n_markers == 0 && !sync_style &&
	       CLV_PHASE_OF(atomic_load(&view->control->phase)) == CLV_PHASE_GRANTED;
}
