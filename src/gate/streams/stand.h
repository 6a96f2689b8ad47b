/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Streams that stand still (gate/queue/polled.c says what becomes of them): behind a wait
 * for a word in memory, or a function of the program's that has not returned.  What waits
 * for an event stands only while another stream stands for one of these reasons: else the
 * event is soon there. */

struct clv_queue;

/* Of one stream. */
struct clv_stand {
	pthread_mutex_t lock;
	struct clv_stand_wait *first, *last;
	uint64_t serial; /* that no other stream ever has */
	/* The helper's: the function that was seen running, and whether the stream
	 * stands for a reason of its own. */
	uint64_t function_since_ns;
	bool is_root;
};

void clv_stand_begin(struct clv_stand *stand);
void clv_stand_end(struct clv_stand *stand, struct clv_queue *queue);
bool clv_stand_look(struct clv_stand *stand, struct clv_queue *queue,
	bool (*is_complete)(struct clv_queue *queue, void *event), bool *ret_went_on);

/* Whether any stream may stand; whether one was seen standing for a reason of its own. */
bool clv_may_stand(void);
bool clv_any_stands(void);
void clv_stand_forget_parent(void);

/* One more wait: a place for it, which is to be returned unless the wait is added. False:
 * there are too many. */
struct clv_stand_wait {
	struct clv_stand_wait *next;
	void *before, *behind; /* events */
	bool is_for_event;
};
bool clv_stand_take_place(void);
void clv_stand_return_place(void);
void clv_stand_add(struct clv_stand *stand, struct clv_stand_wait *wait);

/* A function of the program's that the stream is going to call; then its run; or it was
 * refused.  Of one that is all zero nothing is noted. */
struct clv_stand_function {
	uint64_t serial; /* the stream's */
	uint32_t n_lost;
};
struct clv_stand_function clv_stand_function_expect(const struct clv_stand *stand);
void clv_stand_function_begin(const struct clv_stand_function *function);
void clv_stand_function_end(const struct clv_stand_function *function);
void clv_stand_function_refused(const struct clv_stand_function *function);

/* The device has failed: what it was to call it never calls. */
void clv_stand_functions_lost(void);
