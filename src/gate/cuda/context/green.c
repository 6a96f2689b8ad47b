/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's green context and the streams in it.  Only non-blocking streams can be
 * there, because a default stream is ordered only with blocking streams of its own
 * context.  The program's context stays current, and is reported as the context of these
 * streams: a green context may be current on one thread at a time only. */
#include "gate/cuda/context/green.h"

#include "gate/attach/sm.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/context/part.h"
#include "gate/cuda/context/primary.h"
#include "gate/cuda/context/subcontext.h"
#include "gate/streams/legacy.h"

#include <pthread.h>

static struct {
	pthread_mutex_t lock;
	_Atomic(void *) context;
	uint32_t count;
	uint32_t n_streams; /* the program's streams in the context */
	bool is_refused;    /* the driver refused to create the context */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *make(uint32_t *ret_count)
{
	struct clv_cuda_resource part;
	void *description = NULL, *green = NULL;

	if (!clv_cuda_part_take(&part) ||
		clv_cuda.cuDevResourceGenerateDesc(&description, &part, 1) !=
			CLV_CUDA_SUCCESS ||
		clv_cuda.cuGreenCtxCreate(&green, description, CLV_CUDA_PART_DEVICE,
			CLV_CUDA_GREEN_DEFAULT_STREAM) != CLV_CUDA_SUCCESS)
		return NULL;
	*ret_count = part.count;
	return green;
}

/* With the lock held: returns the context, which the first call creates.  NULL: the
 * driver refused. */
static void *get_context(void)
{
	if (!own.context && !own.is_refused) {
		own.context = make(&own.count);
		own.is_refused = !own.context;
	}
	return own.context;
}

bool clv_cuda_green_stream_removed(void)
{
	bool is_last;

	pthread_mutex_lock(&own.lock);
	is_last = own.n_streams > 0 && --own.n_streams == 0;
	pthread_mutex_unlock(&own.lock);
	return is_last;
}

void *clv_cuda_green(void)
{
	void *context;

	if (clv_sm_limit_get().ppm == 0)
		return NULL;
	pthread_mutex_lock(&own.lock);
	context = get_context();
	pthread_mutex_unlock(&own.lock);
	return context;
}

bool clv_cuda_green_is_used(void)
{
	bool is_used;

	pthread_mutex_lock(&own.lock);
	is_used = own.n_streams > 0;
	pthread_mutex_unlock(&own.lock);
	return is_used;
}

bool clv_cuda_green_end(bool with_streams)
{
	bool ends;

	pthread_mutex_lock(&own.lock);
	ends = with_streams || own.n_streams == 0;
	if (ends) {
		if (own.context)
			clv_cuda.cuGreenCtxDestroy(own.context);
		own.context = NULL;
		own.n_streams = 0;
	}
	pthread_mutex_unlock(&own.lock);
	return ends;
}

void clv_cuda_green_forget_parent(void)
{
	pthread_mutex_init(&own.lock, NULL);
	own.context = NULL;
	own.n_streams = 0;
	own.is_refused = false;
}

bool clv_cuda_green_contains(void *stream)
{
	void *context = own.context, *green = NULL;

	return context &&
	       clv_cuda.cuStreamGetGreenCtx(stream, &green) == CLV_CUDA_SUCCESS &&
	       green == context;
}

void *clv_cuda_context_of(void *stream)
{
	struct clv_cuda_subcontext subcontext;
	void *context = NULL;

	if (clv_cuda_green_contains(stream))
		return clv_cuda_primary(CLV_CUDA_PART_DEVICE);
	if (clv_cuda_subcontext_of_stream(stream, &subcontext))
		return subcontext.primary;
	clv_cuda.cuStreamGetCtx(stream, &context);
	return context;
}

int clv_own_cuStreamGetCtx(
	clv_fn_cuStreamGetCtx *real, bool is_per_thread, void *stream, void *ret_context)
{
	int r = real(stream, ret_context);

	(void)is_per_thread;
	if (r == CLV_CUDA_SUCCESS && clv_cuda_green_contains(stream))
		*(void **)ret_context = clv_cuda_primary(CLV_CUDA_PART_DEVICE);
	return r;
}

int clv_own_cuStreamGetCtx_v2(clv_fn_cuStreamGetCtx_v2 *real, bool is_per_thread,
	void *stream, void *ret_context, void *ret_green)
{
	int r = real(stream, ret_context, ret_green);

	(void)is_per_thread;
	if (r == CLV_CUDA_SUCCESS && clv_cuda_green_contains(stream)) {
		*(void **)ret_context = clv_cuda_primary(CLV_CUDA_PART_DEVICE);
		*(void **)ret_green = NULL;
	}
	return r;
}

static bool is_primary_current(void)
{
	void *context = NULL;

	return clv_cuda.cuCtxGetCurrent(&context) == CLV_CUDA_SUCCESS && context &&
	       context == clv_cuda_primary(CLV_CUDA_PART_DEVICE);
}

/* With the lock held until the stream exists and is counted, so that no other thread
 * destroys the context meanwhile. */
static bool create(void *ret, uint32_t flags, int priority, uint32_t *ret_count)
{
	void *green;
	bool is_created;

	pthread_mutex_lock(&own.lock);
	green = get_context();
	is_created = green && clv_cuda.cuGreenCtxStreamCreate(
				      ret, green, flags, priority) == CLV_CUDA_SUCCESS;
	own.n_streams += is_created;
	*ret_count = own.count;
	pthread_mutex_unlock(&own.lock);
	return is_created;
}

/* False: the stream is to be created by the program's own call. */
static bool create_in_part(void *ret, uint32_t flags, int priority)
{
	uint32_t count;

	if (clv_sm_limit_get().ppm == 0 || flags != CLV_CUDA_STREAM_NON_BLOCKING ||
		!is_primary_current() || clv_cuda_part_is_of_mps() ||
		!create(ret, flags, priority, &count))
		return false;
	clv_sm_tell(CLV_ATTACH_SM_GREEN, count);
	return true;
}

static bool is_blocking(uint32_t flags)
{
	return !(flags & CLV_CUDA_STREAM_NON_BLOCKING);
}

int clv_own_cuStreamCreate(clv_fn_cuStreamCreate *real, void *ret, uint32_t flags)
{
	return create_in_part(ret, flags, 0)
		       ? CLV_CUDA_SUCCESS
		       : clv_legacy_note_created(real(ret, flags), is_blocking(flags));
}

int clv_own_cuStreamCreateWithPriority(
	clv_fn_cuStreamCreateWithPriority *real, void *ret, uint32_t flags, int priority)
{
	return create_in_part(ret, flags, priority)
		       ? CLV_CUDA_SUCCESS
		       : clv_legacy_note_created(
				 real(ret, flags, priority), is_blocking(flags));
}

void clv_cuda_green_report_outside(void *stream)
{
	void *context = clv_cuda_context_of(stream);
	enum clv_attach_sm state = CLV_ATTACH_SM_OTHER_STREAM;

	if (context != clv_cuda_primary(CLV_CUDA_PART_DEVICE))
		state = CLV_ATTACH_SM_OTHER_CONTEXT;
	else if (!clv_cuda_green())
		state = CLV_ATTACH_SM_NO_MEANS;
	clv_sm_tell(state, 0);
}
