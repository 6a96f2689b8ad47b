/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "functions.h"
#include "objects.h"
#include "outside.h"
#include <stdlib.h>

/* Events.  A time is the machine's, of the moment at which the stream came to the record.
 */

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
	give_number(e->number);
	return 0;
}

int dcu_cuEventRecordWithFlags(struct event *e, struct stream *handle, unsigned flags)
{
	struct dgp_cmd cmd = {.kind = DGP_RECORD};
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
	pthread_mutex_lock(&e->lock);
	r = dcu_stream_push(s, &cmd, &e->seq);
	if (!r) {
		e->slot = s->slot;
		e->recorded = true;
	}
	pthread_mutex_unlock(&e->lock);
	return r;
}

int dcu_cuEventRecord(struct event *e, struct stream *handle)
{
	return dcu_cuEventRecordWithFlags(e, handle, 0);
}

static void last_record(struct event *e, bool *recorded, int *slot, uint64_t *seq)
{
	pthread_mutex_lock(&e->lock);
	*recorded = e->recorded;
	*slot = e->slot;
	*seq = e->seq;
	pthread_mutex_unlock(&e->lock);
}

int dcu_cuEventQuery(struct event *e)
{
	bool recorded;
	int slot, r;
	uint64_t seq;

	if (!is_event(e))
		return DCU_INVALID_HANDLE;
	r = dcu_capture_event_forbids(e);
	if (r)
		return r;
	if (e->shared)
		return dcu_shared_event_is_done(e->shared) ? 0 : DCU_NOT_READY;
	last_record(e, &recorded, &slot, &seq);
	return !recorded || dgp_is_done(slot, seq) ? 0 : DCU_NOT_READY;
}

int dcu_cuEventSynchronize(struct event *e)
{
	bool recorded;
	int slot, r;
	uint64_t seq;

	if (!is_event(e))
		return DCU_INVALID_HANDLE;
	r = dcu_capture_event_forbids(e);
	if (r)
		return r;
	if (e->shared) {
		dcu_shared_event_await(e->shared);
		return 0;
	}
	last_record(e, &recorded, &slot, &seq);
	return recorded ? dgp_await(slot, seq) : 0;
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
	struct dgp_cmd cmd = {.kind = DGP_WAIT_STREAM};
	bool recorded;
	int r, slot;
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
	last_record(e, &recorded, &slot, &cmd.value);
	cmd.target = (uint16_t)slot;
	return recorded ? dcu_stream_push(s, &cmd, NULL) : 0;
}
