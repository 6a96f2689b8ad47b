/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

/* Streams. Each has its own queue, created with its first command. A device's null stream
 * and its blocking streams wait for each other by barriers. */

#define UNITS_MAX 1024

static bool is_blocking(const struct stream *s)
{
	return !(s->flags & STREAM_NON_BLOCKING);
}

struct stream *dhi_stream_new(struct device *device, unsigned flags, int priority,
	const uint32_t *mask, uint32_t words)
{
	struct stream *s = calloc(1, sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	s->magic = IS_STREAM;
	s->device = device;
	s->flags = flags;
	s->priority = priority;
	s->mask_words = words;
	if (mask)
		memcpy(s->mask, mask, words * sizeof(*mask));
	return s;
}

static void add_to_device(struct stream *s)
{
	pthread_mutex_lock(&s->device->lock);
	s->next = s->device->streams;
	s->device->streams = s;
	pthread_mutex_unlock(&s->device->lock);
}

static void remove_from_device(struct stream *s)
{
	pthread_mutex_lock(&s->device->lock);
	for (struct stream **at = &s->device->streams; *at; at = &(*at)->next) {
		if (*at != s)
			continue;
		*at = s->next;
		break;
	}
	pthread_mutex_unlock(&s->device->lock);
}

struct stream *dhi_stream(struct stream *handle)
{
	if (handle == HIP_PER_THREAD || (!handle && dhi_thread.per_thread)) {
		struct stream *own = dhi_thread.own;

		if (!own || own->device != dhi_current()) {
			own = dhi_stream_new(dhi_current(), 0, 0, NULL, 0);
			add_to_device(own);
			dhi_thread.own = own;
		}
		return own;
	}
	if (!handle || (DHI_ROCM >= 6 && handle == HIP_LEGACY))
		return dhi_current()->null;
	return handle->magic == IS_STREAM ? handle : NULL;
}

/* --- The queue --- */

static int open_queue(struct stream *s)
{
	static const int priorities[] = {
		HSA_PRIORITY_HIGH, HSA_PRIORITY_NORMAL, HSA_PRIORITY_LOW};
	void *kernargs;
	int r = dhi_builtin(s->device);

	if (r)
		return r;
	r = hsa_queue_create(s->device->agent, QUEUE_PACKETS, HSA_QUEUE_MULTI, NULL, NULL,
		UINT32_MAX, UINT32_MAX, &s->queue);

	if (r)
		return dhi_error_of(r);
	r = hsa_amd_memory_pool_allocate(
		dhi_kernarg_pool, QUEUE_PACKETS * KERNARG_BYTES, 0, &kernargs);
	if (r) {
		hsa_queue_destroy(s->queue);
		s->queue = NULL;
		return dhi_error_of(r);
	}
	s->kernargs = kernargs;
	hsa_amd_agents_allow_access(1, &s->device->agent, NULL, kernargs);
	if (s->priority)
		hsa_amd_queue_set_priority(s->queue, priorities[s->priority + 1]);
	if (s->mask_words)
		hsa_amd_queue_cu_set_mask(s->queue, s->mask_words * 32, s->mask);
	return 0;
}

struct mark *dhi_stream_mark(struct stream *s)
{
	struct mark *mark;

	if (s->pending)
		return dhi_mark_keep(s->pending);
	if (!s->queue || !s->n_packets)
		return NULL;
	if (s->tail && s->tail_packets == s->n_packets)
		return dhi_mark_keep(s->tail);
	mark = dhi_mark_new();
	dhi_barrier(s, NULL, mark);
	return mark;
}

static struct mark *locked_mark(struct stream *s)
{
	struct mark *mark;

	pthread_mutex_lock(&s->lock);
	mark = dhi_stream_mark(s);
	pthread_mutex_unlock(&s->lock);
	return mark;
}

static void wait_behind(struct stream *s, struct mark *mark)
{
	if (mark && !dhi_mark_is_done(mark))
		dhi_barrier(s, mark, NULL);
	dhi_mark_drop(mark);
}

/* --- The null stream and the others: the marks that the next command waits for --- */

static void gather_mark(struct marks *marks, struct mark *mark)
{
	if (mark && dhi_mark_is_done(mark)) {
		dhi_mark_drop(mark);
		return;
	}
	if (!mark)
		return;
	marks->list = realloc(marks->list, (marks->n + 1) * sizeof(mark));
	marks->list[marks->n++] = mark;
}

static void gather_others(struct stream *s, struct marks *marks)
{
	pthread_mutex_lock(&s->device->lock);
	for (struct stream *o = s->device->streams; o; o = o->next) {
		uint64_t n = atomic_load(&o->n_ops);

		if (!is_blocking(o) || o->capture ||
			atomic_exchange(&o->seen_by_null, n) == n)
			continue;
		gather_mark(marks, locked_mark(o));
	}
	pthread_mutex_unlock(&s->device->lock);
}

void dhi_stream_gather(struct stream *s, struct marks *ret)
{
	struct stream *null = s->device->null;

	*ret = (struct marks){NULL, 0};
	if (s == null) {
		gather_others(s, ret);
	} else if (is_blocking(s)) {
		uint64_t n = atomic_load(&null->n_ops);

		if (atomic_exchange(&s->null_seen, n) != n)
			gather_mark(ret, locked_mark(null));
	}
}

int dhi_stream_ready(struct stream *s, struct marks *marks)
{
	int r = s->queue ? 0 : open_queue(s);

	for (uint32_t i = 0; i < marks->n; i++)
		if (r)
			dhi_mark_drop(marks->list[i]);
		else
			wait_behind(s, marks->list[i]);
	free(marks->list);
	return r;
}

void dhi_stream_continue(struct stream *s)
{
	struct mark *pending = s->pending;

	s->pending = NULL;
	wait_behind(s, pending);
	s->n_ops++;
}

/* --- Waiting --- */

void dhi_stream_await(struct stream *s)
{
	struct mark *mark = locked_mark(s);

	dhi_mark_await(mark);
	dhi_mark_drop(mark);
}

void dhi_device_await(struct device *device)
{
	struct mark *marks[256];
	int n = 0;

	marks[n++] = locked_mark(device->null);
	pthread_mutex_lock(&device->lock);
	for (struct stream *s = device->streams; s && n < 256; s = s->next)
		if (!s->capture)
			marks[n++] = locked_mark(s);
	pthread_mutex_unlock(&device->lock);
	for (int i = 0; i < n; i++) {
		dhi_mark_await(marks[i]);
		dhi_mark_drop(marks[i]);
	}
}

int dhi_hipDeviceSynchronize(void)
{
	int r = dhi_capture_is_unsafe();

	if (r)
		return r;
	dhi_device_await(dhi_current());
	dhi_pool_trim(dhi_current());
	return 0;
}

int dhi_hipStreamSynchronize(struct stream *handle)
{
	struct stream *s = dhi_stream(handle);

	if (!s)
		return HIP_INVALID_HANDLE;
	if (s->capture)
		return dhi_capture_is_unsafe() ? HIP_CAPTURE_UNSUPPORTED
					       : HIP_CAPTURE_UNSUPPORTED;
	if (s == s->device->null && dhi_capture_check(s))
		return HIP_CAPTURE_IMPLICIT;
	dhi_stream_await(s);
	dhi_pool_trim(s->device);
	return 0;
}

int dhi_hipStreamQuery(struct stream *handle)
{
	struct stream *s = dhi_stream(handle);
	struct mark *mark;
	bool is_done;

	if (!s)
		return HIP_INVALID_HANDLE;
	if (s->capture)
		return HIP_CAPTURE_UNSUPPORTED;
	mark = locked_mark(s);
	is_done = dhi_mark_is_done(mark);
	dhi_mark_drop(mark);
	return is_done ? 0 : HIP_NOT_READY;
}

/* --- Making and ending --- */

static int clamp(int priority)
{
	return priority < -1 ? -1 : priority > 1 ? 1 : priority;
}

static int make(struct stream **ret, unsigned flags, int priority, const uint32_t *mask,
	uint32_t words)
{
	if (!ret || (flags & ~STREAM_NON_BLOCKING))
		return HIP_INVALID_VALUE;
	*ret = dhi_stream_new(dhi_current(), flags, clamp(priority), mask, words);
	add_to_device(*ret);
	return 0;
}

int dhi_hipStreamCreate(struct stream **ret)
{
	return make(ret, 0, 0, NULL, 0);
}

int dhi_hipStreamCreateWithFlags(struct stream **ret, unsigned flags)
{
	return make(ret, flags, 0, NULL, 0);
}

int dhi_hipStreamCreateWithPriority(struct stream **ret, unsigned flags, int priority)
{
	return make(ret, flags, priority, NULL, 0);
}

int dhi_hipExtStreamCreateWithCUMask(
	struct stream **ret, uint32_t words, const uint32_t *mask)
{
	if (!mask || !words || words > UNITS_MAX / 32)
		return HIP_INVALID_VALUE;
	return make(ret, 0, 0, mask, words);
}

/* A stream created without a mask has all units. */
int dhi_hipExtStreamGetCUMask(struct stream *handle, uint32_t words, uint32_t *ret)
{
	struct stream *s = dhi_stream(handle);

	if (!s)
		return HIP_INVALID_HANDLE;
	if (!ret || words * 32 < s->device->units)
		return HIP_INVALID_VALUE;
	memset(ret, 0, words * sizeof(*ret));
	for (uint32_t i = 0; i < s->device->units; i++)
		ret[i / 32] |= 1U << i % 32;
	for (uint32_t i = 0; i < words && s->mask_words; i++)
		ret[i] &= i < s->mask_words ? s->mask[i] : 0;
	return 0;
}

static void close_queue(struct stream *s)
{
	if (!s->queue)
		return;
	hsa_queue_destroy(s->queue);
	hsa_amd_memory_pool_free(s->kernargs);
	for (uint32_t i = 0; i < s->n_held; i++)
		dhi_mark_drop(s->held[i].mark);
	for (int i = 0; i < CHECKPOINTS; i++)
		dhi_mark_drop(s->checkpoints[i]);
	free(s->held);
}

/* Like the real runtime, waits for its remaining commands. */
int dhi_hipStreamDestroy(struct stream *s)
{
	if (!s || s == HIP_PER_THREAD || s->magic != IS_STREAM || s == s->device->null)
		return HIP_INVALID_HANDLE;
	dhi_stream_await(s);
	remove_from_device(s);
	close_queue(s);
	dhi_mark_drop(s->tail);
	dhi_mark_drop(s->pending);
	s->magic = 0;
	return 0;
}

/* --- Properties of a stream --- */

int dhi_hipStreamGetFlags(struct stream *handle, unsigned *ret)
{
	struct stream *s = dhi_stream(handle);

	if (!s || !ret)
		return HIP_INVALID_VALUE;
	*ret = s->flags;
	return 0;
}

hip_plain hipGetStreamDeviceId(struct stream *handle)
{
	struct stream *s = dhi_stream(handle);

	return s ? s->device->ordinal : -1;
}

int dhi_hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 1;
	if (greatest)
		*greatest = -1;
	return 0;
}
