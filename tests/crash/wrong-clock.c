/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a program: its clocks run at CLEAVE_TEST_CLOCK_RATE times the real rate
 * (negative: backwards) from the first call on. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

/* The symbol version under which every program has it. */
__attribute__((visibility("default"))) int clock_gettime(
	clockid_t clock, struct timespec *t)
{
	static long long began_ns[16];
	const char *rate = getenv("CLEAVE_TEST_CLOCK_RATE");
	long r = syscall(SYS_clock_gettime, clock, t);
	long long now_ns = (long long)t->tv_sec * NS_PER_S + t->tv_nsec;

	if (r != 0 || !rate || clock < 0 || clock >= 16)
		return (int)r;
	if (began_ns[clock] == 0)
		began_ns[clock] = now_ns;
	now_ns = began_ns[clock] +
		 (long long)((double)(now_ns - began_ns[clock]) * strtod(rate, NULL));
	t->tv_sec = (time_t)(now_ns / NS_PER_S);
	t->tv_nsec = (long)(now_ns % NS_PER_S);
	return 0;
}
