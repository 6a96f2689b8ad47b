/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks captures: work submitted to a captured stream becomes part of a graph and does
 * not run yet.  The legacy stream cannot be marked while a stream that waits for it is
 * captured, so all work gets its marker before. */
#include "gate/streams/capture.h"

#include "gate/process/lock.h"
#include "gate/process/view.h"
#include "gate/queue/queues.h"
#include "gate/streams/context.h"
#include "gate/streams/driver.h"
#include "gate/streams/handle.h"

#include <stdlib.h>

_Atomic uint32_t clv_n_captures;

/* An active capture.  It ends with its stream or context too. */
struct capture {
	struct capture *next;
	const void *handle;
	void *context, *subcontext;
	bool shuts_legacy;
};

static struct capture *captures;
static _Atomic uint32_t n_legacy_shut;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin_lock(void)
{
	clv_lock_init(&lock, PTHREAD_MUTEX_NORMAL);
}

void clv_relax_begin(struct clv_relaxation *relaxation)
{
	relaxation->mode = CLV_STREAM_CAPTURE_RELAXED;
	relaxation->is_on = clv_stream_driver->exchange_capture_mode(&relaxation->mode) ==
			    CLV_STREAM_SUCCESS;
}

void clv_relax_end(struct clv_relaxation *relaxation)
{
	if (relaxation->is_on)
		clv_stream_driver->exchange_capture_mode(&relaxation->mode);
}

static void add(struct capture *capture)
{
	pthread_mutex_lock(&lock);
	capture->next = captures;
	captures = capture;
	atomic_fetch_add(&n_legacy_shut, capture->shuts_legacy);
	atomic_fetch_add(&clv_n_captures, 1);
	pthread_mutex_unlock(&lock);
}

static bool is_of(const struct capture *capture, const void *handle, const void *context)
{
	if (!context)
		return capture->handle == handle;
	return capture->context == context || capture->subcontext == context;
}

/* Removes one capture of the stream, or all of the context. */
static void forget(const void *handle, const void *context)
{
	pthread_mutex_lock(&lock);
	for (struct capture **link = &captures; *link;) {
		struct capture *each = *link;

		if (!is_of(each, handle, context)) {
			link = &each->next;
			continue;
		}
		*link = each->next;
		atomic_fetch_sub(&clv_n_captures, 1);
		atomic_fetch_sub(&n_legacy_shut, each->shuts_legacy);
		free(each);
		if (!context)
			break;
	}
	pthread_mutex_unlock(&lock);
}

void clv_capture_forget(const void *handle)
{
	forget(handle, NULL);
}

void clv_captures_end_with(const void *context)
{
	forget(NULL, context);
}

void clv_captures_forget_parent(void)
{
	clv_lock_init(&lock, PTHREAD_MUTEX_NORMAL);
	captures = NULL;
	atomic_store(&clv_n_captures, 0);
	atomic_store(&n_legacy_shut, 0);
}

bool clv_captures_shut_legacy(void)
{
	return atomic_load(&n_legacy_shut) > 0;
}

/* The status call fails for a legacy stream beside a capture.  Work submitted there is
 * not part of the capture, and mostly gets the same error. */
bool clv_stream_is_capturing(void *stream, bool is_per_thread)
{
	int status = CLV_STREAM_CAPTURE_NONE;

	if (atomic_load(&clv_n_captures) == 0)
		return false;
	if (clv_stream_is_own_default(stream, is_per_thread))
		stream = CLV_STREAM_PER_THREAD;
	return clv_stream_driver->capture_status(stream, &status) == CLV_STREAM_SUCCESS &&
	       status != CLV_STREAM_CAPTURE_NONE;
}

static void *subcontext_of(void *stream)
{
	struct clv_stream_subcontext found;

	return clv_stream_driver->subcontext_of &&
			       clv_stream_driver->subcontext_of(stream, NULL, &found)
		       ? found.context
		       : NULL;
}

int clv_capture_begin(void *stream, bool is_per_thread, const void **ret_handle)
{
	struct capture *capture;
	int r = clv_stream_queue_handle(stream, is_per_thread, ret_handle);

	if (r != CLV_STREAM_SUCCESS)
		return r;
	capture = malloc(sizeof(*capture));
	if (!capture)
		return CLV_STREAM_OUT_OF_MEMORY;
	*capture = (struct capture){.handle = *ret_handle};
	if (*ret_handle == stream) {
		capture->context = clv_stream_driver->context_of(stream);
		capture->subcontext = subcontext_of(stream);
	}
	if (!capture->context)
		capture->context = clv_context();
	if (!stream && is_per_thread)
		stream = CLV_STREAM_PER_THREAD;
	capture->shuts_legacy = clv_stream_driver->is_blocking(stream);
	if (clv_gate_current_view())
		clv_queues_mark_tails(false);
	add(capture);
	if (clv_gate_current_view())
		clv_queues_forbid_quick();
	return CLV_STREAM_SUCCESS;
}

int clv_capture_begun(const void *handle, int result)
{
	if (result != CLV_STREAM_SUCCESS)
		forget(handle, NULL);
	return result;
}

int clv_capture_end(int (*end)(void *stream, void *ret_graph), bool is_per_thread,
	void *stream, void *ret_graph)
{
	bool was_capturing = clv_stream_is_capturing(stream, is_per_thread);
	const void *handle;
	int r = end(stream, ret_graph);

	/* The driver may not tell whether the capture is active. */
	if ((r == CLV_STREAM_SUCCESS ||
		    (was_capturing && !clv_stream_is_capturing(stream, is_per_thread))) &&
		clv_stream_queue_handle(stream, is_per_thread, &handle) ==
			CLV_STREAM_SUCCESS)
		forget(handle, NULL);
	return r;
}
