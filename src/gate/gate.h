/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/attach.h"
#include "arbiter/page.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the gates of all APIs have in common: the attachment to a lease, the turn, the
 * window of work in flight, the memory ledger.  Needs libc only; never exits, never logs
 * on a path that a workload waits on; keeps errno.  All functions may be called from any
 * thread.
 *
 * A view is this process's attachment: its pages and its slot.  Views are never freed, so
 * a thread that still uses an old one while the helper swaps in the next agent's is safe.
 */

struct clv_view {
	struct clv_control_page *control; /* mapped read-only */
	struct clv_report_page *report;
	struct clv_slot *slot;
	_Atomic uint64_t
		*spilled_bytes;     /* of this process; NULL: an older agent's page */
	struct clv_slot_turn *turn; /* of this process; an older agent does not read it */
	struct clv_slot_turn unread_turn;
	/* This process's clock less the agent's, and the heartbeat that was the last
	 * before the agent fell silent, 0: none: gate/heartbeat.h. */
	_Atomic uint64_t clock_ahead_ns, silent_beat_ns;
	uint32_t slot_index;
	int socket_fd;
	int report_fd;
	int doorbell_fd;
	/* What fstat said at attach time: programs close what they do not know. */
	uint64_t doorbell_device;
	uint64_t doorbell_inode;
	uint64_t report_device;
	uint64_t report_inode;
	uint64_t socket_device;
	uint64_t socket_inode;
	char platform[128];
	char model[128];
	char devices[CLV_ATTACH_DEVICES_BYTES]; /* all UUIDs; "": an older agent */
	uint32_t ordinal;
	/* What the agent was told of the limit in space: gate/sm.h. */
	_Atomic uint32_t sm_state, sm_count;
};

/* How many commands, and how long by estimate: one word, so that one locked addition
 * books both.  The count is below: its limits are single bits, and time compares by a
 * shift. */
#define CLV_FLIGHT_COUNT_BITS 20
#define CLV_FLIGHT_PACK(estimate_ns) ((estimate_ns) << CLV_FLIGHT_COUNT_BITS | 1)
#define CLV_FLIGHT_NS(word) ((word) >> CLV_FLIGHT_COUNT_BITS)
#define CLV_FLIGHT_COUNT(word) ((word) & ((UINT64_C(1) << CLV_FLIGHT_COUNT_BITS) - 1))

/* What an API's gate supplies to the common part. */
struct clv_backlog;
struct clv_queue_ops;
struct clv_gate_api {
	uint32_t attach_api; /* enum clv_attach_api */
	/* Puts a marker behind everything that has none.  lingering: the program did not
	 * come back to it in time.  Returns whether it placed any. */
	bool (*mark_tails)(bool lingering);
	/* Waits for the oldest marker and books it.  Returns false if there is none. */
	bool (*wait_for_marker)(void);
	/* For a thread that waits for room in a queue: books what is complete and that
	 * the helper does not come to.  Returns whether to call it again soon.  NULL:
	 * never. */
	bool (*look_aside)(struct clv_backlog *backlog);
	/* How soon to call that again though nothing says so; 0: no need.  NULL: never.
	 */
	uint64_t (*poll_ns)(void);
	const struct clv_queue_ops
		*queues; /* for queues.h, whose these three mostly are */
	/* Lets go what the vendor has and the gate keeps, as far as turn and room allow.
	 * Returns whether anything is left that waits for those.  NULL: it keeps nothing.
	 */
	bool (*let_go)(void);
	/* In a forked child, before it attaches: forget what the parent had. */
	void (*forget_parent)(void);
	/* This is the page of a further agent, which knows nothing yet.  NULL: it has
	 * nothing to tell. */
	void (*tell_again)(const struct clv_view *view);
	/* Books what the vendor gave back by itself.  NULL: it never does. */
	bool (*settle_memory)(void);
};

/* Called once, before anything else. */
void clv_gate_init(const struct clv_gate_api *api);

/* The present view, or NULL where the process runs ungated (no lease,
 * --if-no-agent=open). *ret_refused is set when the process must see no device. Attaches
 * on first use, and again in a child. */
struct clv_view *clv_gate_view(bool *ret_refused);

/* Lives in a page that the kernel wipes in children, however they are made: a child finds
 * itself unattached. */
struct clv_forkless {
	_Atomic(struct clv_view *) view;
	_Atomic uint32_t settled; /* 1 + enum clv_attachment; 0: not yet */
	_Atomic uint32_t epoch;
	_Atomic int32_t pid; /* of the process that attached, as it knows itself */
	pthread_mutex_t attach_lock; /* wiped is unlocked */
};
extern struct clv_forkless *clv_forkless __attribute__((visibility("hidden")));

/* The view if there is one already; no system call. */
static inline struct clv_view *clv_gate_peek(void)
{
	return atomic_load_explicit(&clv_forkless->view, memory_order_acquire);
}

/* Work in flight. ---------------------------------------------------------------------
 */

/* Enters one command of a queue (NULL: of none) that will take about estimate_ns (0:
 * unknown), and waits for the turn and for room in the queue.  False: it did not go in,
 * and this thread must not wait any longer: it runs a callback, or what is in flight may
 * be waiting for it. */
struct clv_backlog;
bool clv_flight_enter(
	struct clv_view *view, struct clv_backlog *backlog, uint64_t estimate_ns);

/* Commands that went in but were refused by the vendor, or are known to be complete. */
void clv_flight_leave(uint64_t packed);

/* The helper thread: started at the first submission or allocation, woken when a marker
 * was placed. */
void clv_helper_start(void);
void clv_helper_wake(void);

/* Between these two no call on this thread waits for a turn. */
void clv_gate_callback_begin(void);
void clv_gate_callback_end(void);

/* Between these two this thread waits for commands to complete. */
void clv_gate_wait_begin(void);
void clv_gate_wait_end(void);

/* Memory. ------------------------------------------------------------------------------
 */

/* Reserves n_bytes of the quota.  False: it would not fit (counted as a refusal). */
bool clv_ledger_charge(uint64_t n_bytes);

/* The same of the host's memory that the lease may have beyond its quota, for what was
 * just refused above: that is then no refusal. */
bool clv_ledger_spill(uint64_t n_bytes);
void clv_ledger_unspill(uint64_t n_bytes, uint32_t epoch);

/* Gives back what was charged by this very process (epoch from clv_ledger_epoch): objects
 * that a child inherited are the parent's charge. */
void clv_ledger_release(uint64_t n_bytes, uint32_t epoch);

/* Books more, or less, once the real size is known, and never refuses: where that may be
 * much more, the difference is charged. */
void clv_ledger_correct(uint64_t charged_bytes, uint64_t real_bytes);
bool clv_ledger_has_room(uint64_t n_bytes); /* in the quota, at the moment */
uint32_t clv_ledger_epoch(void);
uint64_t clv_ledger_quota_bytes(void);   /* UINT64_MAX: ungated */
uint64_t clv_ledger_used_bytes(void);    /* by all processes of the lease */
uint64_t clv_ledger_settled_bytes(void); /* the same, after settle_memory */

/* What a device has free and in all (each may be NULL), cut to the quota. */
void clv_ledger_show(size_t *free_bytes, size_t *total_bytes);
