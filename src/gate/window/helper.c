/* SPDX-License-Identifier: Apache-2.0 */
/* The one helper thread of a process: waits for markers, one at a time and oldest first,
 * places markers behind unmarked work when the turn ends, rings when the process is idle,
 * and looks for the next agent when one died.  It never runs the program's code. */
#include "gate/window/helper.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/thread.h"
#include "gate/attach/attach.h"
#include "gate/attach/attachment.h"
#include "gate/attach/heartbeat.h"
#include "gate/process/packed.h"
#include "gate/process/state.h"
#include "gate/process/view.h"
#include "gate/window/flight.h"
#include "gate/window/grace.h"

#include <errno.h>
#include <signal.h>

#define GRANTED_POLL_NS (500 * CLV_NS_PER_US)
/* An estimate that is far too long must not keep the device from other leases. */
#define LOOK_NS_MAX (4 * CLV_NS_PER_MS)
#define BUSY_POLL_NS (50 * CLV_NS_PER_MS)
#define IDLE_POLL_NS (1 * CLV_NS_PER_S)
#define BUSY_NO_WAITV_POLL_NS (1 * CLV_NS_PER_MS)
#define IDLE_NO_WAITV_POLL_NS (20 * CLV_NS_PER_MS)

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* Linux 5.16 */
#endif

/* struct futex_waitv of linux/futex.h, which older headers lack. */
struct wait_entry {
	uint64_t expected;
	uint64_t address;
	uint32_t flags;
	uint32_t reserved;
};

#define WAIT_ENTRY_32_BITS 2u

static void wait_for_either(
	struct clv_view *view, uint32_t call, uint32_t helper_word, uint64_t timeout_ns)
{
	static bool no_waitv; /* one thread only */
	uint64_t until_ns = clv_clock_ns() + timeout_ns, poll_ns;
	struct timespec until = {
		(time_t)(until_ns / CLV_NS_PER_S), (long)(until_ns % CLV_NS_PER_S)};
	struct wait_entry entries[] = {
		{call, (uintptr_t)&view->control->helper_call, WAIT_ENTRY_32_BITS, 0},
		{helper_word, (uintptr_t)&clv_gate.helper_word, WAIT_ENTRY_32_BITS, 0},
	};

	if (!no_waitv &&
		(syscall(SYS_futex_waitv, entries, 2, 0, &until, CLOCK_MONOTONIC) >= 0 ||
			errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT))
		return;
	/* Before Linux 5.16, and under valgrind: poll, quickly only while work is in
	 * flight. */
	no_waitv = true;
	poll_ns = CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight)) > 0
			  ? BUSY_NO_WAITV_POLL_NS
			  : IDLE_NO_WAITV_POLL_NS;
	clv_futex_wait(&clv_gate.helper_word, helper_word,
		timeout_ns < poll_ns ? timeout_ns : poll_ns);
}

/* How the last sleep ended. */
enum woken_by {
	WOKEN_BY_MARKER,
	WOKEN_BY_PHASE,
	WOKEN_BY_TIMEOUT, /* and nothing was submitted meanwhile */
};

/* Work is in flight: it is checked when it should be complete, because each check takes a
 * processor from a device that is one.  A thread that waits for the work sees its end
 * itself, and then the grace begins.  Late work is checked less and less often. */
static uint64_t tend_busy(struct clv_view *view, enum woken_by woken_by)
{
	uint64_t ends_ns = atomic_load(&clv_gate.ends_ns);
	uint64_t now_ns = clv_agent_clock_ns(view);
	bool is_known = clv_flight_end_is_known();

	if (is_known && ends_ns > now_ns && woken_by != WOKEN_BY_TIMEOUT)
		return clv_clock_bound_ns(ends_ns - now_ns +
						  (atomic_load(&clv_gate.n_in_wait) > 0
								  ? CLV_FLIGHT_TAIL_NS
								  : CLV_FLIGHT_LATE_NS),
			CLV_FLIGHT_TAIL_NS, LOOK_NS_MAX);
	/* Work from before the turn may be complete for long: then the turn is not
	 * wanted, and another lease waits. */
	if ((is_known || woken_by != WOKEN_BY_MARKER) &&
		clv_gate.api->mark_tails(woken_by == WOKEN_BY_TIMEOUT))
		return 0;
	if (!is_known)
		return CLV_FLIGHT_TAIL_NS;
	return clv_clock_bound_ns(ends_ns > now_ns ? ends_ns - now_ns : now_ns - ends_ns,
		CLV_FLIGHT_TAIL_NS, LOOK_NS_MAX);
}

static uint64_t tend_granted(
	struct clv_view *view, bool in_flight, enum woken_by woken_by)
{
	uint64_t left_ns;

	if (in_flight)
		return tend_busy(view, woken_by);
	/* A turn for which no thread waits in line: one may be about to. */
	if (woken_by == WOKEN_BY_PHASE)
		clv_grace_begin();
	left_ns = clv_grace_left_ns();
	if (left_ns > 0)
		return left_ns;
	clv_grace_failed();
	clv_flight_report_idle(view, true);
	return GRANTED_POLL_NS;
}

/* Does what this phase needs while no marker is out.  Returns for how long to sleep after
 * it (0: not at all). */
static uint64_t tend(struct clv_view *view, uint32_t word, enum woken_by woken_by)
{
	bool in_flight = CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight)) > 0;

	if (clv_gate_agent_is_dead(view) ||
		(woken_by == WOKEN_BY_TIMEOUT && !clv_attach_is_intact(view))) {
		clv_gate_seek_agent(view);
		return BUSY_POLL_NS;
	}
	switch (CLV_PHASE_OF(word)) {
	case CLV_PHASE_CLOSED:
		if (in_flight && clv_gate.api->mark_tails(false))
			return 0;
		clv_flight_report_idle(view, true);
		break;
	case CLV_PHASE_GRANTED:
		return tend_granted(view, in_flight, woken_by);
	case CLV_PHASE_OPEN:
	case CLV_PHASE_SHARED:
		break;
	}
	return in_flight ? BUSY_POLL_NS : IDLE_POLL_NS;
}

/* Bounds a sleep by when markers must be polled again. */
static uint64_t bound_by_poll(uint64_t sleep_ns)
{
	uint64_t poll_ns = clv_gate.api->poll_ns ? clv_gate.api->poll_ns() : 0;

	return poll_ns > 0 && poll_ns < sleep_ns ? poll_ns : sleep_ns;
}

static void sleep_until_needed(
	struct clv_view *view, uint32_t call, uint32_t helper_word, uint64_t sleep_ns)
{
	atomic_store(&clv_gate.helper_sleeps, 1);
	if (atomic_load(&clv_gate.helper_word) == helper_word)
		wait_for_either(view, call, helper_word, sleep_ns);
	atomic_store(&clv_gate.helper_sleeps, 0);
}

/* Called also while one marker follows another: in an open phase nothing else would
 * make a busy process look for the next agent, or notice descriptors that the program
 * closed. */
static void look_after_view(struct clv_view *view)
{
	static uint64_t last_look_ns; /* one thread only */
	uint64_t now_ns;

	if (clv_gate_agent_is_dead(view)) {
		clv_gate_seek_agent(view);
		return;
	}
	now_ns = clv_clock_ns();
	if (now_ns - last_look_ns < IDLE_POLL_NS)
		return;
	last_look_ns = now_ns;
	clv_gate_carry_leftovers();
	if (!clv_attach_is_intact(view))
		clv_gate_seek_agent(view);
}

void *clv_helper_run(void *userdata)
{
	enum woken_by woken_by = WOKEN_BY_MARKER;

	(void)userdata;
	clv_thread_make_prompt();
	for (;;) {
		uint32_t helper_word = atomic_load(&clv_gate.helper_word);
		uint32_t call, phase_word;
		struct clv_view *view;
		uint64_t sleep_ns, entered;

		if (clv_gate.api->wait_for_marker()) {
			woken_by = WOKEN_BY_MARKER;
			look_after_view(clv_gate_current_view());
			continue;
		}
		clv_gate_carry_leftovers();
		view = clv_gate_current_view();
		call = atomic_load(&view->control->helper_call);
		phase_word = atomic_load(&view->control->phase);
		entered = atomic_load(&view->slot->entered);
		sleep_ns = tend(view, phase_word, woken_by);
		if (sleep_ns == 0)
			continue;
		sleep_until_needed(view, call, helper_word, bound_by_poll(sleep_ns));
		if (atomic_load(&view->control->phase) != phase_word)
			woken_by = WOKEN_BY_PHASE;
		else if (atomic_load(&clv_gate.helper_word) == helper_word &&
			 atomic_load(&view->slot->entered) == entered)
			woken_by = WOKEN_BY_TIMEOUT;
		else
			woken_by = WOKEN_BY_MARKER;
	}
	return NULL;
}
