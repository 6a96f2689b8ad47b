/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "functions.h"
#include "objects.h"
#include "outside.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Events. An event's time is that of the machine when the stream reached the record. */

static pthread_mutex_t numbers_lock = PTHREAD_MUTEX_INITIALIZER;
static uint16_t free_numbers[DGP_EVENTS];
static uint32_t n_free, n_used;

static bool take_number(uint16_t *ret)
{
	bool found;

	pthread_mutex_lock(&numbers_lock);
	found = n_free || n_used < DGP_EVENTS;
	if (found)
		*ret = n_free ? free_numbers[--n_free] : (uint16_t)n_used++;
	pthread_mutex_unlock(&numbers_lock);
	return found;
}

static void give_number(uint16_t number)
{
	pthread_mutex_lock(&numbers_lock);
	free_numbers[n_free++] = number;
	pthread_mutex_unlock(&numbers_lock);
}

int dcu_cuEventCreate(struct event **ret, unsigned flags)
{
	struct ctx *ctx = dcu_current();
	struct event *e;

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!ret || flags > 7 ||
		(flags & DCU_EVENT_INTERPROCESS && !(flags & DCU_EVENT_DISABLE_TIMING)))
		return DCU_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	e->magic = DCU_IS_EVENT;
	e->ctx = ctx;
	e->flags = flags;
	pthread_mutex_init(&e->lock, NULL);
	if (!take_number(&e->number) ||
		(flags & DCU_EVENT_INTERPROCESS && dcu_shared_event_new(&e->shared))) {
		free(e);
		return DCU_OUT_OF_MEMORY;
	}
	*ret = e;
	return 0;
}

static bool is_event(const struct event *e)
{
	return e && e->magic == DCU_IS_EVENT;
}

int dcu_cuEventDestroy_v2(struct event *e)
{
	if (!is_event(e))
		return DCU_INVALID_HANDLE;
	e->magic = DCU_DEAD;
	pthread_mutex_lock(&e->lock);
	free(e->places);
	e->places = NULL;
	e->n_places = 0;
	pthread_mutex_unlock(&e->lock);
	give_number(e->number);
	return 0;
}

/* As if the thread lost its processor here.  In other streams it would make those late,
 * too, who are to come in between. */
static void be_late(const struct stream *s)
{
	if (s == &s->ctx->legacy && dgp_hello.record_us)
		usleep(dgp_hello.record_us);
}

/* The lock is held. */
static int keep_places(struct event *e, const struct place *places, size_t n)
{
	struct place *kept = realloc(e->places, n * sizeof(*kept));

	if (!kept)
		return DCU_OUT_OF_MEMORY;
	memcpy(kept, places, n * sizeof(*kept));
	e->places = kept;
	e->n_places = n;
	e->recorded = true;
	return 0;
}

int dcu_cuEventRecordWithFlags(struct event *e, struct stream *handle, unsigned flags)
{
	struct dgp_cmd cmd = {.kind = DGP_RECORD};
	struct place place;
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!is_event(e) || !dcu_ctx_is_related(e->ctx, s->ctx))
		return DCU_INVALID_HANDLE;
	if (flags > 1)
		return DCU_INVALID_VALUE;
	if (s->capture)
		return dcu_capture_record(s, e, flags == 1);
	if (e->shared)
		return dcu_shared_event_record(e->shared, handle);
	e->capture = NULL;
	cmd.target = e->number;
	be_late(s);
	pthread_mutex_lock(&e->lock);
	place.slot = s->slot;
	r = dcu_stream_push(s, &cmd, &place.seq);
	if (!r)
		r = keep_places(e, &place, 1);
	pthread_mutex_unlock(&e->lock);
	return r;
}

int dcu_cuEventRecord(struct event *e, struct stream *handle)
{
	return dcu_cuEventRecordWithFlags(e, handle, 0);
}

/* Records behind the current work of all the context's streams. The event has no time. */
int dcu_cuCtxRecordEvent(struct ctx *ctx, struct event *e)
{
	struct place all[DGP_SLOTS];
	size_t n;
	int r;

	if (!ctx || ctx->magic != DCU_IS_CTX || !is_event(e) || e->ctx != ctx)
		return DCU_INVALID_HANDLE;
	r = dcu_capture_forbids_ctx(ctx);
	if (r)
		return r;
	n = dcu_ctx_tails(ctx, all, 0);
	if (ctx->is_primary)
		n = dcu_green_tails(ctx->device, all, n);
	pthread_mutex_lock(&e->lock);
	r = keep_places(e, all, n);
	pthread_mutex_unlock(&e->lock);
	return r;
}

/* Returns the number of places. */
static size_t last_record(struct event *e, struct place ret[DGP_SLOTS])
{
	size_t n;

	pthread_mutex_lock(&e->lock);
	n = e->n_places;
	for (size_t i = 0; i < n; i++)
		ret[i] = e->places[i];
	pthread_mutex_unlock(&e->lock);
	return n;
}

static bool is_done(struct event *e)
{
	struct place places[DGP_SLOTS];
	size_t n = last_record(e, places);
	bool done = true;

	for (size_t i = 0; i < n && done; i++)
		done = dgp_is_done(places[i].slot, places[i].seq);
	return done;
}

int dcu_cuEventQuery(struct event *e)
{
	int r;

	if (!is_event(e))
		return DCU_INVALID_HANDLE;
	r = dcu_capture_event_forbids(e);
	if (r)
		return r;
	return (e->shared ? dcu_shared_event_is_done(e->shared) : is_done(e))
		       ? 0
		       : DCU_NOT_READY;
}

static int await(struct event *e)
{
	struct place places[DGP_SLOTS];
	size_t n = last_record(e, places);
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = dgp_await(places[i].slot, places[i].seq);
	return r;
}

int dcu_cuEventSynchronize(struct event *e)
{
	int r;

	if (!is_event(e))
		return DCU_INVALID_HANDLE;
	r = dcu_capture_event_forbids(e);
	if (r)
		return r;
	if (!e->shared)
		return await(e);
	dcu_shared_event_await(e->shared);
	return 0;
}

int dcu_cuEventElapsedTime_v2(float *ret, struct event *start, struct event *end)
{
	int r, s;

	if (!is_event(start) || !is_event(end) || !start->recorded || !end->recorded ||
		(start->flags | end->flags) & DCU_EVENT_DISABLE_TIMING)
		return DCU_INVALID_HANDLE;
	if (!ret)
		return DCU_INVALID_VALUE;
	r = dcu_cuEventQuery(start);
	s = dcu_cuEventQuery(end);
	if (r || s)
		return r ? r : s;
	*ret = (float)((double)(int64_t)(dgp_area->event_ns[end->number] -
					 dgp_area->event_ns[start->number]) /
		       1e6);
	return 0;
}

int dcu_cuStreamWaitEvent(struct stream *handle, struct event *e, unsigned flags)
{
	struct place places[DGP_SLOTS];
	size_t n;
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!is_event(e))
		return DCU_INVALID_HANDLE;
	if (flags > 1)
		return DCU_INVALID_VALUE;
	if (s->capture || e->capture)
		return dcu_capture_wait(s, e, flags == 1);
	if (e->shared)
		return dcu_shared_event_wait(e->shared, handle);
	n = last_record(e, places);
	for (size_t i = 0; i < n && !r; i++) {
		struct dgp_cmd cmd = {.kind = DGP_WAIT_STREAM,
			.target = (uint16_t)places[i].slot,
			.value = places[i].seq};

		r = dcu_stream_push(s, &cmd, NULL);
	}
	return r;
}
