/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with an address of its own that is freed in a stream's order.  The driver has it
 * back when the stream has come to it, which an event behind it tells; until then its
 * charge hangs on that event, and goes with the event's context. */
#include "gate/cuda/memory/freed.h"

#include "gate/cuda/context/green.h"
#include "gate/cuda/context/library.h"
#include "gate/memory/charges.h"
#include "gate/streams/capture.h"
#include "gate/streams/context.h"

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

/* Without a charge its context is gone, and the event's number may be another's. */
static bool has_come(const struct freed *freed)
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

/* With the lock held.  At the first that the stream has not come to it ends, or looks at
 * those of other streams too. */
static bool look(bool at_all)
{
	struct freed **link = &oldest;
	bool is_less = false;

	while (*link) {
		struct freed *freed = *link;

		if (has_come(freed)) {
			*link = freed->next;
			free(freed);
			atomic_fetch_sub(&n_freed, 1);
			is_less = true;
		} else if (at_all) {
			link = &freed->next;
		} else {
			return is_less;
		}
	}
	end = link;
	return is_less;
}

/* No question of the gate's disturbs a capture. */
static bool look_undisturbing(bool at_all)
{
	struct clv_relaxation relaxation = {0};
	bool is_less;

	if (atomic_load(&clv_n_captures) > 0)
		clv_relax_begin(&relaxation);
	is_less = look(at_all);
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
	is_less = look_undisturbing(true);
	pthread_mutex_unlock(&lock);
	return is_less;
}

/* NULL: there is none. */
static void *record(void *stream)
{
	void *event = NULL;

	if (clv_cuda.cuEventCreate(&event, CLV_CUDA_EVENT_DISABLE_TIMING) !=
		CLV_CUDA_SUCCESS)
		return NULL;
	if (clv_cuda.cuEventRecord(event, stream) == CLV_CUDA_SUCCESS)
		return event;
	clv_cuda.cuEventDestroy_v2(event);
	return NULL;
}

/* An event is of the context of its stream, which need not be the current one; and with
 * the primary context, in place of the gate's own, it ends. */
static void *record_in_context(void *stream, void **ret_context)
{
	struct clv_visit visit;
	void *event;

	*ret_context = (uintptr_t)stream > 2 ? clv_cuda_context_of(stream) : NULL;
	if (!*ret_context)
		*ret_context = clv_context();
	if (!clv_visit_begin(&visit, *ret_context))
		return NULL;
	event = record(stream);
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
	look_undisturbing(false);
	*end = freed;
	end = &freed->next;
	atomic_fetch_add(&n_freed, 1);
	pthread_mutex_unlock(&lock);
	return true;
}
