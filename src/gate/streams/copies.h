/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The account of uncounted copies.  Copies between the host and a device use copy engines
 * and the bus, which turns do not divide.  While other leases have work such a copy does
 * not wait for the turn, and is not work of the turn, as long as there is room in this
 * account of the process, which bounds bytes and copies at once.  A copy that finds no
 * room goes the way of all other work, so the account adds no wait.  It covers streams
 * that the program created and that have had nothing but copies: in a stream with kernels
 * the time of an uncounted copy would be learned as a kernel's.  Any thread; no function
 * here waits for the device. */

struct clv_queue;

/* The arguments of the program's call. */
struct clv_stream_copy {
	uint64_t to, from, n_bytes;
};

/* A copy in the account. */
struct clv_copy;

/* Reserves room before the driver's call, and counts the places in the stream that the
 * copy and its event take.  NULL: there is none. */
struct clv_copy *clv_copies_take(struct clv_queue *queue, uint64_t n_bytes);

/* Releases the room of a copy that the driver refused. */
void clv_copies_return(struct clv_copy *copy);

/* Records an event behind the copy in its stream.  False: that failed, and the copy is no
 * longer in the account. */
bool clv_copies_mark(struct clv_copy *copy, void *stream);

/* Whether copies of the queue may be incomplete. */
bool clv_copies_are_out(const struct clv_queue *queue);

/* The context is about to be destroyed, or was destroyed with its events. */
void clv_copies_end_with(const void *context, bool has_gone);
void clv_copies_forget_parent(void);
