/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Copies between the host and a device go through copy engines and the bus, which turns
 * do not share out.  Beside other leases such a copy does not wait for the turn, and is
 * no work of the turn, as long as there is room in this account of the process: so many
 * bytes and copies at once.  One that finds no room goes the way of all other work, so
 * the account adds no wait.  The account covers streams that the program made and that
 * have had nothing but copies: in a stream with kernels the time of a copy that nothing
 * counts would be learnt as a kernel's.  Any thread; no function here waits for the
 * device. */

struct clv_queue;

/* By the arguments of the program's call. */
struct clv_stream_copy {
	uint64_t to, from, n_bytes;
};

/* One copy that is in the account. */
struct clv_copy;

/* Before the driver's call.  NULL: there is no room. */
struct clv_copy *clv_copies_take(const struct clv_queue *queue, uint64_t n_bytes);

/* The driver refused it. */
void clv_copies_return(struct clv_copy *copy);

/* Puts an event behind it in its stream.  False: that failed, and it is not in the
 * account any more. */
bool clv_copies_mark(struct clv_copy *copy, void *stream);

/* Whether some of the queue may not be complete. */
bool clv_copies_are_out(const struct clv_queue *queue);

/* The context is about to go, or has gone with its events. */
void clv_copies_end_with(const void *context, bool has_gone);
void clv_copies_forget_parent(void);
