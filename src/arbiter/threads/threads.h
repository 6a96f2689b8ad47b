/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The threads in which one process computes, on a device that is the processor.  They
 * halt themselves in a signal handler (arbiter/attach.h); whether they do is checked by
 * the processor time that the kernel counts.  No function here waits for them.  Not
 * thread-safe. */
struct clv_threads;

/* Copies tids.  NULL: no memory. */
struct clv_threads *clv_threads_new(pid_t pid, const int32_t *tids, uint32_t n);
struct clv_threads *clv_threads_free(struct clv_threads *threads);

/* Whether the threads are known to be those that compute, and have not recently run on
 * after being signalled to halt. */
bool clv_threads_can_be_halted(struct clv_threads *threads);

/* Sends each thread the signal to halt.  False: one could not be signalled. */
bool clv_threads_halt(struct clv_threads *threads);
bool clv_threads_are_halted(const struct clv_threads *threads);
void clv_threads_resume(struct clv_threads *threads); /* the caller wakes them */

/* Checks threads that were signalled to halt.  False: they run on. */
bool clv_threads_verify(struct clv_threads *threads, uint64_t now_ns);
