/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Detects blocked streams (gate/queue/blocked-queue.c parks their work): behind a wait
 * for a word in memory, or a function of the program that has not returned.  A stream
 * that waits for an event is blocked only while another stream is blocked for one of
 * these reasons; otherwise the event completes soon. */

struct clv_queue;

/* The state of one stream. */
struct clv_blocked {
	pthread_mutex_t lock;
	struct clv_blocked_wait *first, *last;
	_Atomic uint32_t n_waits;
	uint64_t serial; /* unique among all streams ever */
	/* Used by the helper only: when the function that was seen running began, and
	 * whether the stream is blocked for a reason of its own. */
	uint64_t function_since_ns;
	bool is_root;
};

void clv_blocked_begin(struct clv_blocked *stand);
void clv_blocked_end(struct clv_blocked *stand, struct clv_queue *queue);
bool clv_blocked_look(struct clv_blocked *stand, struct clv_queue *queue,
	bool (*is_complete)(struct clv_queue *queue, void *event), bool *ret_went_on);

/* may_block: whether any stream may be blocked.  any_is_blocked: whether one was seen
 * blocked for a reason of its own. */
bool clv_may_stand(void);
bool clv_any_is_blocked(void);
void clv_blocked_forget_parent(void);

/* A wait of a stream.  take_place reserves a place for it, which must be returned unless
 * the wait is added; false: there are too many, of all streams or `most` of this one. */
struct clv_blocked_wait {
	struct clv_blocked_wait *next;
	void *before, *behind; /* events before and behind the wait */
	bool is_for_event;
};
bool clv_blocked_take_place(struct clv_blocked *stand, uint32_t most);
void clv_blocked_return_place(struct clv_blocked *stand);
void clv_blocked_add(struct clv_blocked *stand, struct clv_blocked_wait *wait);

/* A function of the program that the stream will call: expected, then run, or refused by
 * the driver.  One that is all zero is ignored. */
struct clv_blocked_function {
	uint64_t serial; /* of the stream */
	uint32_t n_lost;
};
struct clv_blocked_function clv_blocked_function_expect(const struct clv_blocked *stand);
void clv_blocked_function_begin(const struct clv_blocked_function *function);
void clv_blocked_function_end(const struct clv_blocked_function *function);
void clv_blocked_function_refused(const struct clv_blocked_function *function);

/* The device has failed and will call none of the expected functions. */
void clv_blocked_functions_lost(void);
