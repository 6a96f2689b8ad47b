/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "functions.h"
#include "objects.h"
#include <stdlib.h>

/* Streams, including the two default streams. */

#define GREATEST (-5)

/* Each thread has its own default stream in each context in which it uses one. */
static __thread struct {
	struct ctx *ctx;
	uint64_t ctx_id;
	struct stream *stream;
} own[16];

int dcu_stream_open(struct ctx *ctx, unsigned flags, int priority, struct stream **ret)
{
	struct stream *s = calloc(1, sizeof(*s));
	uint32_t slot_flags = flags & DCU_STREAM_NON_BLOCKING ? 0 : DGP_SLOT_BLOCKING;

	*s = (struct stream){.magic = DCU_IS_STREAM,
		.ctx = ctx,
		.flags = flags,
		.green = ctx->legacy.green,
		.priority = priority < GREATEST ? GREATEST
			    : priority > 0      ? 0
						: priority,
		.id = dcu_new_id()};
	s->slot = dgp_slot_open(ctx->number, slot_flags, s->priority);
	if (s->slot < 0) {
		free(s);
		return DCU_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&ctx->lock);
	s->next = ctx->streams;
	ctx->streams = s;
	pthread_mutex_unlock(&ctx->lock);
	*ret = s;
	return 0;
}

static struct stream *own_stream(struct ctx *ctx, int *ret)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (own[i].ctx == ctx && own[i].ctx_id == ctx->id)
			return own[i].stream;
		if (own[i].ctx && own[i].ctx->magic == DCU_IS_CTX)
			continue;
		*ret = dcu_stream_open(ctx, 0, 0, &own[i].stream);
		if (*ret)
			return NULL;
		own[i].ctx = ctx;
		own[i].ctx_id = ctx->id;
		return own[i].stream;
	}
	*ret = DCU_OUT_OF_MEMORY;
	return NULL;
}

/* The stream of a green context that was destroyed: CUDA 13.1 lets only its end pass. */
static bool is_detached(const struct stream *s)
{
	return s->magic == DCU_IS_STREAM && s->green && s->ctx->magic != DCU_IS_CTX;
}

static int detached(void)
{
	return dcu_version < 13010 ? DCU_CONTEXT_IS_DESTROYED : DCU_STREAM_DETACHED;
}

struct stream *dcu_stream(struct stream *handle, int *ret)
{
	struct ctx *ctx = dcu_current();
	bool per_thread = handle == (struct stream *)DCU_STREAM_IS_PER_THREAD ||
			  (!handle && dcu_thread.per_thread);

	*ret = DCU_INVALID_CONTEXT;
	if (!ctx)
		return NULL;
	*ret = 0;
	if (per_thread)
		return own_stream(ctx, ret);
	if (!handle || handle == (struct stream *)DCU_STREAM_IS_LEGACY)
		return &ctx->legacy;
	if (handle->magic == DCU_IS_STREAM && handle->ctx->magic == DCU_IS_CTX)
		return handle;
	*ret = is_detached(handle) ? detached() : DCU_INVALID_HANDLE;
	return NULL;
}

int dcu_stream_push(struct stream *stream, struct dgp_cmd *cmd, uint64_t *ret_seq)
{
	int r = dcu_capture_forbids_legacy(stream);

	return r ? r : dgp_push(stream->slot, &stream->ctx->order, cmd, ret_seq);
}

int dcu_cuStreamCreateWithPriority(struct stream **ret, unsigned flags, int priority)
{
	struct ctx *ctx = dcu_current();

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!ret || flags & ~DCU_STREAM_NON_BLOCKING)
		return DCU_INVALID_VALUE;
	return dcu_stream_open(ctx, flags, priority, ret);
}

int dcu_cuStreamCreate(struct stream **ret, unsigned flags)
{
	return dcu_cuStreamCreateWithPriority(ret, flags, 0);
}

int dcu_cuStreamDestroy_v2(struct stream *stream)
{
	struct stream **at;

	if ((uintptr_t)stream <= DCU_STREAM_IS_PER_THREAD ||
		stream->magic != DCU_IS_STREAM || stream == &stream->ctx->legacy)
		return DCU_INVALID_HANDLE;
	if (is_detached(stream) && dcu_version < 13010)
		return DCU_CONTEXT_IS_DESTROYED;
	if (stream->ctx->magic != DCU_IS_CTX && !is_detached(stream))
		return DCU_INVALID_HANDLE;
	pthread_mutex_lock(&stream->ctx->lock);
	for (at = &stream->ctx->streams; *at && *at != stream; at = &(*at)->next)
		;
	if (*at)
		*at = stream->next;
	stream->magic = DCU_DEAD;
	pthread_mutex_unlock(&stream->ctx->lock);
	dgp_slot_close(stream->slot);
	return 0;
}

int dcu_cuStreamSynchronize(struct stream *handle)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	r = s ? dcu_capture_forbids(s) : r;
	return r ? r : dgp_await(s->slot, dgp_slot_tail(s->slot));
}

int dcu_cuStreamQuery(struct stream *handle)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	r = s ? dcu_capture_forbids(s) : r;
	if (r)
		return r;
	return dgp_is_done(s->slot, dgp_slot_tail(s->slot)) ? 0 : DCU_NOT_READY;
}

int dcu_cuStreamGetFlags(struct stream *handle, unsigned *ret)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (s)
		*ret = s->flags;
	return r;
}

int dcu_cuStreamGetCtx(struct stream *handle, struct ctx **ret)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (s)
		*ret = s->ctx;
	return r;
}
