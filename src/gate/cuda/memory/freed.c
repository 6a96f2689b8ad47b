/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that was allocated by address and is freed in stream order.  The driver gets it
 * back when the stream reaches the free, which an event behind the free shows.  Until
 * then the charge is attached to that event, and goes with the event's context. */
#include "gate/cuda/memory/freed.h"

#include "gate/cuda/context/green.h"
#include "gate/cuda/context/library.h"
#include "gate/memory/charges.h"
#include "gate/streams/capture.h"
#include "gate/streams/context.h"
#include "gate/streams/legacy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct freed {
	struct freed *next;
	void *event;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct freed *oldest, **end = &oldest;
static _Atomic uint32_t n_freed;

/* Without a charge the event's context is gone, and the handle may be another event's. */
static bool is_reached(const struct freed *freed)
{
	struct clv_charge charge = clv_charge_withdraw(freed->event);

	if (!charge.charged)
		return true;
	if (clv_cuda.cuEventQuery(freed->event) != CLV_CUDA_SUCCESS) {
		clv_charge_pointer(&charge, freed->event);
		return false;
	}
	clv_charge_undo(&charge);
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

/* An event in the legacy stream itself would make the streams that wait for that one wait
 * for what other threads have submitted since the free (streams/legacy.h). */
static int record_event(void *event, void *stream, void *context)
{
	return (uintptr_t)stream <= 1 ? clv_legacy_record(clv_legacy_of(context), event)
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

/* Records an event in the stream's context, which need not be the current one.  For
 * streams of the gate's green context that is the primary one, with whose end the charge
 * ends. */
static void *record_in_context(void *stream, void **ret_context)
{
	struct clv_visit visit;
	void *event;

	*ret_context = (uintptr_t)stream > 2 ? clv_cuda_context_of(stream) : NULL;
	if (!*ret_context)
		*ret_context = clv_context();
	if (!clv_visit_begin(&visit, *ret_context))
		return NULL;
	event = record(stream, *ret_context);
	clv_visit_end(&visit);
	return event;
}

bool clv_cuda_freed_await(struct clv_charge *charge, void *stream)
{
	struct freed *freed = malloc(sizeof(*freed));
	void *context;

	if (!freed)
		return false;
	*freed = (struct freed){.event = record_in_context(stream, &context)};
	if (!freed->event) {
		free(freed);
		return false;
	}
	charge->owner = context;
	pthread_mutex_lock(&lock);
	clv_charge_pointer(charge, freed->event);
	reap_relaxed(false);
	*end = freed;
	end = &freed->next;
	atomic_fetch_add(&n_freed, 1);
	pthread_mutex_unlock(&lock);
	return true;
}

void clv_cuda_freed_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
}
