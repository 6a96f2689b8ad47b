/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/clock.h"
#include "gate/queue/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define DEPTH 100000

/* A vendor whose events are complete when they are awaited. */

static uint32_t n_refusals;

static void (*in_mark)(void);

static void *mark(struct clv_queue *queue)
{
	if (in_mark)
		in_mark();
	if (n_refusals == 0)
		return malloc(1);
	n_refusals--;
	return NULL;
}

static bool has_no_end;

static void *mark_end(struct clv_queue *queue)
{
	return has_no_end ? NULL : malloc(1);
}

static uint32_t n_slow; /* the next ones are awaited for 5 ms each */

static void wait_for_event(struct clv_queue *queue, void *event)
{
	const struct timespec pause = {.tv_nsec = 5 * CLV_NS_PER_MS};

	assert_non_null(event);
	if (n_slow > 0) {
		n_slow--;
		nanosleep(&pause, NULL);
	}
}

static void release_event(struct clv_queue *queue, void *event)
{
	free(event);
}

/* is_asked: whether a stream may be blocked, which none is; goes_on: no event is complete
 * yet. */
static bool is_asked, goes_on;

static bool may_block(void)
{
	return is_asked;
}

static bool is_complete(struct clv_queue *queue, void *event)
{
	return !goes_on;
}

static bool is_blocked(struct clv_queue *queue, bool *ret_went_on)
{
	return false;
}

static enum clv_queue_rest rest; /* of each queue */

static enum clv_queue_rest ask_rest(struct clv_queue *queue)
{
	return rest;
}

static const struct clv_queue *flushed; /* the last */

static void flush(struct clv_queue *queue)
{
	flushed = queue;
}

static void begin_queue(struct clv_queue *queue)
{
	queue->context = queue;
}

static const struct clv_queue_ops ops = {
	.record_bytes = sizeof(struct clv_queue),
	.depth = DEPTH,
	.begin = begin_queue,
	.mark = mark,
	.mark_end = mark_end,
	.flush = flush,
	.wait_for_event = wait_for_event,
	.release_event = release_event,
	.may_block = may_block,
	.is_complete = is_complete,
	.ask_rest = ask_rest,
	.is_blocked = is_blocked,
};
static const struct clv_gate_api api = {.queues = &ops};
