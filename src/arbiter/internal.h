/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/pages.h"
#include "arbiter/policy/policy.h"
#include "arbiter/types.h"
#include "rm/channels.h"

#include <pthread.h>

/* The arbiter's state, shared by arbiter.c (interface and thread) and turns.c (who holds
 * the device).  Everything is guarded by clv_arbiter.lock. */

/* A process whose work can be stopped half-way. */
struct clv_preempt_process {
	enum clv_rm_method off_by;        /* BY_NOTHING: it is on */
	struct clv_rm_channels *channels; /* NULL: nothing is known of it */
	/* Up to here all that it made and freed is in channels, by its word, unless
	 * something was lost; and since when that is not all that there is, 0: it is. */
	uint64_t as_of, behind_since_ns;
	bool has_lost;
	/* Of a device that is the processor; NULL: it named none. */
	struct clv_threads *threads;
};

struct clv_arbiter_lease {
	struct clv_arbiter_lease *next;
	struct clv_pages pages;
	struct clv_share share;
	uint32_t policy_lease;
	uint64_t open_slots[CLV_SLOTS / 64];
	uint32_t n_slots;
	bool beacon_held;
	bool removed;
	bool rung;
	bool has_rung; /* before this step */
	bool woke;     /* in this step */

	/* As last published. */
	enum clv_phase phase;
	uint32_t turn;

	/* As last read from the report page. */
	uint64_t n_in_flight;
	uint32_t n_waiting;
	uint32_t n_working_slots;
	uint64_t done_ns;  /* how long it had work that is complete */
	uint64_t began_ns; /* since when it has work; UINT64_MAX: it has none */
	uint64_t busy_seen_ns;
	uint64_t starts_seen;

	/* The present turn. */
	uint64_t turn_started_ns;
	uint64_t charged_until_ns;
	uint64_t free_ns;       /* of the hand-over, not given yet */
	uint64_t idle_since_ns; /* seen without work; 0: it has some */

	/* Its turn ended while it was busy: until then it counts as awake, in line or
	 * not; 0: it does not linger. */
	uint64_t lingers_until_ns;

	/* Those of its processes that can be stopped, and whether they are: their work is
	 * in flight then, and goes on with the next turn.  By slot; NULL: none yet. */
	struct clv_preempt_process *preempt;
	size_t n_preempt, n_objects; /* objects: of all of them */
	bool is_stopped;
	uint64_t stopped_at_ns, verify_at_ns; /* verify: that threads stand still */

	/* Habits: how often it comes back. */
	uint64_t last_wake_ns;
	uint64_t usual_wake_interval_ns;

	/* Since when nobody's work was on the device when its turn came; 0: not known. */
	uint64_t vacant_since_ns;
	/* In so many turns its estimate is not believed; and the last such number. */
	uint32_t n_early_denied, n_early_denials;

	/* Work that runs although the gate is closed; 0: none. */
	uint64_t stray_since_ns;
	/* With the gate closed and nothing in flight: when that was seen last, 0: not
	 * yet, and done_ns as it was then. */
	uint64_t idle_seen_ns, done_at_idle_ns;
	uint64_t drain_timeout_ns;
	bool is_overdue; /* it did not drain in time, and has not drained since */
	/* When its last command is overdue, if the next was let in early; else 0. */
	uint64_t overdue_at_ns;
	uint64_t throttled_since_ns;
	uint64_t waiting_since_ns; /* somebody stands in line; 0: nobody does */

	/* A ring costs the arbiter a wake-up, so a lease has only so many per
	 * millisecond. */
	uint64_t rings_since_ns;
	uint32_t n_rings;
	bool muted;

	struct clv_arbiter_sample account;
};

/* Of handover.c. */
struct clv_handover {
	uint64_t late_ns; /* what one wake-up takes; smoothed, as the next */
	uint64_t cost_ns; /* from the end of a lease's work to the begin of the next's */
	uint64_t n_measured;
	/* Its last command is in flight, in the next one's turn; NULL: nobody's is. */
	struct clv_arbiter_lease *leaving;
	uint64_t ends_ns, latest_ns; /* then it should be complete, and at the latest */
	uint64_t vacant_since_ns;    /* in this step; 0: it is not */
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
	const struct clv_arbiter_lease *last_holder; /* to compare with */
	bool closing; /* the holder is closed and not yet drained */
	uint64_t closing_since_ns;
	uint64_t early_ns;     /* while closing: the next may be let in from then on */
	uint64_t decide_at_ns; /* the holder's turn is looked at again */
	uint64_t retry_at_ns;  /* nobody may run before */
	uint64_t due_ns;       /* the next step at the latest; UINT64_MAX: none is */
	struct clv_handover handover;

	enum clv_rm_method method; /* of stopping work half-way */
	enum clv_halting halting;  /* another way of that */
	uint32_t refusal;          /* the driver's last status that was none */
	uint32_t n_refusals;       /* one after the other, up to now */
};

/* A hand-over takes about this long before one was measured. */
#define CLV_HAND_OVER_NS UINT64_C(120000)

/* It has the device, and nobody else wants it: no deadline. */
static inline bool clv_lease_is_relaxed(const struct clv_arbiter_lease *lease)
{
	return lease->phase == CLV_PHASE_OPEN || lease->phase == CLV_PHASE_SHARED;
}

/* It wants a turn: threads stand in line, or work of it was stopped half-way. */
static inline bool clv_lease_is_in_line(const struct clv_arbiter_lease *lease)
{
	return lease->n_waiting > 0 || (lease->is_stopped && lease->n_in_flight > 0);
}

/* Takes in what the report pages say and moves the device on.  Returns when to be called
 * again at the latest (CLOCK_MONOTONIC; UINT64_MAX: only when something happens). */
uint64_t clv_turns_step(struct clv_arbiter *arbiter, uint64_t now_ns);

/* Brings the account up to now_ns. */
void clv_turns_charge(struct clv_arbiter *arbiter, uint64_t now_ns);

/* clv_arbiter_close_slot() with the lock held, at a time of the caller's. */
void clv_arbiter_close_slot_at(struct clv_arbiter *arbiter,
	struct clv_arbiter_lease *lease, uint32_t slot, uint64_t now_ns);

/* The lease loses the device for good; charges what it held. */
void clv_turns_forget(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns);
