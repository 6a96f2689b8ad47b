/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/duration.h"
#include "base/vdso.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* Reads a kernel clock through the vDSO, or by system call if there is none.  It bypasses
 * libc's clock_gettime, which a preloaded library may replace to shift time. */
extern __attribute__((visibility("hidden"))) _Atomic(clv_vdso_clock_fn) clv_clock_read;

/* CLOCK_MONOTONIC in nanoseconds.  All processes of one time namespace read the same
 * values.  Times of a gate and of the agent are compared through gate/attach/heartbeat.h
 * only, because their namespaces may differ. */
static inline uint64_t clv_clock_ns(void)
{
	struct timespec t;

	atomic_load_explicit(&clv_clock_read, memory_order_relaxed)(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CLV_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* CLOCK_BOOTTIME in nanoseconds: as CLOCK_MONOTONIC, with the time for which the machine
 * slept. */
static inline uint64_t clv_clock_boot_ns(void)
{
	struct timespec t;

	atomic_load_explicit(&clv_clock_read, memory_order_relaxed)(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * CLV_NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline uint64_t clv_clock_bound_ns(
	uint64_t ns, uint64_t least_ns, uint64_t most_ns)
{
	if (ns < least_ns)
		return least_ns;
	return ns < most_ns ? ns : most_ns;
}

/* Wall-clock time in nanoseconds since 1970, for timestamps shown to users or stored in
 * files. */
static inline uint64_t clv_clock_real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * CLV_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* "2026-01-31T12:34:56.789Z" (RFC 3339, UTC).  buffer holds at least 32 bytes. */
void clv_clock_format_rfc3339(uint64_t real_ns, char buffer[32]);

/* Parses an RFC 3339 timestamp with any UTC offset to seconds since 1970; fractions of a
 * second are dropped.  Returns 0 or -EINVAL. */
int clv_clock_parse_rfc3339(const char *text, int64_t *ret_s);
