/* SPDX-License-Identifier: Apache-2.0 */
#include "virtual-clock.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
/* Longer than a wait for what was already complete, from which a gate learns no duration.
 */
#define READ_NS 21000

static _Atomic uint64_t now_ns; /* 0: the real clock */
static _Atomic uint64_t read_ns = READ_NS;
static _Thread_local bool has_started_it;

void virtual_clock_start(void)
{
	struct timespec t;

	has_started_it = true;
	clock_gettime(CLOCK_MONOTONIC, &t);
	atomic_store(&now_ns, (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec);
}

void virtual_clock_settle(void)
{
	atomic_store(&read_ns, 0);
}

void virtual_clock_advance(uint64_t ns)
{
	if (atomic_load(&now_ns) != 0)
		atomic_fetch_add(&now_ns, ns);
}

/* These instructions are counted as the gate's, so they are few: the gate adds both parts
 * of the time, which are not separated here. */
static void read_clock(struct timespec *ret)
{
	ret->tv_sec = 0;
	ret->tv_nsec = (long)(has_started_it ? atomic_load(&now_ns)
					     : atomic_fetch_add(&now_ns, read_ns));
}

typedef long syscall_fn(long number, long a, long b, long c, long d, long e, long f);

/* Replaces the C library's, whose further arguments are variable: on all machines of
 * valgrind such arguments are passed as these are.  What the caller does not pass is
 * whatever the registers have, as in the C library. */
syscall_fn syscall;

long syscall(long number, long a, long b, long c, long d, long e, long f)
{
	static _Atomic(syscall_fn *) real;

	if (number == SYS_clock_gettime && a == CLOCK_MONOTONIC &&
		atomic_load(&now_ns) != 0) {
		read_clock((struct timespec *)b);
		return 0;
	}
	if (!atomic_load(&real))
		atomic_store(&real, (syscall_fn *)dlsym(RTLD_NEXT, "syscall"));
	return atomic_load(&real)(number, a, b, c, d, e, f);
}
