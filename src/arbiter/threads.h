/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The threads in which one process computes, on a device that is the processor.  They
 * stand still by themselves, in the handler of a signal (arbiter/attach.h); whether they
 * do is seen by the processor time that the kernel counts.  Nothing here waits for them.
 * Used by one thread at a time. */
struct clv_threads;

/* NULL: no memory. */
struct clv_threads *clv_threads_new(pid_t pid, const int32_t *tids, uint32_t n);
struct clv_threads *clv_threads_free(struct clv_threads *threads);

/* Whether they are known to be those that compute, and did not run on of late when they
 * were told to stand still. */
bool clv_threads_obey(struct clv_threads *threads);

/* Tells them to stand still.  False: one could not be told. */
bool clv_threads_halt(struct clv_threads *threads);
bool clv_threads_are_halted(const struct clv_threads *threads);
void clv_threads_go(struct clv_threads *threads); /* the caller has told them */

/* Of those that were told: false if they run on all the same. */
bool clv_threads_verify(struct clv_threads *threads, uint64_t now_ns);
