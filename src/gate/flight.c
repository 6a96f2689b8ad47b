/* SPDX-License-Identifier: Apache-2.0 */
/* The turn and the window: whether one more command may go to the device now.  The first
 * function is the hot path of every submission: two locked additions and a few loads
 * while the gate is open, no system call, no lock, no allocation. */
#include "base/clock.h"
#include "base/futex.h"
#include "gate/attach.h"
#include "gate/state.h"

#include <errno.h>

#define WAIT_NS (10 * CLV_NS_PER_MS)
#define OPEN_MARK_NS (10 * CLV_NS_PER_MS)
#define MARKS_PER_WINDOW 4
#define MAX_UNMARKED 4096
#define MAX_IN_FLIGHT 262144

/* Whether a command of this estimate may join what is in flight.  The window may be
 * passed by the last one that starts inside it, so a device is not left idle between two
 * kernels that are longer than the window together. */
static bool fits(const struct clv_control_page *control, enum clv_phase phase,
	uint64_t flight, uint64_t estimate_ns)
{
	if (CLV_FLIGHT_COUNT(flight) <
		atomic_load_explicit(&control->window_commands, memory_order_relaxed))
		return true;
	if (estimate_ns == 0 && phase != CLV_PHASE_OPEN)
		return false;
	return CLV_FLIGHT_NS(flight) <
		       atomic_load_explicit(&control->window_ns, memory_order_relaxed) &&
	       CLV_FLIGHT_COUNT(flight) < MAX_IN_FLIGHT;
}

static bool is_open(const struct clv_control_page *control, enum clv_phase phase)
{
	if (phase == CLV_PHASE_GRANTED)
		return clv_clock_ns() <
		       atomic_load_explicit(&control->deadline_ns, memory_order_relaxed);
	return phase != CLV_PHASE_CLOSED;
}

/* One attempt.  Counts itself in first and looks at the phase afterwards; the arbiter
 * stores the phase first and reads the counts afterwards: one of the two sees the other.
 */
static bool try_enter(struct clv_view *view, uint64_t packed)
{
	const struct clv_control_page *control = view->control;
	enum clv_phase phase;
	uint64_t flight;

	atomic_fetch_add(&view->slot->entered, 1);
	phase = CLV_PHASE_OF(atomic_load(&control->phase));
	if (__builtin_expect(is_open(control, phase), 1)) {
		flight = atomic_fetch_add(&clv_gate.flight, packed);
		if (__builtin_expect(CLV_FLIGHT_COUNT(flight) == 0, 0))
			atomic_store(&clv_gate.busy_since_ns, clv_clock_ns());
		if (__builtin_expect(
			    fits(control, phase, flight, CLV_FLIGHT_NS(packed)), 1))
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

static void wait_for_window(void)
{
	uint32_t sequence;

	atomic_fetch_add(&clv_gate.n_window_waiters, 1);
	sequence = atomic_load(&clv_gate.flight_sequence);
	clv_gate.api->mark_tails();
	if (CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight)) > 0)
		clv_futex_wait(&clv_gate.flight_sequence, sequence, WAIT_NS);
	atomic_fetch_sub(&clv_gate.n_window_waiters, 1);
}

static void wait_for_turn(struct clv_view *view, uint32_t word, bool ring)
{
	/* An expired turn needs no ring: the arbiter's own timer looks at it. */
	if (ring && CLV_PHASE_OF(word) == CLV_PHASE_CLOSED && !clv_attach_ring(view))
		clv_gate_seek_agent(view);
	clv_futex_wait(&view->control->phase, word, WAIT_NS);
}

static void enter_slowly(struct clv_view *view, uint64_t packed)
{
	uint64_t began_ns = clv_clock_ns();
	struct clv_view *counted = view;
	bool ring = true;

	atomic_fetch_add(&counted->slot->waiting, 1);
	for (;;) {
		uint32_t word = atomic_load(&view->control->phase);
		enum clv_phase phase = CLV_PHASE_OF(word);

		if (clv_gate_agent_is_dead(view)) {
			clv_gate_seek_agent(view);
			if (clv_gate_peek() == view) {
				enter_unasked(view, packed);
				break;
			}
		} else if (!is_open(view->control, phase)) {
			uint64_t asked_ns = clv_clock_ns();

			wait_for_turn(view, word, ring);
			ring = clv_clock_ns() - asked_ns >= WAIT_NS;
		} else if (try_enter(view, packed)) {
			break;
		} else {
			wait_for_window();
		}
		view = clv_gate_peek();
	}
	atomic_fetch_sub(&counted->slot->waiting, 1);
	atomic_fetch_add(&counted->slot->waited_ns, clv_clock_ns() - began_ns);
}

void clv_flight_enter(struct clv_view *view, uint64_t estimate_ns)
{
	uint64_t packed = CLV_FLIGHT_ONE | estimate_ns;
	int saved_errno;

	if (__builtin_expect(clv_gate_callback_depth == 0 && try_enter(view, packed), 1))
		return;

	saved_errno = errno;
	if (clv_gate_callback_depth > 0)
		enter_unasked(view, packed);
	else
		enter_slowly(view, packed);
	errno = saved_errno;
}

void clv_flight_released(uint64_t packed)
{
	struct clv_view *view = clv_gate_peek();

	if (!view)
		return;
	enter_unasked(view, packed);
	if (CLV_PHASE_OF(atomic_load(&view->control->phase)) == CLV_PHASE_CLOSED)
		clv_attach_ring(view);
}

bool clv_flight_is_idle(const struct clv_view *view)
{
	return atomic_load(&view->slot->done) == atomic_load(&view->slot->entered) &&
	       atomic_load(&view->slot->waiting) == 0;
}

/* Closed and drained, or granted and idle: the arbiter is told once for each time. */
void clv_flight_report_idle(struct clv_view *view, bool after_grace)
{
	uint32_t word = atomic_load(&view->control->phase);
	enum clv_phase phase = CLV_PHASE_OF(word);
	uint64_t key;

	if (phase == CLV_PHASE_OPEN || phase == CLV_PHASE_SHARED ||
		!clv_flight_is_idle(view))
		return;
	if (phase == CLV_PHASE_GRANTED && !after_grace &&
		atomic_load_explicit(&view->control->grace_ns, memory_order_relaxed) > 0)
		return;
	key = ((uint64_t)word << 32) | (uint32_t)atomic_load(&view->slot->entered);
	if (atomic_exchange(&clv_gate.rung_for, key) != key)
		clv_attach_ring(view);
}

void clv_flight_leave(uint64_t packed)
{
	struct clv_view *view = clv_gate_peek();
	uint64_t before = atomic_fetch_sub(&clv_gate.flight, packed);

	if (!view)
		return;
	if (CLV_FLIGHT_COUNT(before) == CLV_FLIGHT_COUNT(packed)) {
		uint64_t since_ns = atomic_load(&clv_gate.busy_since_ns);
		uint64_t now_ns = clv_clock_ns();

		if (now_ns > since_ns)
			atomic_fetch_add(&view->slot->busy_ns, now_ns - since_ns);
	}
	atomic_fetch_add(&view->slot->done, CLV_FLIGHT_COUNT(packed));
	if (atomic_load(&clv_gate.n_window_waiters) > 0) {
		atomic_fetch_add(&clv_gate.flight_sequence, 1);
		clv_futex_wake(&clv_gate.flight_sequence, INT_MAX);
	}
	clv_flight_report_idle(view, false);
}

bool clv_flight_wants_marker(const struct clv_view *view, uint64_t unmarked,
	uint32_t n_markers, bool sync_style)
{
	const struct clv_control_page *control = view->control;
	enum clv_phase phase =
		CLV_PHASE_OF(atomic_load_explicit(&control->phase, memory_order_relaxed));
	uint64_t mark_ns = OPEN_MARK_NS;

	if (phase == CLV_PHASE_GRANTED && n_markers == 0 && !sync_style)
		return true;
	if (phase != CLV_PHASE_OPEN)
		mark_ns =
			atomic_load_explicit(&control->window_ns, memory_order_relaxed) /
			MARKS_PER_WINDOW;
	return CLV_FLIGHT_NS(unmarked) >= mark_ns ||
	       CLV_FLIGHT_COUNT(unmarked) >= MAX_UNMARKED;
}
