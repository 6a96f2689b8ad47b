/* SPDX-License-Identifier: Apache-2.0 */
/* The turn and the window: the slow path of a submission (flight.h has the fast path),
 * and what happens when commands are complete. */
#include "gate/window/flight.h"

#include "base/futex.h"
#include "gate/attach/attach.h"
#include "gate/attach/attachment.h"
#include "gate/attach/heartbeat.h"
#include "gate/process/hot.h"
#include "gate/process/packed.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/process/thread.h"
#include "gate/process/view.h"
#include "gate/window/grace.h"

#include <errno.h>

/* How often a thread in line checks whether the agent lives: twice within the time that
 * heartbeat.c waits.  Each check takes time from a device that is a processor. */
#define WAIT_NS (25 * CLV_NS_PER_MS)
#define WAIT_BESIDE_CALLBACK_NS (10 * CLV_NS_PER_MS)
/* How often it rings again, in case a ring was lost. */
#define RING_AGAIN_NS (1 * CLV_NS_PER_S)
#define WINDOW_WAIT_NS (10 * CLV_NS_PER_MS)
#define OTHERS_WAIT_NS (1 * CLV_NS_PER_MS)
#define ASIDE_WAIT_NS (200 * CLV_NS_PER_US)
#define PATIENCE_NS (20 * CLV_NS_PER_MS)
#define PATIENCE_AT_FIRST 8    /* times; a lock is held for a few commands */
#define PATIENCE_DOUBLED_MAX 6 /* to more than a second */
/* So many commands of a queue may be in flight, however long they take, where no lease
 * has to wait for their end: as many as CUDA's own queues hold. */
#define FREE_DEPTH 1024
/* So many queues may have work in flight without a turn: as many as NVIDIA's GPUs have
 * connections for (CUDA_DEVICE_MAX_CONNECTIONS), so that no program relies on more of
 * them to run concurrently. */
#define FREE_QUEUES 32
/* Tolerances on top of twice the estimated time of the work in flight, before it is
 * considered stalled: for each command, and in a closed gate, where one more command
 * makes other leases wait longer. */
#define STALL_NS (20 * CLV_NS_PER_MS)
#define STALL_COMMANDS_MAX 50
#define STALL_CLOSED_NS (100 * CLV_NS_PER_MS)
/* While the lease is alone: on top of twice the time of the queue's longest batch. */
#define STALL_ALONE_NS (100 * CLV_NS_PER_MS)
/* The most time for which a thread waits in a closed gate while its lease does not drain,
 * whatever else of the lease completes meanwhile: as long as the arbiter waits for the
 * lease to drain, and on top of that twice the estimated time of its work, as far as that
 * is not longer than the second value. */
#define UNDRAINED_NS (1 * CLV_NS_PER_S)
#define UNDRAINED_WORK_NS_MAX (4 * CLV_NS_PER_S)
/* The most time for which it waits, over all turns, for other processes of its lease:
 * they may always have work, and they may be waiting for this thread. */
#define BESIDE_OTHERS_NS (100 * CLV_NS_PER_MS)

/* What a command of unknown duration is assumed to take in a queue of which none has
 * completed yet, where no lease has to wait for its end: so many times as long as the
 * first has been there, because at its begin nothing tells that it is long; and these at
 * least and at most, of which 1,000 and 50 are a window. */
#define ASSUMED_TIMES 8
#define ASSUMED_NS_MIN (1 * CLV_NS_PER_MS)
#define ASSUMED_NS_MAX (20 * CLV_NS_PER_MS)
#define UNKNOWN_NS_MAX (16 * CLV_NS_PER_S)

static bool has_device(const struct clv_view *view, enum clv_phase phase)
{
	if (phase == CLV_PHASE_GRANTED)
		return clv_agent_clock_ns(view) <
		       atomic_load(&view->control->deadline_ns);
	return phase == CLV_PHASE_OPEN || phase == CLV_PHASE_SHARED;
}

/* While the agent is silent no turn can be waited for. */
static bool is_open(const struct clv_view *view, enum clv_phase phase)
{
	return has_device(view, phase) || clv_heartbeat_is_silent(view);
}

/* The estimated rest of the queue's work, packed. */
static uint64_t left_of(const struct clv_backlog *backlog)
{
	uint64_t flight = clv_backlog_in_flight(backlog), now_ns, since_ns, ran_ns;

	if (CLV_FLIGHT_NS(flight) == 0)
		return flight;
	now_ns = clv_clock_ns();
	since_ns = atomic_load(&backlog->progress_ns);
	ran_ns = now_ns > since_ns ? now_ns - since_ns : 0;
	if (ran_ns > CLV_FLIGHT_NS(flight))
		ran_ns = CLV_FLIGHT_NS(flight);
	return flight - (ran_ns << CLV_FLIGHT_COUNT_BITS);
}

static uint64_t assumed_of(const struct clv_backlog *backlog)
{
	uint64_t now_ns = clv_clock_ns(), since_ns = atomic_load(&backlog->progress_ns);
	uint64_t ns = now_ns > since_ns ? ASSUMED_TIMES * (now_ns - since_ns) : 0;

	if (ns > ASSUMED_NS_MAX)
		ns = ASSUMED_NS_MAX;
	return ns < ASSUMED_NS_MIN ? ASSUMED_NS_MIN : ns;
}

/* The assumed time of the queue's commands of unknown duration, packed: what its other
 * commands took, as soon as one has completed.  So a program that submits a thousand
 * commands at once waits for the first of them, and then for none, unless together they
 * are longer than the window. */
static uint64_t unknown_of(const struct clv_backlog *backlog)
{
	uint64_t n = atomic_load(&backlog->n_unknown);
	uint64_t each_ns = atomic_load(&backlog->each_ns), ns;
	uint64_t count = CLV_FLIGHT_COUNT(clv_backlog_in_flight(backlog));

	if (n > count)
		n = count;
	ns = n > 0 ? n * (each_ns > 0 ? each_ns : assumed_of(backlog)) : 0;
	return (ns < UNKNOWN_NS_MAX ? ns : UNKNOWN_NS_MAX) << CLV_FLIGHT_COUNT_BITS;
}

/* Whether too many queues are busy without a turn.  Blocked queues (blocked-queue.c) have
 * markers out and nothing in flight.  A process that holds the device never waits for
 * other queues of its own: what it begins in a turn drains at the turn's end. */
static bool are_too_many_busy(
	const struct clv_view *view, enum clv_phase phase, uint64_t all_flight)
{
	return CLV_FLIGHT_COUNT(all_flight) >= FREE_QUEUES &&
	       atomic_load(&clv_gate.n_busy_queues) >= FREE_QUEUES &&
	       !has_device(view, phase);
}

/* Whether the work of another process of the lease runs past the end of the turn.  Work
 * that is later than reported, or has run for long, may be waiting for this very process
 * and no longer counts. */
static bool does_other_overrun(const struct clv_view *view, uint64_t deadline_ns)
{
	uint32_t n_slots = atomic_load(&view->control->slots_used);
	uint64_t now_ns = clv_agent_clock_ns(view);

	if (view->turn == &view->unread_turn)
		return false;
	for (uint32_t i = 0; i < n_slots; i++) {
		const struct clv_slot *slot = &view->report->slots[i];
		uint64_t ends_ns = atomic_load(&view->report->turns[i].ends_ns);

		if (slot == view->slot || ends_ns <= now_ns || ends_ns < deadline_ns ||
			atomic_load(&slot->done) == atomic_load(&slot->entered))
			continue;
		if (now_ns < atomic_load(&slot->busy_since_ns) + STALL_CLOSED_NS)
			return true;
	}
	return false;
}

/* When other leases may want the device. */
static uint64_t deadline_of(const struct clv_view *view, enum clv_phase phase)
{
	const struct clv_control_page *control = view->control;

	if (phase == CLV_PHASE_GRANTED)
		return atomic_load(&control->deadline_ns);
	return clv_agent_clock_ns(view) + atomic_load(&control->window_ns);
}

/* One process of the lease may begin a command that runs past the end of the turn; if
 * each of them did, a lease of many processes would keep the device for that many
 * commands. */
static bool would_overrun_with_others(
	const struct clv_view *view, enum clv_phase phase, uint64_t estimate_ns)
{
	uint64_t deadline_ns;

	if (atomic_load_explicit(&view->control->slots_used, memory_order_relaxed) < 2)
		return false;
	deadline_ns = deadline_of(view, phase);
	return (estimate_ns == 0 ||
		       clv_agent_clock_ns(view) + estimate_ns > deadline_ns) &&
	       does_other_overrun(view, deadline_ns);
}

/* Whether a command may join the work in flight.  It waits for commands of its own queue
 * only, which it could not overtake, so that the program keeps the overlap of its queues.
 * In a granted turn only commands that will start before the deadline may join, so that a
 * queue overruns a turn by part of one command, and of several processes one does.
 * Unknown commands (estimate 0) go one at a time while another lease may be waiting. */
static bool fits(const struct clv_view *view, enum clv_phase phase, uint64_t all_flight,
	uint64_t flight, uint64_t estimate_ns)
{
	const struct clv_control_page *control = view->control;

	/* Only an agent that runs stops work. */
	if (has_device(view, phase) && atomic_load(&control->is_preemptible))
		return CLV_FLIGHT_COUNT(flight) < FREE_DEPTH ||
		       clv_flight_has_room(control, flight);
	/* A lease that attaches now waits for the end of this work. */
	if (phase == CLV_PHASE_OPEN)
		return CLV_FLIGHT_COUNT(flight) == 0 ||
		       clv_flight_has_room(control, flight);
	if (CLV_FLIGHT_COUNT(flight) == 0)
		return !are_too_many_busy(view, phase, all_flight) &&
		       !would_overrun_with_others(view, phase, estimate_ns);
	/* Without a turn one command of each queue at a time. */
	if (!has_device(view, phase))
		return false;
	if (phase == CLV_PHASE_GRANTED &&
		clv_agent_clock_ns(view) + CLV_FLIGHT_NS(flight) >=
			atomic_load(&control->deadline_ns))
		return false;
	if (CLV_FLIGHT_COUNT(flight) < atomic_load(&control->window_commands))
		return true;
	return clv_flight_has_room(control, flight) && estimate_ns > 0;
}

static void raise_end(_Atomic uint64_t *end_ns, bool is_first, uint64_t to_ns)
{
	uint64_t known_ns = is_first ? 0 : atomic_load(end_ns);

	if (is_first)
		atomic_store(end_ns, to_ns);
	while (known_ns < to_ns &&
		!atomic_compare_exchange_weak(end_ns, &known_ns, to_ns))
		;
}

/* Publishes when a granted turn's work will be complete.  The arbiter lets the next lease
 * in just before that, so it gets the latest end, as if the device ran one command at a
 * time.  The helper checks whether the process is idle when each queue may be empty, as
 * if all queues ran at once. */
static void note_end(struct clv_view *view, uint64_t now_ns, uint64_t flight,
	uint64_t left, uint64_t packed)
{
	bool is_first = CLV_FLIGHT_COUNT(flight) == 0;
	uint64_t since_ns = atomic_load(&view->slot->busy_since_ns), all_ns;

	if (CLV_FLIGHT_NS(packed) == 0) {
		raise_end(&view->turn->ends_ns, is_first, UINT64_MAX);
		raise_end(&clv_gate.ends_ns, is_first, UINT64_MAX);
		return;
	}
	all_ns = since_ns + CLV_FLIGHT_NS(flight);
	if (all_ns < now_ns || is_first)
		all_ns = now_ns;
	raise_end(&view->turn->ends_ns, is_first, all_ns + CLV_FLIGHT_NS(packed));
	raise_end(&clv_gate.ends_ns, is_first,
		now_ns + CLV_FLIGHT_NS(left) + CLV_FLIGHT_NS(packed));
}

static void note_begin(struct clv_view *view, uint32_t word, bool is_first)
{
	static _Atomic uint32_t noted;

	if (is_first)
		atomic_fetch_add(&view->turn->n_starts, 1);

	if (atomic_load_explicit(&noted, memory_order_relaxed) != word &&
		atomic_exchange(&noted, word) != word)
		atomic_store(&view->turn->began_ns, clv_agent_clock_ns(view));
}

/* Tries once to enter any command in any phase.  The order of steps is that of
 * clv_flight_quick_enter(). */
static bool try_enter(
	struct clv_view *view, const struct clv_backlog *backlog, uint64_t packed)
{
	enum clv_phase phase;
	uint64_t flight, left, now_ns;
	uint32_t word;
	bool is_first;

	atomic_fetch_add(&view->slot->entered, 1);
	word = atomic_load(&view->control->phase);
	phase = CLV_PHASE_OF(word);
	if (is_open(view, phase)) {
		flight = atomic_fetch_add(&clv_gate.flight, packed);
		is_first = CLV_FLIGHT_COUNT(flight) == 0;
		left = backlog ? left_of(backlog) : 0;
		if (phase == CLV_PHASE_OPEN && backlog)
			left += unknown_of(backlog);
		if (is_first) {
			now_ns = clv_agent_clock_ns(view);
			atomic_store(&view->slot->busy_since_ns, now_ns);
			clv_grace_succeeded();
			/* Before fits(), so that of two processes at least one sees the
			 * other's end. */
			if (phase != CLV_PHASE_OPEN)
				note_end(view, now_ns, flight, left, packed);
		}
		if (!(flight & CLV_FLIGHT_MAX_IN_FLIGHT) &&
			fits(view, phase, flight, left, CLV_FLIGHT_NS(packed))) {
			if (phase == CLV_PHASE_GRANTED) {
				note_begin(view, word, is_first);
				if (!is_first)
					note_end(view, clv_agent_clock_ns(view), flight,
						left, packed);
			}
			return true;
		}
		atomic_fetch_sub(&clv_gate.flight, packed);
	}
	atomic_fetch_add(&view->slot->done, 1);
	return false;
}

/* Enters without checks.  Returns whether nothing else is in flight. */
static bool enter_unchecked(struct clv_view *view, uint64_t packed)
{
	atomic_fetch_add(&view->slot->entered, CLV_FLIGHT_COUNT(packed));
	if (CLV_FLIGHT_COUNT(atomic_fetch_add(&clv_gate.flight, packed)) > 0)
		return false;
	atomic_store(&view->slot->busy_since_ns, clv_agent_clock_ns(view));
	return true;
}

/* Enters work without a turn in a closed gate.  The arbiter polls and charges work in
 * flight until it is complete, but does not poll a lease that has drained, so each such
 * first command rings. */
void clv_flight_enter_as_debt(struct clv_view *view, uint64_t packed)
{
	bool is_first = enter_unchecked(view, packed);

	if (is_first &&
		CLV_PHASE_OF(atomic_load(&view->control->phase)) == CLV_PHASE_CLOSED &&
		!clv_attach_ring(view))
		clv_gate_seek_agent(view);
}

bool clv_flight_try(const struct clv_backlog *backlog, uint64_t packed)
{
	struct clv_view *view = clv_gate_current_view();

	if (!view)
		return false;
	if (!clv_gate_agent_is_dead(view))
		return try_enter(view, backlog, packed);
	clv_gate_seek_agent(view);
	enter_unchecked(view, packed);
	return true;
}

/* Threads that wait to enter. */

void clv_line_begin(struct clv_line *line)
{
	*line = (struct clv_line){
		.slot = clv_gate_current_view()->slot,
		.began_ns = clv_clock_ns(),
		.saved_errno = errno,
	};
	/* Before the next try: a completion after this wakes the thread. */
	atomic_fetch_add(&clv_gate.n_window_waiters, 1);
	line->sequence = atomic_load(&clv_gate.flight_sequence);
	clv_heartbeat_look(&line->heartbeat, clv_gate_current_view());
}

/* Counts the thread as waiting for a turn, or not; before the ring, and once per
 * change. */
static void set_in_line(struct clv_line *line, bool wanted)
{
	if (line->is_in_line == wanted)
		return;
	line->is_in_line = wanted;
	if (wanted)
		atomic_fetch_add(&line->slot->waiting, 1);
	else
		atomic_fetch_sub(&line->slot->waiting, 1);
}

void clv_line_end(struct clv_line *line)
{
	set_in_line(line, false);
	atomic_fetch_sub(&clv_gate.n_window_waiters, 1);
	atomic_fetch_add(&line->slot->waited_ns, clv_clock_ns() - line->began_ns);
	errno = line->saved_errno;
}

/* After the first few times the patience doubles each time that it ran out without a
 * callback returning in between, and one step is forgotten per second: a callback that
 * never returns does not bypass turns, and one that only waited for a lock of a thread in
 * line costs little. */
static bool is_patience_over(uint64_t since_ns, uint64_t now_ns)
{
	static _Atomic uint64_t last_ns;
	static _Atomic uint32_t n_times, ends_seen;
	uint64_t last = atomic_load(&last_ns), n_seconds;
	uint32_t n = atomic_load(&n_times), ends = atomic_load(&clv_gate.n_callback_ends);
	uint32_t n_doubled;

	n_seconds = now_ns > last ? (now_ns - last) / CLV_NS_PER_S : 0;
	n = ends == atomic_load(&ends_seen) && n_seconds < n ? n - (uint32_t)n_seconds
							     : 0;
	n_doubled = n > PATIENCE_AT_FIRST ? n - PATIENCE_AT_FIRST : 0;
	if (now_ns - since_ns <= PATIENCE_NS << n_doubled ||
		!atomic_compare_exchange_strong(&last_ns, &last, now_ns))
		return false;
	atomic_store(&ends_seen, ends);
	atomic_store(&n_times, n_doubled < PATIENCE_DOUBLED_MAX ? n + 1 : n);
	return true;
}

/* Whether a running callback seems to wait for a lock that the thread in line holds: that
 * keeps its command from completing, and so the lease from draining. */
static bool is_hopeless(struct clv_line *line)
{
	uint64_t flight = atomic_load(&clv_gate.flight), now_ns = clv_clock_ns();

	if (line->is_patient)
		return false;
	if (atomic_load(&clv_gate.n_in_callback) == 0 || CLV_FLIGHT_COUNT(flight) == 0 ||
		flight != line->flight_seen) {
		line->flight_seen = flight;
		line->flight_since_ns = now_ns;
		return false;
	}
	return is_patience_over(line->flight_since_ns, now_ns);
}

/* Whether the work in flight makes no progress.  It may wait for something that this very
 * thread does next: a kernel that polls a word of memory until another kernel, or the
 * program, has written it.  No call shows such a wait; the lack of completions for far
 * longer than expected does.  since_ns: the time of the last completion. */
static bool is_stalled(
	uint64_t flight, uint64_t now_ns, uint64_t since_ns, uint64_t more_ns)
{
	uint64_t n = CLV_FLIGHT_COUNT(flight);

	if (n > STALL_COMMANDS_MAX)
		n = STALL_COMMANDS_MAX;
	return n > 0 && now_ns > since_ns &&
	       now_ns - since_ns > 2 * CLV_FLIGHT_NS(flight) + n * STALL_NS + more_ns;
}

/* Whether nothing of the queue was complete in the time that each of its batches takes.
 * While the lease is alone no other waits for the window, so the thread need not wait for
 * as long as all batches together take; only a lease that attaches meanwhile waits for
 * what enters. */
static bool is_head_stalled(const struct clv_backlog *backlog)
{
	uint64_t now_ns = clv_clock_ns(), since_ns = atomic_load(&backlog->progress_ns);
	uint64_t n = atomic_load(&backlog->n_unknown);

	if (n > STALL_COMMANDS_MAX)
		n = STALL_COMMANDS_MAX;
	return now_ns > since_ns &&
	       now_ns - since_ns > 2 * atomic_load(&backlog->longest_ns) + n * STALL_NS +
					   STALL_ALONE_NS;
}

/* Whether the queue's work is stalled, or all work if the queue has none in flight. */
static bool is_queue_stalled(
	const struct clv_view *view, const struct clv_backlog *backlog)
{
	uint64_t flight = clv_backlog_in_flight(backlog);

	if (CLV_FLIGHT_COUNT(flight) > 0 &&
		CLV_PHASE_OF(atomic_load(&view->control->phase)) == CLV_PHASE_OPEN)
		return is_head_stalled(backlog);
	if (CLV_FLIGHT_COUNT(flight) > 0)
		return is_stalled(
			flight, clv_clock_ns(), atomic_load(&backlog->progress_ns), 0);
	return is_stalled(atomic_load(&clv_gate.flight), clv_agent_clock_ns(view),
		atomic_load(&view->slot->busy_since_ns), 0);
}

/* Whether all work of this process is stalled in a closed gate.  The lease gets its next
 * turn when it has drained, which it never does if its work waits for the thread in
 * line.  Work that is stopped before it is complete continues with that turn. */
static bool is_process_stalled(const struct clv_view *view)
{
	return !atomic_load(&view->control->is_preemptible) &&
	       is_stalled(atomic_load(&clv_gate.flight), clv_agent_clock_ns(view),
		       atomic_load(&view->slot->busy_since_ns), STALL_CLOSED_NS);
}

bool clv_flight_is_stalled(const struct clv_view *view, const struct clv_backlog *backlog)
{
	if (is_open(view, CLV_PHASE_OF(atomic_load(&view->control->phase))))
		return is_queue_stalled(view, backlog);
	return is_process_stalled(view);
}

/* The work of another process of the lease, packed.  Its time is what that process has
 * reported in a turn; 0: unknown.  A thread there that tries to enter counts for a
 * moment. */
static uint64_t flight_of_other(const struct clv_view *view, uint32_t i)
{
	const struct clv_slot *slot = &view->report->slots[i];
	uint64_t done = atomic_load(&slot->done);
	uint64_t n = atomic_load(&slot->entered) - done;
	uint64_t since_ns = atomic_load(&slot->busy_since_ns);
	uint64_t ends_ns = atomic_load(&view->report->turns[i].ends_ns);

	if (n > STALL_COMMANDS_MAX)
		n = STALL_COMMANDS_MAX;
	if (n == 0 || ends_ns <= since_ns || ends_ns - since_ns > UNDRAINED_WORK_NS_MAX)
		return n;
	return (ends_ns - since_ns) << CLV_FLIGHT_COUNT_BITS | n;
}

/* The work of the lease's other processes. */
struct others {
	uint64_t flight; /* packed */
	bool are_stalled;
};

static struct others look_at_others(const struct clv_view *view)
{
	struct others others = {.are_stalled = true};
	uint32_t n_slots = atomic_load(&view->control->slots_used);

	/* Before the attach the lease has no page that others see. */
	if (view->turn == &view->unread_turn)
		return others;
	for (uint32_t i = 0; i < n_slots && i < CLV_SLOTS; i++) {
		const struct clv_slot *slot = &view->report->slots[i];
		uint64_t flight = slot == view->slot ? 0 : flight_of_other(view, i);

		others.flight += flight;
		if (CLV_FLIGHT_COUNT(flight) > 0 &&
			!is_stalled(flight, clv_agent_clock_ns(view),
				atomic_load(&slot->busy_since_ns), STALL_CLOSED_NS))
			others.are_stalled = false;
	}
	return others;
}

/* Whether the lease, in a closed gate, has not drained for so long that its work may be
 * waiting for this thread.  No completion resets the thread's own limit: work that has
 * nothing to do with the cycle may complete again and again. */
static bool is_left_behind(struct clv_line *line, const struct clv_view *view)
{
	uint64_t own = atomic_load(&clv_gate.flight), now_ns = clv_clock_ns(), work_ns;
	struct others others = look_at_others(view);

	if (CLV_FLIGHT_COUNT(own) == 0 && CLV_FLIGHT_COUNT(others.flight) == 0) {
		line->undrained_since_ns = 0;
		return false;
	}
	if (line->undrained_since_ns == 0) {
		line->undrained_since_ns = now_ns;
		return false;
	}
	if (atomic_load(&view->control->is_preemptible))
		return false;
	/* Only what was there at the last look too has work in flight. */
	if (CLV_FLIGHT_COUNT(own) == 0 && others.are_stalled &&
		now_ns - line->undrained_since_ns >= WAIT_BESIDE_CALLBACK_NS)
		return true;
	work_ns = 2 * (CLV_FLIGHT_NS(own) + CLV_FLIGHT_NS(others.flight));
	if (work_ns > UNDRAINED_WORK_NS_MAX)
		work_ns = UNDRAINED_WORK_NS_MAX;
	return now_ns - line->undrained_since_ns > UNDRAINED_NS + work_ns;
}

/* When a command last entered, or was held, for lack of progress. */
static _Atomic uint64_t forced_ns;

void clv_flight_note_forced(void)
{
	atomic_store(&forced_ns, clv_clock_ns());
}

bool clv_flight_was_forced(uint64_t since_ns)
{
	return atomic_load(&forced_ns) >= since_ns;
}

static uint64_t window_wait_ns(struct clv_backlog *backlog)
{
	if (clv_gate.api->book_queue && clv_gate.api->book_queue(backlog))
		return ASIDE_WAIT_NS;
	/* Completions of other processes wake no thread here. */
	return CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight)) > 0 ? WINDOW_WAIT_NS
								   : OTHERS_WAIT_NS;
}

/* Whether no command of the queue is before it.  Then it waits only for other processes
 * of the lease, as a command without a queue does, or without an agent for other queues.
 */
static bool is_beside_others(const struct clv_backlog *backlog)
{
	return !backlog || CLV_FLIGHT_COUNT(clv_backlog_in_flight(backlog)) == 0;
}

static void wait_for_window(struct clv_line *line, struct clv_backlog *backlog)
{
	uint64_t since_ns = is_beside_others(backlog) ? clv_clock_ns() : UINT64_MAX;

	clv_gate.api->mark_tails(false);
	clv_futex_wait(
		&clv_gate.flight_sequence, line->sequence, window_wait_ns(backlog));
	if (since_ns < UINT64_MAX)
		line->beside_others_ns += clv_clock_ns() - since_ns;
}

bool clv_flight_has_waited_for_others(const struct clv_view *view,
	const struct clv_backlog *backlog, struct clv_beside_others *beside)
{
	uint64_t now_ns = clv_clock_ns();
	bool waits = is_beside_others(backlog) &&
		     is_open(view, CLV_PHASE_OF(atomic_load(&view->control->phase)));

	if (waits && beside->seen_ns > 0)
		beside->sum_ns += now_ns - beside->seen_ns;
	beside->seen_ns = waits ? now_ns : 0;
	return waits && beside->sum_ns > BESIDE_OTHERS_NS;
}

/* Whether a command would be behind stalled work of its own queue.  Many may be, so they
 * do not wait for as long as between two looks each: none can run before that work goes
 * on. */
static bool is_behind_stalled(
	const struct clv_view *view, const struct clv_backlog *backlog)
{
	return CLV_FLIGHT_COUNT(clv_backlog_in_flight(backlog)) > 0 &&
	       is_process_stalled(view);
}

/* Waits until the phase word changes; only the beginning of a turn wakes this thread at
 * once.  Rings first, also if it rang before, since its own increment of `entered` in a
 * failed try may have kept the lease from draining.  While work is in flight it need not
 * ring: the end of that does.  False: give up, unless the thread is patient, which then
 * checks again what may enter without a turn. */
static bool wait_for_turn(struct clv_line *line, struct clv_view *view, uint32_t word)
{
	uint64_t rang_ns = 0;

	do {
		uint64_t now_ns = clv_clock_ns();

		/* An expired turn needs no ring: the arbiter's own timer handles it. */
		if (CLV_PHASE_OF(word) == CLV_PHASE_CLOSED &&
			now_ns - rang_ns >= RING_AGAIN_NS &&
			CLV_FLIGHT_COUNT(atomic_load(&clv_gate.flight)) == 0) {
			rang_ns = now_ns;
			if (!clv_attach_ring(view))
				clv_gate_seek_agent(view);
		}
		clv_futex_wait(&view->control->phase, word,
			atomic_load(&clv_gate.n_in_callback) > 0 ? WAIT_BESIDE_CALLBACK_NS
								 : WAIT_NS);
		if (clv_heartbeat_look(&line->heartbeat, view)) {
			clv_attach_ring(view);
			return true;
		}
		if (atomic_load(&view->control->phase) != word ||
			clv_gate_current_view() != view || clv_gate_agent_is_dead(view))
			return true;
	} while (!is_hopeless(line) && !is_process_stalled(view) &&
		 !is_left_behind(line, view));
	return line->is_patient;
}

static bool wait_once(struct clv_line *line, struct clv_backlog *backlog)
{
	struct clv_view *view = clv_gate_current_view();
	uint32_t word = atomic_load(&view->control->phase);

	if (view->slot != line->slot) {
		set_in_line(line, false);
		line->slot = view->slot;
	}
	if (is_open(view, CLV_PHASE_OF(word))) {
		set_in_line(line, false);
		line->undrained_since_ns = 0;
		if (is_hopeless(line) ||
			(!line->is_patient && (is_queue_stalled(view, backlog) ||
						      (is_beside_others(backlog) &&
							      line->beside_others_ns >
								      BESIDE_OTHERS_NS))))
			return false;
		wait_for_window(line, backlog);
	} else if (!clv_gate_agent_is_dead(view)) {
		if (!line->is_patient && is_behind_stalled(view, backlog))
			return false;
		set_in_line(line, true);
		return wait_for_turn(line, view, word);
	}
	return true;
}

bool clv_line_wait(struct clv_line *line, struct clv_backlog *backlog)
{
	bool has_hope = wait_once(line, backlog);

	line->sequence = atomic_load(&clv_gate.flight_sequence);
	return has_hope;
}

static bool enter_slowly(struct clv_backlog *backlog, uint64_t packed)
{
	struct clv_line line;
	bool entered;

	clv_line_begin(&line);
	do {
		entered = clv_flight_try(backlog, packed);
	} while (!entered && clv_line_wait(&line, backlog));
	clv_line_end(&line);
	if (!entered)
		clv_flight_note_forced();
	return entered;
}

bool clv_flight_enter(
	struct clv_view *view, struct clv_backlog *backlog, uint64_t estimate_ns)
{
	uint64_t packed = CLV_FLIGHT_PACK(estimate_ns);

	if (CLV_LIKELY(try_enter(view, backlog, packed)))
		return true;
	return clv_gate_thread.callback_depth == 0 && enter_slowly(backlog, packed);
}

/* A grant does not wake the helper.  The first submission in a turn that leaves work, or
 * idleness, for the helper to detect does. */
static void ensure_turn_watched(uint32_t word)
{
	if (atomic_exchange(&clv_gate.watched_turn, word) == word)
		return;
	clv_helper_start();
	clv_helper_wake();
}

/* Rings if closed and drained, or granted and idle, once for each time. */
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
	if (phase == CLV_PHASE_GRANTED && !after_grace && clv_grace_begin()) {
		ensure_turn_watched(word);
		return;
	}
	key = ((uint64_t)word << 32) | (uint32_t)done;
	if (atomic_exchange(&clv_gate.idle_reported_key, key) != key &&
		!clv_attach_ring(view))
		clv_gate_seek_agent(view);
}

void clv_flight_leave(uint64_t packed)
{
	struct clv_view *view = clv_gate_current_view();
	uint64_t now_ns, since_ns;

	atomic_fetch_sub(&clv_gate.flight, packed);
	if (!view)
		return;
	/* Not only when the last command is complete: a deep queue never gets there. */
	now_ns = clv_agent_clock_ns(view);
	since_ns = atomic_exchange(&view->slot->busy_since_ns, now_ns);
	if (now_ns > since_ns)
		atomic_fetch_add(&view->slot->busy_ns, now_ns - since_ns);
	atomic_fetch_add(&view->slot->done, CLV_FLIGHT_COUNT(packed));
	if (atomic_load(&clv_gate.n_window_waiters) > 0) {
		atomic_fetch_add(&clv_gate.flight_sequence, 1);
		/* All threads: each waits for room in its own queue, or for its lease to
		 * drain, and the one that wakes first may not be one that can enter now.
		 */
		clv_futex_wake(&clv_gate.flight_sequence, INT_MAX);
	}
	clv_flight_report_idle(view, false);
}

/* While the program keeps submitting, a marker behind every few commands only wakes the
 * helper and the driver, and takes the processor from the thread that submits: the queue
 * runs dry, which makes the next markers closer still. */
bool clv_flight_may_mark_tail(void)
{
	static _Atomic uint64_t last_ns;
	uint64_t now_ns = clv_clock_ns();

	if (now_ns - atomic_load(&last_ns) < CLV_FLIGHT_TAIL_NS)
		return false;
	atomic_store(&last_ns, now_ns);
	return true;
}

bool clv_flight_wants_marker_now(
	const struct clv_view *view, uint32_t n_markers, bool sync_style)
{
	uint32_t word = atomic_load(&view->control->phase);

	if (CLV_PHASE_OF(word) != CLV_PHASE_GRANTED)
		return false;
	if (n_markers == 0 && !sync_style && !clv_flight_end_is_known() &&
		clv_flight_may_mark_tail())
		return true;
	ensure_turn_watched(word);
	return false;
}
