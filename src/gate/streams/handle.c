/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of default streams, and their release at the end of a thread. */
#include "gate/streams/handle.h"

#include "gate/process/state.h"
#include "gate/queue/queues.h"
#include "gate/streams/driver.h"

#include <stdint.h>
#include <stdlib.h>

/* A per-thread default stream; the address of this record is its key. */
struct thread_stream {
	void *context;
	struct thread_stream *next;
};

static __thread struct thread_stream *thread_streams
	__attribute__((tls_model("initial-exec")));
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void forget_thread(void *userdata)
{
	struct thread_stream *each = userdata;

	/* A later destructor of the program may use the stream again. */
	thread_streams = NULL;
	clv_stream_forget_context();
	while (each) {
		struct thread_stream *next = each->next;

		clv_queue_release(each);
		free(each);
		each = next;
	}
}

static void make_thread_key(void)
{
	pthread_key_create(&thread_key, forget_thread);
}

static const void *thread_stream(void *context)
{
	struct thread_stream *each = thread_streams;

	while (each && each->context != context)
		each = each->next;
	if (each)
		return each;
	each = malloc(sizeof(*each));
	if (!each)
		return NULL;
	*each = (struct thread_stream){context, thread_streams};
	thread_streams = each;
	pthread_once(&thread_once, make_thread_key);
	pthread_setspecific(thread_key, each);
	return each;
}

static int default_queue_handle(const void *stream, bool is_per_thread, const void **ret)
{
	void *context = NULL;
	int r = clv_stream_driver->get_context(&context);

	clv_stream_forget_context();
	*ret = CLV_STREAM_NO_QUEUE;
	if (r != CLV_STREAM_SUCCESS || !context)
		return r;
	clv_gate_thread.default_handle = (char *)context + 1;
	*ret = clv_gate_thread.default_handle;
	if (!clv_stream_is_own_default(stream, is_per_thread))
		return CLV_STREAM_SUCCESS;
	*ret = thread_stream(context);
	if (!*ret)
		return CLV_STREAM_OUT_OF_MEMORY;
	clv_gate_thread.own_default_handle = *ret;
	return CLV_STREAM_SUCCESS;
}

int clv_stream_queue_handle(const void *stream, bool is_per_thread, const void **ret)
{
	*ret = stream;
	return (uintptr_t)stream > 2 ? CLV_STREAM_SUCCESS
				     : default_queue_handle(stream, is_per_thread, ret);
}

bool clv_stream_is_of_thread(const void *handle, void **ret_context)
{
	const struct thread_stream *each = thread_streams;

	while (each && (const void *)each != handle)
		each = each->next;
	if (each)
		*ret_context = each->context;
	return each;
}
