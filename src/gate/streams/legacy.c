/* SPDX-License-Identifier: Apache-2.0 */
/* Decides in which stream the markers of a legacy stream are recorded. */
#include "gate/streams/legacy.h"

#include "base/clock.h"
#include "gate/process/lock.h"
#include "gate/process/state.h"
#include "gate/process/view.h"
#include "gate/streams/capture.h"
#include "gate/streams/context.h"
#include "gate/streams/driver.h"
#include "gate/streams/handle.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* The other thread is in a driver call that takes microseconds, or was preempted in it;
 * or the call blocks, because the stream is full. */
#define WAIT_NS (1 * CLV_NS_PER_S)

/* The list only grows, so it is read without a lock. */
static _Atomic(struct clv_legacy *) all;
static pthread_mutex_t aside_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin_lock(void)
{
	clv_lock_init(&aside_lock, PTHREAD_MUTEX_NORMAL);
}

static struct clv_legacy *find(const void *context)
{
	struct clv_legacy *each = atomic_load(&all);

	while (each && each->context != context)
		each = each->next;
	return each;
}

struct clv_legacy *clv_legacy_of(void *context)
{
	struct clv_legacy *legacy = find(context), *made;

	if (legacy)
		return legacy;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->context = context;
	made->next = atomic_load(&all);
	/* Looked for again in the list that the new record is put in front of: a context
	 * has one record. */
	do {
		legacy = find(context);
		if (legacy) {
			free(made);
			return legacy;
		}
	} while (!atomic_compare_exchange_weak(&all, &made->next, made));
	return made;
}

void *clv_legacy_take_aside(const void *context)
{
	struct clv_legacy *legacy = find(context);

	return legacy ? atomic_exchange(&legacy->aside, NULL) : NULL;
}

void clv_legacy_forget(const void *context)
{
	struct clv_legacy *legacy = find(context);

	if (!legacy)
		return;
	atomic_store(&legacy->has_blocking, 0);
	atomic_store(&legacy->has_waited, 0);
	atomic_store(&legacy->aside, NULL);
	atomic_store(&legacy->is_drained, 0);
}

void clv_legacy_forget_parent(void)
{
	struct clv_legacy *each;

	clv_lock_init(&aside_lock, PTHREAD_MUTEX_NORMAL);
	for (each = atomic_load(&all); each; each = each->next) {
		clv_legacy_forget(each->context);
		atomic_store(&each->n_marking, 0);
		atomic_store(&each->n_events, 0);
	}
}

/* Whether the event goes into the legacy stream itself; then end_mark() follows.
 *
 * Increments n_marking first and then loads has_blocking; a thread that submits to a
 * blocking stream stores has_blocking first and then loads n_marking: at least one of the
 * two sees the other (sequential consistency). */
static bool begin_mark(struct clv_legacy *legacy)
{
	if (!legacy)
		return true;
	atomic_fetch_add(&legacy->n_marking, 1);
	if (!atomic_load(&legacy->has_blocking))
		return true;
	atomic_fetch_sub(&legacy->n_marking, 1);
	return false;
}

static void end_mark(struct clv_legacy *legacy)
{
	if (legacy)
		atomic_fetch_sub(&legacy->n_marking, 1);
}

static void *make_aside(void)
{
	struct clv_relaxation relaxation;
	void *stream = NULL;

	clv_relax_begin(&relaxation);
	if (clv_stream_driver->make_blocking(&stream) != CLV_STREAM_SUCCESS)
		stream = NULL;
	clv_relax_end(&relaxation);
	return stream;
}

/* NULL: the driver refuses to create the stream. */
static void *get_aside(struct clv_legacy *legacy)
{
	void *stream = atomic_load(&legacy->aside);

	if (stream)
		return stream;
	pthread_mutex_lock(&aside_lock);
	stream = atomic_load(&legacy->aside);
	if (!stream) {
		stream = make_aside();
		atomic_store(&legacy->aside, stream);
	}
	pthread_mutex_unlock(&aside_lock);
	return stream;
}

int clv_legacy_record(struct clv_legacy *legacy, void *event)
{
	void *aside;
	int r;

	if (begin_mark(legacy)) {
		r = clv_stream_driver->record(event, clv_stream_driver->legacy);
		end_mark(legacy);
		return r;
	}
	aside = get_aside(legacy);
	return aside ? clv_stream_driver->record(event, aside) : CLV_STREAM_OUT_OF_MEMORY;
}

/* Adds to the time that the process has waited at the gate, for display. */
static void note_waited(uint64_t ns)
{
	struct clv_view *view = clv_gate_current_view();

	if (view)
		atomic_fetch_add(&view->slot->waited_ns, ns);
}

/* Once in vain is enough: where a blocking stream exists no thread begins to record in
 * the legacy stream, so a later wait would be for the same event. */
static void wait_for_marks(struct clv_legacy *legacy)
{
	uint64_t since_ns = clv_clock_ns(), waited_ns;

	do {
		sched_yield();
		waited_ns = clv_clock_ns() - since_ns;
	} while (atomic_load(&legacy->n_marking) > 0 && waited_ns < WAIT_NS &&
		 !atomic_load(&legacy->has_waited));
	if (waited_ns >= WAIT_NS)
		atomic_store(&legacy->has_waited, 1);
	note_waited(waited_ns);
}

void clv_legacy_submit_blocking(struct clv_legacy *legacy)
{
	if (!legacy)
		return;
	if (!atomic_load(&legacy->has_blocking))
		atomic_store(&legacy->has_blocking, 1);
	if (atomic_load(&legacy->n_marking) > 0 && !atomic_load(&legacy->has_waited))
		wait_for_marks(legacy);
}

void clv_legacy_note_blocking(void)
{
	void *context = clv_context();

	if (context)
		clv_legacy_submit_blocking(clv_legacy_of(context));
}

int clv_legacy_note_created(int result, bool is_blocking)
{
	if (result == CLV_STREAM_SUCCESS && is_blocking)
		clv_legacy_note_blocking();
	return result;
}

void clv_legacy_before_wait(const void *stream, bool is_per_thread)
{
	if (clv_stream_is_own_default(stream, is_per_thread))
		clv_legacy_note_blocking();
}
