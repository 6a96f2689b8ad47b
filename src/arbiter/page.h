/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The lease pages: the shared memory through which a gate and the arbiter communicate.
 *
 * Each lease has a control page and a report page per device, two memfds mapped only by
 * the agent and by that lease's processes.  The agent maps the control page and then
 * seals it (F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE), so a tenant can read it and
 * never write it.  The report page is written by the tenant; its contents affect the
 * tenant's own turns and, within bounds that the arbiter sets, when the next lease's turn
 * begins, how long turns are, and what counts against the tenant's own cap.  Held time is
 * measured by the arbiter's own clock.
 *
 * A submission: slot.entered++ (sequentially consistent); load control.phase; if open,
 * call the vendor, else slot.done++ and wait.  When the command is known to be complete,
 * slot.done++. A close: store the phase; fence; read each slot's done, then its entered;
 * equal in all slots means drained.  Equality proves that only because done is read
 * first: both counters only grow and done never passes entered.
 *
 * Fixed-width fields, no pointers, C11 atomics, layout checked below. */

#define CLV_PAGE_VERSION 1u
#define CLV_SLOTS 1024u
#define CLV_CONTROL_PAGE_BYTES 4096u
#define CLV_REPORT_PAGE_BYTES (65536u + 8192u + 32768u)

/* CLOSED must be 0: a page whose phase was never published is closed. */
enum clv_phase {
	CLV_PHASE_CLOSED = 0,
	CLV_PHASE_OPEN = 1,    /* the only lease attached to the device */
	CLV_PHASE_SHARED = 2,  /* others are attached, none has work */
	CLV_PHASE_GRANTED = 3, /* the gate closes by itself at the deadline */
};

/* The phase word: the phase in the low two bits, the turn's number above, so that one
 * load gives both and a waiter sees every change. */
#define CLV_PHASE_OF(word) ((enum clv_phase)((word)&3u))
#define CLV_PHASE_WORD(turn, phase) (((uint32_t)(turn) << 2) | (uint32_t)(phase))

#define CLV_HEARTBEAT_NS UINT64_C(16000000)

struct clv_control_page {
	uint32_t version;
	uint32_t page_bytes;
	_Atomic uint32_t phase; /* a futex */
	/* So many commands may be in flight whatever their estimated time. */
	_Atomic uint32_t window_commands;
	/* The estimated time of what may be in flight, per process. */
	_Atomic uint64_t window_ns;
	_Atomic uint64_t deadline_ns; /* end of a GRANTED turn, by the agent's clock */
	_Atomic uint64_t memory_quota_bytes;
	uint64_t device_memory_bytes;
	_Atomic uint32_t slots_used; /* one past the highest slot ever allocated */
	/* A futex for the process's helper: incremented when a turn ends, and when one
	 * begins that no thread waits in line for.  Where a thread wakes up for the turn,
	 * a second one would only take a processor from it. */
	_Atomic uint32_t helper_call;
	/* Not 0: work in flight at the end of a turn is stopped before it is complete, so
	 * it need not fit into the turn.  0 while the arbiter waits for such work. */
	_Atomic uint32_t is_preemptible;
	/* For display, in millionths of the device: the share promised, and the share
	 * held over the last second.  A promise of 0: the agent does not report it. */
	_Atomic uint32_t share_ppm;
	_Atomic uint32_t share_used_ppm;
	/* A futex.  Not 0: the threads that compute the work in flight, which the agent
	 * has sent a signal, wait here for 0. */
	_Atomic uint32_t is_halted;
	/* Memory that drivers report and no process has charged in its slot; counts in
	 * the quota. */
	_Atomic uint64_t memory_overhead_bytes;
	/* How much host memory the lease's processes may use in all for what the quota
	 * has no room for. */
	_Atomic uint64_t spill_bytes;
	/* The limit in space (core/share/sm.h); constant from the attach on.  A ppm of 0:
	 * there is none.  A count of 0: the agent does not know the device's units. */
	uint32_t sm_ppm, sm_first, sm_count;
	uint32_t reserved_other_half;
	/* The agent's CLOCK_MONOTONIC when the arbiter last ran a step for the lease: at
	 * each change of the phase, and at least every CLV_HEARTBEAT_NS while a turn is
	 * granted or a thread waits in line.  From it gates in other time namespaces
	 * derive their clock offset, and all gates see whether the arbiter runs.  0: an
	 * agent without a heartbeat. */
	_Atomic uint64_t heartbeat_ns;
	uint64_t reserved_words[2];
	/* A robust process-shared mutex that the arbiter's thread holds and no other
	 * thread ever locks: when that thread dies the kernel sets FUTEX_OWNER_DIED in
	 * the first word. */
	union {
		pthread_mutex_t mutex;
		_Atomic uint32_t word;
		uint8_t bytes[64];
	} beacon;
};

/* One process of the lease.  Written by that process; one cache line each. */
struct clv_slot {
	_Atomic uint64_t entered;      /* commands that entered */
	_Atomic uint64_t done;         /* of these: cancelled, or known to be complete */
	_Atomic uint64_t memory_bytes; /* charged to the quota */
	/* Time with work in flight, up to busy_since_ns; for display, and to charge work
	 * outside of a turn. */
	_Atomic uint64_t busy_ns;
	_Atomic uint64_t refused;   /* allocations over quota */
	_Atomic uint64_t waited_ns; /* waited in line for a turn; for display */
	_Atomic uint32_t waiting;   /* threads that wait in line for a turn */
	_Atomic uint32_t pid;       /* as the agent sees it, 0: not known; for display */
	/* By the agent's clock; counts while work is in flight. */
	_Atomic uint64_t busy_since_ns;
};

/* The present turn, by the agent's clock: when the process submitted for the first time,
 * and when, by its estimate, all that it has submitted will be complete (UINT64_MAX:
 * unknown).  A value from before the turn is to be ignored. */
struct clv_slot_turn {
	_Atomic uint64_t began_ns;
	_Atomic uint64_t ends_ns;
	/* Over all turns: how often the process submitted while none of its work was in
	 * flight. */
	_Atomic uint64_t n_starts;
	/* How many objects the process has created and freed that an agent must know to
	 * stop its work before it is complete (attach.h).  Incremented before the device
	 * can get work through the object, so an agent that knows fewer concludes that
	 * it must wait for the work instead.  UINT64_MAX: the process does not know all
	 * of its objects itself.  0: none yet, or a gate that does not report them. */
	_Atomic uint64_t n_changes;
};

struct clv_report_page {
	struct clv_slot slots[CLV_SLOTS];
	/* For each slot: bytes that are in host memory because the quota has no room for
	 * them. */
	_Atomic uint64_t spilled_bytes[CLV_SLOTS];
	struct clv_slot_turn turns[CLV_SLOTS];
};

#define CLV_BEACON_DEAD 0x40000000u /* FUTEX_OWNER_DIED, linux/futex.h */

static_assert(sizeof(struct clv_slot) == 64, "one cache line per process");
static_assert(sizeof(struct clv_report_page) == CLV_REPORT_PAGE_BYTES,
	"slots, and five words for each");
static_assert(offsetof(struct clv_report_page, turns) == 65536 + 8192,
	"older gates know what is before");
static_assert(sizeof(struct clv_control_page) == 192, "the layout is an interface");
static_assert(
	offsetof(struct clv_control_page, phase) == 8, "the layout is an interface");
static_assert(offsetof(struct clv_control_page, window_ns) == 16, "as above");
static_assert(offsetof(struct clv_control_page, memory_quota_bytes) == 32, "as above");
static_assert(offsetof(struct clv_control_page, slots_used) == 48, "as above");
static_assert(offsetof(struct clv_control_page, share_ppm) == 60, "as above");
static_assert(offsetof(struct clv_control_page, heartbeat_ns) == 104, "as above");
static_assert(offsetof(struct clv_control_page, beacon) == 128, "as above");
static_assert(sizeof(pthread_mutex_t) <= 64, "the beacon's room");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "no lock hides behind an atomic");
