/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Futexes on words that processes share (so never FUTEX_PRIVATE).  Waiting works on a
 * read-only mapping.  timeout_ns is relative; 0 means no timeout.  Callers must check
 * their condition again after every return. */
static inline int clv_futex_wait(
	_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
	struct timespec t = {
		(time_t)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000)};

	if (syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ns ? &t : NULL, NULL,
		    0) < 0)
		return -errno;
	return 0;
}

static inline void clv_futex_wake(_Atomic uint32_t *word, int n_waiters)
{
	syscall(SYS_futex, word, FUTEX_WAKE, n_waiters, NULL, NULL, 0);
}
