/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* State of a process from /proc/PID/status, which describes its main thread. */
struct clv_proc {
	char state; /* as in ps: R running, S sleeping, T stopped, t traced, Z zombie */
	uint64_t n_switches; /* voluntary and involuntary context switches */
	uint64_t n_waits;    /* the voluntary ones: how often it waited for something */
};

/* Returns false if there is no such process or it is not visible in /proc. */
bool clv_proc_read(pid_t pid, struct clv_proc *ret);

/* The processor time of the main thread so far; 0: unknown. */
uint64_t clv_proc_ran_ns(pid_t pid);

/* Whether a thread of the process is in uninterruptible sleep (state D). */
bool clv_proc_waits_for_disk(pid_t pid);

/* Whether an argument in the first 8 KiB of its command line begins with prefix. */
bool clv_proc_has_argument(pid_t pid, const char *prefix);
