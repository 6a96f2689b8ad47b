/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/histogram.h"

#include <stdbool.h>
#include <stdint.h>

/* What the arbiter is told and what it tells: the plain data of its interface. */

struct clv_arbiter_config {
	uint64_t device_memory_bytes;
	uint64_t drain_timeout_ns; /* 0: one second; then others go on */
	/* The device is the processor: work is on it in the order in which its threads
	 * wake up, not in that of submission. */
	bool is_processor;
};

/* What the arbiter knows of a lease: the account by its own clock, and what the processes
 * report about themselves (for display). */
struct clv_arbiter_sample {
	uint64_t held_ns;      /* the account */
	uint64_t throttled_ns; /* kept from running by its own cap, with work waiting */
	uint64_t waiting_ns;   /* without a turn, with work waiting */
	uint64_t turns;
	uint64_t revocations;       /* turns that ended early for somebody else */
	uint64_t overdue;           /* drains that ran into the time-out */
	struct clv_histogram waits; /* from the first in line to the turn */
	int64_t lag_ns;
	uint64_t memory_used_bytes;     /* reported, and the overhead */
	uint64_t spilled_bytes;         /* reported; of the host's memory */
	uint64_t memory_overhead_bytes; /* as set */
	uint64_t busy_ns;               /* reported */
	uint64_t waited_ns;             /* reported */
	uint64_t refused;               /* reported */
	uint64_t done;                  /* reported: commands completed */
	bool in_flight;                 /* reported: some are not */
	uint32_t n_slots;               /* attached processes */
	bool waiting;                   /* has work and no turn */
	bool holding;                   /* has the turn now */
};

/* How much is known of what a lease's processes have. */
enum clv_known {
	CLV_KNOWN_ALL,
	CLV_KNOWN_NOT_YET,  /* a process has not told all yet */
	CLV_KNOWN_TOO_LONG, /* all together, to be stopped in time */
	CLV_KNOWN_TOO_MANY, /* of a process, to be kept */
};

/* When the threads of a device that is the processor are signalled to stand still. */
enum clv_halting {
	CLV_HALTING_NEVER, /* the beginning */
	CLV_HALTING_OVERDUE,
	CLV_HALTING_ALWAYS,
};
