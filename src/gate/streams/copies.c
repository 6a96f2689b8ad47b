/* SPDX-License-Identifier: Apache-2.0 */
/* A table of places, each with an event that tells when its copy is complete. */
#include "gate/streams/copies.h"

#include "gate/process/lock.h"
#include "gate/process/queue-record.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"
#include "gate/streams/capture.h"
#include "gate/streams/context.h"
#include "gate/streams/driver.h"

/* 8 ms of a bus of 8 GB/s. */
#define BYTES_MAX (UINT64_C(64) << 20)
#define COPIES_MAX 64

#define PLACES_OF_COPY 2 /* the copy and the event */

enum state {
	FREE,
	TAKEN, /* reserved, and the event not recorded yet */
	OUT,   /* its event tells when it is complete */
};

struct clv_copy {
	_Atomic uint32_t state;
	struct clv_queue *queue;
	void *context, *event; /* the event is kept with the place */
	uint64_t n_bytes;
	uint64_t n_others; /* what the queue has counted up to the event */
};

/* The lock protects scans of several places; only the end of a context blocks on it. */
static struct {
	pthread_mutex_t lock;
	struct clv_copy copies[COPIES_MAX];
} account = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((constructor)) static void begin_lock(void)
{
	clv_lock_init(&account.lock, PTHREAD_MUTEX_NORMAL);
}

/* The saved context and capture mode of a program's thread. */
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

/* A copy in the account is a user of the queue's record. */
static void make_free(struct clv_copy *copy)
{
	struct clv_queue *queue = copy->queue;

	atomic_store(&copy->state, FREE);
	clv_table_unuse(queue);
}

static void poll_copy(struct clv_copy *copy)
{
	struct entered entered;

	if (!enter(&entered, copy->context))
		return;
	if (clv_stream_driver->query(copy->event) != CLV_STREAM_NOT_READY) {
		clv_queue_others_done(copy->queue, copy->n_others);
		make_free(copy);
	}
	leave(&entered);
}

/* Polls the events of the queue's copies; NULL: of all. */
static void poll_copies(const struct clv_queue *queue)
{
	for (uint32_t i = 0; i < COPIES_MAX; i++) {
		struct clv_copy *copy = &account.copies[i];

		if (atomic_load(&copy->state) == OUT && (!queue || copy->queue == queue))
			poll_copy(copy);
	}
}

/* Whether a free place is better than the best one so far: preferably it has an event of
 * the context, else none. */
static bool is_better(
	const struct clv_copy *copy, const struct clv_copy *best, const void *context)
{
	return !best || copy->context == context ||
	       (best->event && best->context != context && !copy->event);
}

/* NULL: there is no room. */
static struct clv_copy *find_place(const struct clv_queue *queue, uint64_t n_bytes)
{
	struct clv_copy *best = NULL;
	uint64_t sum = n_bytes;
	uint32_t n = 0;

	for (uint32_t i = 0; i < COPIES_MAX; i++) {
		struct clv_copy *copy = &account.copies[i];

		if (atomic_load(&copy->state) != FREE) {
			sum += copy->n_bytes;
			n += copy->queue == queue;
		} else if (is_better(copy, best, queue->context)) {
			best = copy;
		}
	}
	return sum <= BYTES_MAX && n < clv_queue_copies_max() ? best : NULL;
}

static void drop_event(struct clv_copy *copy)
{
	if (copy->event)
		clv_stream_driver->destroy(copy->event);
	copy->event = NULL;
}

static struct clv_copy *take(struct clv_queue *queue, uint64_t n_bytes)
{
	struct clv_copy *copy = find_place(queue, n_bytes);

	if (!copy) {
		poll_copies(NULL);
		copy = find_place(queue, n_bytes);
	}
	if (!copy)
		return NULL;
	if (copy->context != queue->context)
		drop_event(copy);
	copy->queue = queue;
	copy->context = queue->context;
	copy->n_bytes = n_bytes;
	copy->n_others = clv_queue_count_others(queue, PLACES_OF_COPY);
	clv_table_use(queue);
	atomic_store(&copy->state, TAKEN);
	return copy;
}

struct clv_copy *clv_copies_take(struct clv_queue *queue, uint64_t n_bytes)
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
	make_free(copy);
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
	if (is_marked)
		atomic_store(&copy->state, OUT);
	else
		make_free(copy);
	return is_marked;
}

bool clv_copies_are_out(const struct clv_queue *queue)
{
	bool are_out = false;

	if (pthread_mutex_trylock(&account.lock) != 0)
		return true;
	poll_copies(queue);
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
		if (atomic_load(&copy->state) == OUT)
			make_free(copy);
	}
	pthread_mutex_unlock(&account.lock);
}

void clv_copies_forget_parent(void)
{
	clv_lock_init(&account.lock, PTHREAD_MUTEX_NORMAL);
	for (uint32_t i = 0; i < COPIES_MAX; i++)
		account.copies[i] = (struct clv_copy){.state = FREE};
}
