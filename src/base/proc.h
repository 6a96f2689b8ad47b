/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What /proc says of a process, by its first thread. */
struct clv_proc {
	char state; /* as ps has it: R runs, S sleeps, T is stopped, t is traced, Z */
	uint64_t n_switches; /* how often it went to sleep or was taken off */
};

/* False: there is none, or it cannot be seen from here. */
bool clv_proc_read(pid_t pid, struct clv_proc *ret);

/* Whether a thread of it waits in the kernel for what cannot be interrupted. */
bool clv_proc_waits_for_disk(pid_t pid);

/* Whether an argument that it was started with begins so. */
bool clv_proc_has_argument(pid_t pid, const char *prefix);
