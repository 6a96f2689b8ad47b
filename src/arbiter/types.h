/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/histogram.h"

#include <stdbool.h>
#include <stdint.h>

/* Plain data of the arbiter's interface. */

struct clv_arbiter_config {
	uint64_t device_memory_bytes;
	/* How long a closed holder may drain before other leases run; 0: one second. */
	uint64_t drain_timeout_ns;
	/* The device is the processor: the kernel runs its threads in the order in which
	 * they wake up, not in that of submission. */
	bool is_processor;
};

/* What the arbiter knows of a lease: the account by its own clock, and what the processes
 * report about themselves (for display only). */
struct clv_arbiter_sample {
	uint64_t held_ns;      /* held time, as charged */
	uint64_t throttled_ns; /* kept from running by its own cap, with work waiting */
	uint64_t waiting_ns;   /* without a turn, with work waiting */
	uint64_t turns;
	uint64_t revocations; /* turns that ended early for another lease */
	uint64_t overdue;     /* drains that ran into the time-out */
	/* From when the first thread began to wait in line until the turn. */
	struct clv_histogram waits;
	int64_t lag_ns;
	uint64_t memory_used_bytes;     /* reported, plus the overhead */
	uint64_t spilled_bytes;         /* reported; in the host's memory */
	uint64_t memory_overhead_bytes; /* as set */
	uint64_t busy_ns;               /* reported */
	uint64_t waited_ns;             /* reported */
	uint64_t refused;               /* reported */
	uint64_t done;                  /* reported: commands completed */
	bool in_flight;                 /* reported: some commands are not completed */
	uint32_t n_slots;               /* attached processes */
	bool waiting;                   /* has work and no turn */
	bool holding;                   /* has the turn now */
};

/* How much is known of the driver objects of a lease's processes. */
enum clv_preempt_knowledge {
	CLV_KNOWN_ALL,
	CLV_KNOWN_NOT_YET,  /* a process has not yet reported all of them */
	CLV_KNOWN_TOO_LONG, /* switching all of them takes too many driver calls */
	CLV_KNOWN_TOO_MANY, /* some of a process's objects were not recorded */
};

/* When threads are halted by a signal, on a device that is the processor. */
enum clv_halt_policy {
	CLV_HALTING_NEVER, /* the initial value */
	CLV_HALTING_OVERDUE,
	CLV_HALTING_ALWAYS,
};
