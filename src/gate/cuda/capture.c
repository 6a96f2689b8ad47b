/* SPDX-License-Identifier: Apache-2.0 */
/* Captures: what is submitted to a stream meanwhile becomes part of a graph and is no
 * work yet.  The legacy stream cannot be marked while a stream that waits for it is
 * captured, so everything gets its marker before. */
#include "gate/cuda/capture.h"

#include "gate/cuda/library.h"
#include "gate/cuda/stream.h"

#include <stdlib.h>

_Atomic uint32_t clv_cuda_n_captures;

/* One that is going on.  It ends with its stream and with its context too. */
struct capture {
	struct capture *next;
	const void *handle;
	void *context;
};

static struct capture *captures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(struct capture *capture)
{
	pthread_mutex_lock(&lock);
	capture->next = captures;
	captures = capture;
	atomic_fetch_add(&clv_cuda_n_captures, 1);
	pthread_mutex_unlock(&lock);
}

static bool is_of(const struct capture *capture, const void *handle, const void *context)
{
	return context ? capture->context == context : capture->handle == handle;
}

/* Of the stream, one; of the context, all. */
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
		free(each);
		atomic_fetch_sub(&clv_cuda_n_captures, 1);
		if (!context)
			break;
	}
	pthread_mutex_unlock(&lock);
}

void clv_cuda_captures_end_with(const void *context)
{
	forget(NULL, context);
}

void clv_cuda_captures_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
	captures = NULL;
	atomic_store(&clv_cuda_n_captures, 0);
}

static int begun(const void *handle, int result)
{
	if (result != CLV_CUDA_SUCCESS)
		forget(handle, NULL);
	return result;
}

static const void *begin(void *stream, bool is_per_thread)
{
	struct capture *capture = malloc(sizeof(*capture));
	const void *handle = clv_cuda_queue_handle(stream, is_per_thread);

	if (!capture)
		return NULL;
	*capture =
		(struct capture){.handle = handle, .context = clv_cuda_current_context()};
	if (handle == stream)
		clv_cuda.cuStreamGetCtx(stream, &capture->context);
	if (clv_gate_peek())
		clv_queues_mark_tails(false);
	add(capture);
	if (clv_gate_peek())
		clv_queues_forbid_quick();
	return handle;
}

int clv_own_cuStreamBeginCapture(
	clv_fn_cuStreamBeginCapture *real, bool is_per_thread, void *stream)
{
	const void *handle = begin(stream, is_per_thread);

	return handle ? begun(handle, real(stream)) : CLV_CUDA_OUT_OF_MEMORY;
}

int clv_own_cuStreamBeginCapture_v2(
	clv_fn_cuStreamBeginCapture_v2 *real, bool is_per_thread, void *stream, int mode)
{
	const void *handle = begin(stream, is_per_thread);

	return handle ? begun(handle, real(stream, mode)) : CLV_CUDA_OUT_OF_MEMORY;
}

int clv_own_cuStreamBeginCaptureToGraph(clv_fn_cuStreamBeginCaptureToGraph *real,
	bool is_per_thread, void *stream, void *h_graph, void *dependencies,
	void *dependency_data, size_t num_dependencies, int mode)
{
	const void *handle = begin(stream, is_per_thread);

	if (!handle)
		return CLV_CUDA_OUT_OF_MEMORY;
	return begun(handle, real(stream, h_graph, dependencies, dependency_data,
				     num_dependencies, mode));
}

/* A capture that went wrong ends too, with an error. */
int clv_own_cuStreamEndCapture(
	clv_fn_cuStreamEndCapture *real, bool is_per_thread, void *stream, void *ph_graph)
{
	bool was_capturing = clv_cuda_is_capturing(stream, is_per_thread);
	int r = real(stream, ph_graph);

	if (was_capturing && !clv_cuda_is_capturing(stream, is_per_thread))
		forget(clv_cuda_queue_handle(stream, is_per_thread), NULL);
	return r;
}

/* Of those that joined a capture there is none on the list. */
static int end_stream(int (*destroy)(void *stream), void *stream)
{
	clv_cuda_stream_end(stream);
	if (stream)
		forget(stream, NULL);
	return destroy(stream);
}

int clv_own_cuStreamDestroy(clv_fn_cuStreamDestroy *real, void *stream)
{
	return end_stream(real, stream);
}

int clv_own_cuStreamDestroy_v2(clv_fn_cuStreamDestroy_v2 *real, void *stream)
{
	return end_stream(real, stream);
}
