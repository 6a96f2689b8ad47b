/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/pages.h"
#include "arbiter/policy/policy.h"
#include "arbiter/types.h"
#include "rm/channels.h"

#include <pthread.h>

/* The arbiter's state, shared by arbiter.c (interface and thread) and turns.c (which
 * lease holds the device).  All of it is guarded by clv_arbiter.lock. */

/* The objects of one process whose work can be stopped before it is complete. */
struct clv_preempt_process {
	/* How the process was taken off the device; BY_NOTHING: it is on the device. */
	enum clv_rm_method off_by;
	struct clv_rm_channels *channels; /* NULL: the entry is unused */
	/* as_of: channels has everything up to this n_changes (page.h), as the process
	 * said, unless has_lost is set.  behind_since_ns: since when as_of differs from
	 * the n_changes of the report page; 0: it does not. */
	uint64_t as_of, behind_since_ns;
	bool has_lost;
	/* off_at_ns: when the process was last taken off.  is_put_back: its gate has put
	 * it back since. */
	uint64_t off_at_ns;
	bool is_put_back;
	/* For a device that is the processor; NULL: the process named no threads. */
	struct clv_threads *threads;
};

struct clv_arbiter_lease {
	struct clv_arbiter_lease *next;
	struct clv_pages pages;
	struct clv_share share;
	uint32_t policy_lease;
	uint64_t open_slots[CLV_SLOTS / 64];
	uint32_t n_slots;
	/* As set by clv_arbiter_set_overhead() and clv_arbiter_set_orphaned(). */
	uint64_t overhead_bytes, orphaned_bytes;
	bool beacon_held;
	bool removed;
	bool rung;
	/* rung, as it was when the present step began. */
	bool has_rung;
	bool woke; /* woke up in this step */

	/* As last published. */
	enum clv_phase phase;
	uint32_t turn;

	/* As last read from the report page. */
	uint64_t n_in_flight;
	uint32_t n_waiting;
	uint32_t n_working_slots;
	/* Sum over its processes: how long they had work in flight, without the present
	 * stretch. */
	uint64_t done_ns;
	/* Since when it has work in flight; UINT64_MAX: it has none. */
	uint64_t began_ns;
	/* The reported busy time that is charged; what the last charge left of its bound;
	 * whether less was reported then than before. */
	uint64_t busy_seen_ns, busy_left_ns;
	bool is_busy_short;
	uint64_t starts_seen;

	/* The present turn. */
	uint64_t turn_started_ns;
	uint64_t charged_until_ns;
	/* What is left of the hand-over's cost that this turn is not charged. */
	uint64_t free_ns;
	/* Since when the holder was seen without work; 0: it has some. */
	uint64_t idle_since_ns;
	/* The idle holder keeps the device from then until then: turns.c.  0: it does
	 * not. */
	uint64_t quiet_since_ns, quiet_until_ns;
	/* pause.h: the time that it may keep the device idle, up to what held time that
	 * is earned; and how long its work usually goes on after its turn. */
	uint64_t pause_ns, earned_at_held_ns, usual_drain_ns;

	/* The lease's turn ended while it was busy: until this time it counts as awake
	 * even if no thread waits in line.  0: it does not linger. */
	uint64_t lingers_until_ns;

	/* Processes whose objects are known, by slot; NULL: none yet.  While is_stopped
	 * is set their work stays in flight and continues with the next turn. */
	struct clv_preempt_process *preempt;
	/* n_objects: the sum over all processes. */
	size_t n_preempt, n_objects;
	bool is_stopped;
	/* verify_at_ns: when to check that the work really is stopped. */
	uint64_t stopped_at_ns, verify_at_ns;

	/* How often the lease wakes up, smoothed. */
	uint64_t last_wake_ns;
	uint64_t usual_wake_interval_ns;

	/* Since when the device was idle when this turn began; 0: not known. */
	uint64_t vacant_since_ns;
	/* From the beginning of a turn until a thread of the lease that waited for it has
	 * woken up and submitted: near the least of late.  0: not measured yet. */
	uint64_t wake_ns;
	/* For n_early_denied more turns the lease's estimate of its end is ignored;
	 * n_early_denials is the number that was set last. */
	uint32_t n_early_denied, n_early_denials;

	/* Up to when work that runs without a turn is charged; 0: there is none. */
	uint64_t stray_since_ns;
	/* When the lease was last seen with a closed gate and nothing in flight, and its
	 * done_ns at that time.  0: not seen yet. */
	uint64_t idle_seen_ns, done_at_idle_ns;
	uint64_t drain_timeout_ns;
	bool is_overdue; /* the lease did not drain in time, and has not drained since */
	/* When the last command becomes overdue, if the next lease was let in before it
	 * was complete; else 0. */
	uint64_t overdue_at_ns;
	uint64_t throttled_since_ns;
	uint64_t waiting_since_ns; /* since when a thread waits in line; 0: none does */

	/* Rate limit of the doorbell: each ring costs the arbiter a wake-up. */
	uint64_t rings_since_ns;
	uint32_t n_rings;
	bool muted;

	struct clv_arbiter_sample account;
};

/* The state of handover.c. */
struct clv_handover {
	/* How late a wake-up of this thread is; smoothed, as cost_ns is. */
	uint64_t late_ns;
	/* From the end of a lease's work to the beginning of the next lease's. */
	uint64_t cost_ns;
	uint64_t n_measured;
	/* The lease whose last command is still in flight in the next lease's turn; NULL:
	 * none. */
	struct clv_arbiter_lease *leaving;
	/* When that command should be complete, and when waiting for it ends. */
	uint64_t ends_ns, latest_ns;
	/* Since when the device is idle, within the present step; 0: it is not. */
	uint64_t vacant_since_ns;
};

struct clv_arbiter {
	struct clv_arbiter_config config;
	pthread_mutex_t lock;
	pthread_cond_t beacon_locked;
	pthread_t thread;
	int epoll_fd;
	int kick_fd;
	bool stopping;
	struct clv_policy *policy;
	struct clv_arbiter_lease *leases;

	struct clv_arbiter_lease *holder;
	const struct clv_arbiter_lease *last_holder; /* compared and never dereferenced */
	bool closing; /* the holder is closed and not yet drained */
	uint64_t closing_since_ns;
	/* While closing: from when on the next lease may be let in. */
	uint64_t early_ns;
	uint64_t decide_at_ns; /* when the holder's turn is reviewed */
	uint64_t retry_at_ns;  /* no lease may run before */
	uint64_t due_ns;       /* when the next step is due; UINT64_MAX: never */
	/* How long the agent was absent within driver calls of a step, until absence.c
	 * takes that out of timers and accounts: a step's times are those without it.
	 * Between steps a heartbeat may be as old as it likes. */
	bool is_stepping;
	uint64_t hole_ns;
	struct clv_handover handover;

	enum clv_rm_method method;    /* how work is stopped on a GPU */
	enum clv_halt_policy halting; /* when threads are halted on a processor */
	uint32_t refusal;             /* the driver's last status that was not OK */
	uint32_t n_refusals;          /* in succession, up to now */
};

/* The assumed cost of a hand-over before one was measured. */
#define CLV_HAND_OVER_NS UINT64_C(120000)

/* The lease holds the device without a deadline, because no other lease wants it. */
static inline bool clv_lease_is_relaxed(const struct clv_arbiter_lease *lease)
{
	return lease->phase == CLV_PHASE_OPEN || lease->phase == CLV_PHASE_SHARED;
}

/* The lease wants a turn: threads wait in line, or work of it was stopped and is not
 * complete. */
static inline bool clv_lease_is_in_line(const struct clv_arbiter_lease *lease)
{
	return lease->n_waiting > 0 || (lease->is_stopped && lease->n_in_flight > 0);
}

/* Reads the report pages and advances the state of the device.  Returns by when it must
 * be called again (CLOCK_MONOTONIC; UINT64_MAX: only after an event). */
uint64_t clv_turns_step(struct clv_arbiter *arbiter, uint64_t now_ns);

/* Charges the holder up to now_ns. */
void clv_turns_charge(struct clv_arbiter *arbiter, uint64_t now_ns);

/* clv_arbiter_close_slot() for a caller that holds the lock, as of now_ns. */
void clv_arbiter_close_slot_at(struct clv_arbiter *arbiter,
	struct clv_arbiter_lease *lease, uint32_t slot, uint64_t now_ns);

/* Takes the device from the lease for good, after charging what it held. */
void clv_turns_remove_lease(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);
