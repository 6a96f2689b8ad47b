/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/streams/copies.h"

#include "gate/process/queue-record.h"
#include "gate/streams/capture.h"
#include "gate/streams/context.h"
#include "gate/streams/driver.h"

/* 8 ms of a bus of 8 GB/s. */
#define BYTES_MAX (UINT64_C(64) << 20)
#define COPIES_MAX 64

enum state {
	FREE,
	TAKEN, /* between the look at the account and the event */
	OUT,   /* its event says when it is complete */
};

struct clv_copy {
	_Atomic uint32_t state;
	const struct clv_queue *queue; /* only compared: it may be another's by now */
	void *context, *event;         /* the event stays with the place */
	uint64_t n_bytes;
};

/* The lock is for who looks at several; nobody waits for it but who destroys a context.
 */
static struct {
	pthread_mutex_t lock;
	struct clv_copy copies[COPIES_MAX];
} account = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* On a program's thread: its context and its mode of capturing stay. */
struct entered {
	struct clv_visit visit;
	struct clv_relaxation relaxation;
};

static bool enter(struct entered *entered, void *context)
{
	clv_relax_begin(&entered->relaxation);
	if (clv_visit_begin(&entered->visit, context))
		return true;
	clv_relax_end(&entered->relaxation);
	return false;
}

static void leave(struct entered *entered)
{
	clv_visit_end(&entered->visit);
	clv_relax_end(&entered->relaxation);
}

static void look_at(struct clv_copy *copy)
{
	struct entered entered;

	if (!enter(&entered, copy->context))
		return;
	if (clv_stream_driver->query(copy->event) != CLV_STREAM_NOT_READY)
		atomic_store(&copy->state, FREE);
	leave(&entered);
}

/* NULL: all. */
static void look_at_those_of(const struct clv_queue *queue)
{
	for (uint32_t i = 0; i < COPIES_MAX; i++) {
		struct clv_copy *copy = &account.copies[i];

		if (atomic_load(&copy->state) == OUT && (!queue || copy->queue == queue))
			look_at(copy);
	}
}

/* One that has an event of the context if there is such, or at least no other's. */
static struct clv_copy *find_place(const void *context, uint64_t n_bytes)
{
	struct clv_copy *best = NULL;
	uint64_t sum = n_bytes;

	for (uint32_t i = 0; i < COPIES_MAX; i++) {
		struct clv_copy *copy = &account.copies[i];

		if (atomic_load(&copy->state) != FREE)
			sum += copy->n_bytes;
		else if (!best || copy->context == context ||
			 (best->event && best->context != context && !copy->event))
			best = copy;
	}
	return sum <= BYTES_MAX ? best : NULL;
}

static void drop_event(struct clv_copy *copy)
{
	if (copy->event)
		clv_stream_driver->destroy(copy->event);
	copy->event = NULL;
}

static struct clv_copy *take(const struct clv_queue *queue, uint64_t n_bytes)
{
	struct clv_copy *copy = find_place(queue->context, n_bytes);

	if (!copy) {
		look_at_those_of(NULL);
		copy = find_place(queue->context, n_bytes);
	}
	if (!copy)
		return NULL;
	if (copy->context != queue->context)
		drop_event(copy);
	copy->queue = queue;
	copy->context = queue->context;
	copy->n_bytes = n_bytes;
	atomic_store(&copy->state, TAKEN);
	return copy;
}

struct clv_copy *clv_copies_take(const struct clv_queue *queue, uint64_t n_bytes)
{
	struct clv_copy *copy;

	if (n_bytes > BYTES_MAX || pthread_mutex_trylock(&account.lock) != 0)
		return NULL;
	copy = take(queue, n_bytes);
	pthread_mutex_unlock(&account.lock);
	return copy;
}

void clv_copies_return(struct clv_copy *copy)
{
	atomic_store(&copy->state, FREE);
}

static bool record(struct clv_copy *copy, void *stream)
{
	if (!copy->event &&
		clv_stream_driver->make_event(&copy->event,
			CLV_STREAM_EVENT_DISABLE_TIMING) != CLV_STREAM_SUCCESS)
		copy->event = NULL;
	return copy->event &&
	       clv_stream_driver->record(copy->event, stream) == CLV_STREAM_SUCCESS;
}

bool clv_copies_mark(struct clv_copy *copy, void *stream)
{
	bool is_marked = false;
	struct entered entered;

	if (enter(&entered, copy->context)) {
		is_marked = record(copy, stream);
		leave(&entered);
	}
	atomic_store(&copy->state, is_marked ? OUT : FREE);
	return is_marked;
}

bool clv_copies_are_out(const struct clv_queue *queue)
{
	bool are_out = false;

	if (pthread_mutex_trylock(&account.lock) != 0)
		return true;
	look_at_those_of(queue);
	for (uint32_t i = 0; i < COPIES_MAX; i++)
		are_out |= account.copies[i].queue == queue &&
			   atomic_load(&account.copies[i].state) != FREE;
	pthread_mutex_unlock(&account.lock);
	return are_out;
}

void clv_copies_end_with(const void *context, bool has_gone)
{
	pthread_mutex_lock(&account.lock);
	for (uint32_t i = 0; i < COPIES_MAX; i++) {
		struct clv_copy *copy = &account.copies[i];

		if (copy->context != context || atomic_load(&copy->state) == TAKEN)
			continue;
		if (!has_gone)
			drop_event(copy);
		copy->event = copy->context = NULL;
		atomic_store(&copy->state, FREE);
	}
	pthread_mutex_unlock(&account.lock);
}

void clv_copies_forget_parent(void)
{
	pthread_mutex_init(&account.lock, NULL);
	for (uint32_t i = 0; i < COPIES_MAX; i++)
		account.copies[i] = (struct clv_copy){.state = FREE};
}
