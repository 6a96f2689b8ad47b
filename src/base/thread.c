/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduling of the few threads on the path of a hand-over between two tenants.  Nothing
 * here needs a privilege; what the kernel refuses is skipped. */
#include "base/thread.h"

#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROMPT_SLICE_NS 100000
#define PROMPT_NICE (-15)

/* The kernel's struct sched_attr, first version (linux/sched/types.h clashes with libc's
 * sched.h in Debian 12). */
struct scheduling {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns;
	uint64_t deadline_ns;
	uint64_t period_ns;
};

void clv_thread_make_prompt(void)
{
	struct scheduling wanted = {
		.size = sizeof(wanted),
		.runtime_ns = PROMPT_SLICE_NS,
	};
	int tid = (int)syscall(SYS_gettid);

	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (setpriority(PRIO_PROCESS, (id_t)tid, PROMPT_NICE) == 0)
		wanted.nice = PROMPT_NICE;
	else
		wanted.nice = getpriority(PRIO_PROCESS, (id_t)tid);
	syscall(SYS_sched_setattr, tid, &wanted, 0);
}

void clv_thread_block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}
