/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The lease pages: how a gate and the arbiter talk.
 *
 * Each lease has a control page and a report page per device, two memfds mapped by the
 * agent and by that lease's processes alone.  The control page is the agent's: it maps it
 * and then seals it (F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE), so a tenant can
 * read it and never write it.  The report page is the tenant's; what stands in it steers
 * the tenant's own turns and, within bounds of the arbiter's, when the next lease's
 * begin, how long turns are, and what counts against the tenant's own cap.  The account
 * is kept by the arbiter's own clock.
 *
 * A submission:  slot.entered++ (sequentially consistent); load control.phase; if open,
 * call the vendor, else slot.done++ and wait.  When the command is known to be complete,
 * slot.done++.  A close:  store the phase; fence; read each slot's done, then its
 * entered; equal in all slots means drained.  Reading done first makes equality a proof:
 * both only grow and done never passes entered.
 *
 * Fixed-width fields, no pointers, C11 atomics, layout checked below. */

#define CLV_PAGE_VERSION 1u
#define CLV_SLOTS 1024u
#define CLV_CONTROL_PAGE_BYTES 4096u
#define CLV_REPORT_PAGE_BYTES (65536u + 8192u + 32768u)

/* CLOSED must be 0: a page that nobody has published yet is closed. */
enum clv_phase {
	CLV_PHASE_CLOSED = 0,
	CLV_PHASE_OPEN = 1,    /* the only lease attached to the device */
	CLV_PHASE_SHARED = 2,  /* others are attached, none has work */
	CLV_PHASE_GRANTED = 3, /* until the deadline */
};

/* The phase word: the phase in the low two bits, the turn's number above, so that one
 * load gives both and every change can be waited for. */
#define CLV_PHASE_OF(word) ((enum clv_phase)((word)&3u))
#define CLV_TURN_OF(word) ((word) >> 2)
#define CLV_PHASE_WORD(turn, phase) (((uint32_t)(turn) << 2) | (uint32_t)(phase))

#define CLV_HEARTBEAT_NS UINT64_C(16000000)

struct clv_control_page {
	uint32_t version;
	uint32_t page_bytes;
	_Atomic uint32_t phase; /* a futex */
	_Atomic uint32_t
		window_commands;      /* this many may be in flight whatever they take */
	_Atomic uint64_t window_ns;   /* in flight per process, by estimate */
	_Atomic uint64_t deadline_ns; /* by the agent's clock; of a GRANTED turn */
	_Atomic uint64_t memory_quota_bytes;
	uint64_t device_memory_bytes;
	_Atomic uint32_t slots_used; /* one past the highest slot ever given out */
	/* A futex, for the process's helper: bumped when a turn ends, and when one begins
	 * that no thread stands in line for.  Where a thread wakes for the turn, a second
	 * one would only take a processor from it. */
	_Atomic uint32_t helper_call;
	/* Not 0: what is still in flight when a turn ends is stopped half-way, so it need
	 * not fit into the turn. */
	_Atomic uint32_t is_preemptible;
	/* For display, in millionths of the device: what is promised, and what was held
	 * over the last second.  A promise of 0: the agent does not say. */
	_Atomic uint32_t share_ppm;
	_Atomic uint32_t share_used_ppm;
	/* A futex.  Not 0: what was in flight when the turn ended stands still, and the
	 * threads that compute it, which the agent told so by a signal, wait here. */
	_Atomic uint32_t is_halted;
	/* That drivers show and no process has in its slot; counts in the quota. */
	_Atomic uint64_t memory_overhead_bytes;
	/* How much of the host's memory its processes may have in all, beyond the quota.
	 */
	_Atomic uint64_t spill_bytes;
	/* The limit in space (core/share/sm.h), from the attach on as it is; a ppm of 0:
	 * there is none.  A count of 0: the agent does not know the device's units. */
	uint32_t sm_ppm, sm_first, sm_count;
	uint32_t reserved_other_half;
	/* The agent's CLOCK_MONOTONIC when the arbiter last looked at the lease: at each
	 * change of the phase, and at least every CLV_HEARTBEAT_NS while a turn is
	 * granted or somebody stands in line.  By it gates in other time namespaces set
	 * their clocks, and see whether the arbiter runs.  0: an agent that says not. */
	_Atomic uint64_t heartbeat_ns;
	uint64_t reserved_words[2];
	/* A robust process-shared mutex that the arbiter's thread holds and nobody else
	 * ever locks: when that thread dies the kernel sets FUTEX_OWNER_DIED in its first
	 * word. */
	union {
		pthread_mutex_t mutex;
		_Atomic uint32_t word;
		uint8_t bytes[64];
	} beacon;
};

/* One process of the lease.  Written by that process; a cache line each. */
struct clv_slot {
	_Atomic uint64_t entered; /* commands that went in */
	_Atomic uint64_t done;    /* of these: refused again, or known to be complete */
	_Atomic uint64_t memory_bytes; /* charged to the quota */
	_Atomic uint64_t busy_ns; /* with work in flight, up to busy_since; for display */
	_Atomic uint64_t refused; /* allocations over quota */
	_Atomic uint64_t waited_ns; /* in line for a turn; for display */
	_Atomic uint32_t waiting;   /* threads in line for a turn */
	_Atomic uint32_t pid;       /* as the agent sees it, 0: not known; for display */
	_Atomic uint64_t
		busy_since_ns; /* by the agent's clock; counts while work is in flight */
};

/* Of the present turn, by the agent's clock: when the process submitted for the first
 * time, and when, by its estimate, all that it has submitted will be complete
 * (UINT64_MAX: it cannot tell).  A value from before the turn says nothing. */
struct clv_slot_turn {
	_Atomic uint64_t began_ns;
	_Atomic uint64_t ends_ns;
	/* Of all turns: how often it submitted while nothing of it was in flight. */
	_Atomic uint64_t n_starts;
	/* How often it has made or freed what an agent must know of that is to stop its
	 * work half-way (attach.h): written before the device can get work by it, so that
	 * who has been told of less waits for the work.  UINT64_MAX: it does not know all
	 * of it itself.  0: nothing yet, or a gate that says not. */
	_Atomic uint64_t n_changes;
};

struct clv_report_page {
	struct clv_slot slots[CLV_SLOTS];
	/* Of each slot, what is in the host's memory as the quota has no room for it. */
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
