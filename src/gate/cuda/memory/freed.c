/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that was allocated by address and is freed in stream order.  The driver gets it
 * back when the stream reaches the free, which an event behind the free shows.  Until
 * then the charge is attached to that event, and goes with the event's context. */
#include "gate/cuda/memory/freed.h"

#include "gate/cuda/context/green.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/context/subcontext.h"
#include "gate/memory/charges.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"
#include "gate/streams/capture.h"
#include "gate/streams/context.h"
#include "gate/streams/legacy.h"
#include "gate/streams/stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Events of frees that a stream has not reached take places in it.  Without the gate the
 * program may fill all of them, so there are few: the other frees have none until one of
 * these is reached. */
#define EVENTS_MAX 16

struct freed {
	struct freed *next;
	/* Those before it in its stream that have no event of their own. */
	struct freed *also;
	void *event; /* NULL: none yet */
	void *stream, *context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct freed *oldest, **end = &oldest;
static _Atomic uint32_t n_freed;

static bool is_legacy(const void *stream)
{
	return (uintptr_t)stream <= 1;
}

/* Other threads can name neither the legacy stream of another context nor a thread's
 * default stream. */
static bool has_name(const void *stream)
{
	return (uintptr_t)stream > 2;
}

/* An event in the legacy stream itself would make the streams that wait for that one wait
 * for what other threads have submitted since the free (streams/legacy.h). */
static int record_event(void *event, void *stream, void *context)
{
	return is_legacy(stream) ? clv_legacy_record(clv_legacy_of(context), event)
				 : clv_cuda.cuEventRecord(event, stream);
}

/* NULL: the driver creates no event, or does not record it. */
static void *record(void *stream, void *context)
{
	void *event = NULL;

	if (clv_cuda.cuEventCreate(&event, CLV_CUDA_EVENT_DISABLE_TIMING) !=
		CLV_CUDA_SUCCESS)
		return NULL;
	if (record_event(event, stream, context) == CLV_CUDA_SUCCESS)
		return event;
	clv_cuda.cuEventDestroy_v2(event);
	return NULL;
}

/* The stream's context, which need not be the current one.  For streams of a green
 * context that is the primary one, with whose end the charge ends. */
static void *context_of(void *stream)
{
	void *context = has_name(stream) ? clv_cuda_context_of(stream) : NULL;

	return context ? context : clv_context();
}

static void *record_in_context(void *stream, void *context)
{
	struct clv_visit visit;
	void *event;

	if (!clv_visit_begin(&visit, context))
		return NULL;
	event = record(stream, context);
	clv_visit_end(&visit);
	return event;
}

/* What the charge is attached to. */
static const void *key_of(const struct freed *freed)
{
	return freed->event ? freed->event : freed;
}

/* Gives the free its event.  The charge is detached. */
static void give_event(struct freed *freed)
{
	if (!is_legacy(freed->stream))
		clv_stream_count_others(freed->stream, false, 1);
	freed->event = record_in_context(freed->stream, freed->context);
}

/* With the lock held. */
static bool has_place(const void *stream)
{
	uint32_t n = 0;

	for (const struct freed *each = oldest; each; each = each->next)
		n += each->event && each->stream == stream;
	return n < EVENTS_MAX;
}

/* With the lock held, so the driver's call must not block: the stream is not half full.
 */
static bool may_give_event(const struct freed *freed)
{
	const struct clv_queue *queue =
		freed->stream ? clv_queue_find_known(freed->stream) : NULL;

	return !freed->event && queue && clv_queue_has_room(queue) &&
	       has_place(freed->stream) && atomic_load(&clv_n_captures) == 0;
}

/* A stream that is captured must not be asked. */
static bool is_idle(const struct freed *freed)
{
	struct clv_visit visit;
	int r;

	if (!freed->stream || atomic_load(&clv_n_captures) > 0 ||
		!clv_visit_begin(&visit, freed->context))
		return false;
	r = clv_cuda.cuStreamQuery(freed->stream);
	clv_visit_end(&visit);
	return r == CLV_CUDA_SUCCESS;
}

static void end_also(struct freed *freed)
{
	struct freed *each;

	while ((each = freed->also)) {
		struct clv_charge charge = clv_charge_withdraw(each);

		freed->also = each->next;
		if (charge.charged)
			clv_charge_undo(&charge);
		free(each);
		atomic_fetch_sub(&n_freed, 1);
	}
}

/* Without a charge the event's context is gone, and the handle may be another event's. */
static bool is_reached(struct freed *freed)
{
	struct clv_charge charge = clv_charge_withdraw(key_of(freed));

	if (!charge.charged)
		return true;
	if (freed->event ? clv_cuda.cuEventQuery(freed->event) != CLV_CUDA_SUCCESS
			 : !is_idle(freed)) {
		if (may_give_event(freed))
			give_event(freed);
		clv_charge_pointer(&charge, key_of(freed));
		return false;
	}
	clv_charge_undo(&charge);
	if (freed->event)
		clv_cuda.cuEventDestroy_v2(freed->event);
	return true;
}

/* With the lock held: undoes the charges of frees that were reached.  Stops at the first
 * one that was not, or with try_all goes on to those of other streams. */
static bool reap(bool try_all)
{
	struct freed **link = &oldest;
	bool is_less = false;

	while (*link) {
		struct freed *freed = *link;

		if (is_reached(freed)) {
			*link = freed->next;
			end_also(freed);
			free(freed);
			atomic_fetch_sub(&n_freed, 1);
			is_less = true;
		} else if (try_all) {
			link = &freed->next;
		} else {
			return is_less;
		}
	}
	end = link;
	return is_less;
}

/* The same, with calls that do not disturb a capture. */
static bool reap_relaxed(bool try_all)
{
	struct clv_relaxation relaxation = {0};
	bool is_less;

	if (atomic_load(&clv_n_captures) > 0)
		clv_relax_begin(&relaxation);
	is_less = reap(try_all);
	clv_relax_end(&relaxation);
	return is_less;
}

bool clv_cuda_freed_any(void)
{
	return atomic_load_explicit(&n_freed, memory_order_relaxed) > 0;
}

bool clv_cuda_freed_settle(void)
{
	bool is_less;

	if (!clv_cuda_freed_any())
		return false;
	pthread_mutex_lock(&lock);
	is_less = reap_relaxed(true);
	pthread_mutex_unlock(&lock);
	return is_less;
}

/* With the lock held: the newest free in the stream, if it has no event. */
static struct freed *find_late(const void *stream)
{
	struct freed *each = oldest;

	while (each && (each->event || each->stream != stream))
		each = each->next;
	return each;
}

static void append(struct freed *freed)
{
	*end = freed;
	end = &freed->next;
	atomic_fetch_add(&n_freed, 1);
}

/* With the lock held: removes it from the list. */
static void take_out(struct freed *freed)
{
	struct freed **link = &oldest;

	while (*link != freed)
		link = &(*link)->next;
	*link = freed->next;
	if (end == &freed->next)
		end = link;
	freed->next = NULL;
	atomic_fetch_sub(&n_freed, 1);
}

/* With the lock held: the free is behind the late one, and stands for it. */
static void stand_for(struct freed *freed, struct freed *late)
{
	take_out(late);
	late->next = late->also;
	late->also = NULL;
	freed->also = late;
	atomic_fetch_add(&n_freed, 1);
}

/* Whether the free gets its event at once. */
static bool is_followed(const void *stream)
{
	bool is_it;

	if (!has_name(stream))
		return true;
	pthread_mutex_lock(&lock);
	is_it = !find_late(stream) && has_place(stream);
	pthread_mutex_unlock(&lock);
	return is_it;
}

bool clv_cuda_freed_await(struct clv_charge *charge, void *stream)
{
	struct freed *freed = malloc(sizeof(*freed)), *late;

	if (!freed)
		return false;
	*freed = (struct freed){.stream = stream, .context = context_of(stream)};
	if (is_followed(stream)) {
		give_event(freed);
		if (!freed->event) {
			free(freed);
			return false;
		}
	}
	charge->owner = clv_cuda_memory_context(freed->context);
	pthread_mutex_lock(&lock);
	clv_charge_pointer(charge, key_of(freed));
	reap_relaxed(false);
	late = freed->event ? NULL : find_late(stream);
	if (late)
		stand_for(freed, late);
	append(freed);
	pthread_mutex_unlock(&lock);
	return true;
}

/* Whether an event can be recorded in the stream, and soon. */
static bool takes_events(void *stream)
{
	struct clv_queue *queue = clv_queue_find_known(stream);

	return (!queue || !clv_queue_may_block(queue)) &&
	       !clv_stream_is_capturing(stream, false);
}

/* If the stream takes no event now, the charge goes with the context. */
void clv_cuda_freed_end_stream(void *stream)
{
	struct clv_charge charge;
	struct freed *late;

	if (!clv_cuda_freed_any() || !has_name(stream))
		return;
	pthread_mutex_lock(&lock);
	reap_relaxed(true);
	late = find_late(stream);
	if (late)
		take_out(late);
	pthread_mutex_unlock(&lock);
	if (!late)
		return;
	charge = clv_charge_withdraw(late);
	if (charge.charged) {
		if (takes_events(stream))
			give_event(late);
		clv_charge_pointer(&charge, key_of(late));
	}
	pthread_mutex_lock(&lock);
	late->stream = NULL;
	append(late);
	pthread_mutex_unlock(&lock);
}

void clv_cuda_freed_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
}
