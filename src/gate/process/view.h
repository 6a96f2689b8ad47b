/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/attach.h"
#include "arbiter/page.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A view is this process's attachment: its pages and its slot.  Views are never freed, so
 * a thread that still uses an old one while the next agent's is swapped in is safe.  Any
 * thread. */

struct clv_view {
	struct clv_control_page *control; /* mapped read-only */
	struct clv_report_page *report;
	struct clv_slot *slot;
	/* Of this process; NULL: the page of an older agent lacks it. */
	_Atomic uint64_t *spilled_bytes;
	/* Of this process; with an older agent &unread_turn. */
	struct clv_slot_turn *turn;
	struct clv_slot_turn unread_turn;
	/* This process's clock minus the agent's, and the last heartbeat before the agent
	 * fell silent (0: none): gate/attach/heartbeat.h. */
	_Atomic uint64_t clock_ahead_ns, silent_beat_ns;
	uint32_t slot_index;
	int socket_fd;
	int report_fd;
	int doorbell_fd;
	/* Device and inode of each descriptor at attach time: programs close descriptors
	 * that they do not know and reuse the numbers. */
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
	uint32_t
		n_before; /* gate/attach/choose-lease.h; 0: the container has one lease */
	/* The state of the limit in space that was reported to the agent:
	 * gate/attach/sm.h. */
	_Atomic uint32_t sm_state, sm_count;
};

/* In a page that the kernel wipes in children (MADV_WIPEONFORK), however they are
 * created: a child finds itself unattached. */
struct clv_wiped_on_fork {
	_Atomic(struct clv_view *) view;
	_Atomic uint32_t settled; /* 1 + enum clv_attachment; 0: not yet */
	/* Incremented by each attach, so a forked child has another epoch than its
	 * parent. */
	_Atomic uint32_t epoch;
	/* Pid of the process that attached, in its own pid namespace. */
	_Atomic int32_t pid;
	_Atomic uint32_t has_forgotten; /* a child has dropped its parent's state */
	pthread_mutex_t attach_lock;    /* all zero is unlocked */
};
extern struct clv_wiped_on_fork *clv_wiped_on_fork __attribute__((visibility("hidden")));

/* The present view, or NULL; no system call. */
static inline struct clv_view *clv_gate_current_view(void)
{
	return atomic_load_explicit(&clv_wiped_on_fork->view, memory_order_acquire);
}

static inline bool clv_gate_agent_is_dead(const struct clv_view *view)
{
	return atomic_load_explicit(&view->control->beacon.word, memory_order_relaxed) &
	       CLV_BEACON_DEAD;
}
