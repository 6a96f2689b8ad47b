/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>

/* Events: a mark of the stream at the time of the record. */

#define FLAGS 0xc0000007U

bool dhi_is_event(const struct event *event)
{
	return event && event->magic == IS_EVENT;
}

void dhi_event_set(struct event *event, struct mark *mark, struct device *device)
{
	struct mark *before;

	pthread_mutex_lock(&event->lock);
	before = event->mark;
	event->mark = mark;
	event->device = device;
	event->capture = NULL;
	pthread_mutex_unlock(&event->lock);
	dhi_mark_drop(before);
}

static struct mark *mark_of(struct event *event)
{
	struct mark *mark;

	pthread_mutex_lock(&event->lock);
	mark = dhi_mark_keep(event->mark);
	pthread_mutex_unlock(&event->lock);
	return mark;
}

int dhi_hipEventCreateWithFlags(struct event **ret, unsigned flags)
{
	struct event *event;

	if (!ret || flags & ~FLAGS)
		return HIP_INVALID_VALUE;
	event = calloc(1, sizeof(*event));
	event->magic = IS_EVENT;
	event->flags = flags;
	event->device = dhi_current();
	pthread_mutex_init(&event->lock, NULL);
	event->shared = flags & EVENT_INTERPROCESS ? dhi_shared_event_new() : NULL;
	*ret = event;
	return 0;
}

int dhi_hipEventCreate(struct event **ret)
{
	return dhi_hipEventCreateWithFlags(ret, 0);
}

/* A destroyed handle stays readable, so that a later use of it returns an error. */
int dhi_hipEventDestroy(struct event *event)
{
	if (!dhi_is_event(event))
		return HIP_INVALID_HANDLE;
	dhi_mark_drop(event->mark);
	event->mark = NULL;
	event->magic = 0;
	return 0;
}

int dhi_hipEventRecord(struct event *event, struct stream *handle)
{
	struct stream *s = dhi_stream(handle);
	struct op op = {.kind = OP_RECORD, .event = {event, NULL}};

	if (!dhi_is_event(event) || !s)
		return HIP_INVALID_HANDLE;
	if (dhi_capture_record(s, event))
		return 0;
	if (event->device != s->device && event->mark)
		return HIP_INVALID_HANDLE;
	if (event->shared)
		return dhi_shared_event_record(event->shared, s);
	return dhi_submit(s, &op);
}

int dhi_hipStreamWaitEvent(struct stream *handle, struct event *event, unsigned flags)
{
	struct stream *s = dhi_stream(handle);
	struct op op = {.kind = OP_WAIT, .event = {event, NULL}};
	int r;

	if (!dhi_is_event(event) || !s)
		return HIP_INVALID_HANDLE;
	if (dhi_capture_wait(s, event, &r))
		return r;
	if (event->shared)
		return dhi_shared_event_wait(event->shared, s);
	op.event.mark = mark_of(event);
	r = op.event.mark ? dhi_submit(s, &op) : 0;
	dhi_mark_drop(op.event.mark);
	return r;
}

int dhi_hipEventQuery(struct event *event)
{
	struct mark *mark;
	bool is_done;

	if (!dhi_is_event(event))
		return HIP_INVALID_HANDLE;
	if (event->capture)
		return HIP_CAPTURED_EVENT;
	if (event->shared)
		return dhi_shared_event_is_done(event->shared) ? 0 : HIP_NOT_READY;
	mark = mark_of(event);
	is_done = dhi_mark_is_done(mark);
	dhi_mark_drop(mark);
	return is_done ? 0 : HIP_NOT_READY;
}

int dhi_hipEventSynchronize(struct event *event)
{
	struct mark *mark;

	if (!dhi_is_event(event))
		return HIP_INVALID_HANDLE;
	if (event->capture)
		return HIP_CAPTURED_EVENT;
	if (event->shared) {
		dhi_shared_event_await(event->shared);
		return 0;
	}
	mark = mark_of(event);
	dhi_mark_await(mark);
	dhi_mark_drop(mark);
	dhi_pool_trim(event->device);
	return 0;
}

static int time_of(struct event *event, uint64_t *ret)
{
	struct mark *mark = mark_of(event);
	struct hsa_time time = {0};
	int r = 0;

	if (!mark)
		return HIP_INVALID_HANDLE;
	if (!dhi_mark_is_done(mark))
		r = HIP_NOT_READY;
	else if (hsa_amd_profiling_get_dispatch_time(
			 event->device->agent, mark->signal, &time))
		r = HIP_UNKNOWN;
	*ret = time.end;
	dhi_mark_drop(mark);
	return r;
}

int dhi_hipEventElapsedTime(float *ret, struct event *from, struct event *to)
{
	uint64_t start = 0, end = 0;
	int r;

	if (!ret)
		return HIP_INVALID_VALUE;
	if (!dhi_is_event(from) || !dhi_is_event(to) ||
		(from->flags | to->flags) & EVENT_NO_TIMING)
		return HIP_INVALID_HANDLE;
	r = time_of(from, &start);
	r = r ? r : time_of(to, &end);
	if (!r)
		*ret = (float)((double)(int64_t)(end - start) / 1e6);
	return r;
}
