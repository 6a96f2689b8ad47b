/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
#include "../../gpu/client/helper.h"
#include "copy.h"
#include "functions.h"
#include "graph.h"
#include <stdlib.h>
#include <string.h>

/* Stream capture. A forbidden call makes the capture invalid; then only its end is
 * allowed, and returns the error. */

enum { NONE, ACTIVE, INVALIDATED };

static _Atomic int n_all;

static int invalidate(struct capture *c, int why)
{
	c->is_invalid = true;
	return why;
}

int dcu_capture_forbids(struct stream *s)
{
	if (!s->capture)
		return dcu_capture_forbids_legacy(s);
	return invalidate(s->capture, DCU_CAPTURE_UNSUPPORTED);
}

/* --- Calls that are forbidden during a capture --- */

static bool is_meant(const struct capture *c)
{
	bool is_own = pthread_equal(c->thread, pthread_self());

	if (c->mode == 2 || dcu_thread.capture_mode == 2)
		return false;
	return is_own || (c->mode == 0 && dcu_thread.capture_mode == 0);
}

int dcu_capture_forbids_ctx(struct ctx *ctx)
{
	int r = 0;

	pthread_mutex_lock(&ctx->lock);
	for (struct stream *s = ctx->streams; s; s = s->next)
		if (s->capture)
			r = invalidate(s->capture, DCU_CAPTURE_UNSUPPORTED);
	pthread_mutex_unlock(&ctx->lock);
	return r;
}

int dcu_capture_is_unsafe(void)
{
	struct ctx *ctx = dcu_current();
	int r = 0;

	if (!atomic_load(&n_all) || !ctx)
		return 0;
	pthread_mutex_lock(&ctx->lock);
	for (struct stream *s = ctx->streams; s; s = s->next)
		if (s->capture && is_meant(s->capture))
			r = invalidate(s->capture, DCU_CAPTURE_UNSUPPORTED);
	pthread_mutex_unlock(&ctx->lock);
	return r;
}

int dcu_capture_forbids_legacy(struct stream *legacy)
{
	struct ctx *ctx = legacy->ctx;
	int r = 0;

	if (!atomic_load(&n_all) || legacy != &ctx->legacy)
		return 0;
	pthread_mutex_lock(&ctx->lock);
	for (struct stream *s = ctx->streams; s; s = s->next)
		if (s->capture && !(s->flags & DCU_STREAM_NON_BLOCKING))
			r = invalidate(s->capture, DCU_CAPTURE_IMPLICIT);
	pthread_mutex_unlock(&ctx->lock);
	return r;
}

int dcu_cuThreadExchangeStreamCaptureMode(int *mode)
{
	int before = dcu_thread.capture_mode;

	if (!mode || *mode < 0 || *mode > 2)
		return DCU_INVALID_VALUE;
	dcu_thread.capture_mode = *mode;
	*mode = before;
	return 0;
}

/* --- Nodes --- */

static void stand_on(struct stream *s, struct node *const *nodes, size_t n)
{
	s->tips = realloc(s->tips, (n + 1) * sizeof(struct node *));
	if (n)
		memcpy(s->tips, nodes, n * sizeof(struct node *));
	s->n_tips = n;
}

static int add(struct stream *s, struct node_params *p)
{
	struct node *n;
	int r;

	if (s->capture->is_invalid)
		return DCU_CAPTURE_INVALIDATED;
	r = dcu_node_add(s->capture->graph, s->tips, s->n_tips, p, &n);
	if (r)
		return invalidate(s->capture, r);
	stand_on(s, &n, 1);
	return 0;
}

int dcu_capture_transfer(struct stream *s, struct transfer *t, bool is_async)
{
	struct node_params p = {.type = t->is_set ? DCU_NODE_SET : DCU_NODE_COPY};

	dgp_effect_free(t->effect);
	if (!is_async)
		return invalidate(s->capture, DCU_CAPTURE_UNSUPPORTED);
	if (t->is_set)
		p.set = t->set;
	else
		p.copy.copy = t->copy;
	return add(s, &p);
}

int dcu_capture_launch(struct stream *s, const struct launch *launch)
{
	struct node *n;

	if (s->capture->is_invalid)
		return DCU_CAPTURE_INVALIDATED;
	n = dcu_node_launch(s->capture->graph, s->tips, s->n_tips, launch);
	stand_on(s, &n, 1);
	return 0;
}

int dcu_capture_host(struct stream *s, const struct host_task *task)
{
	struct node_params p = {.type = DCU_NODE_HOST};

	p.host.fn = (host_fn)(uintptr_t)task->fn;
	p.host.user = task->user;
	return add(s, &p);
}

int dcu_capture_semaphores(struct stream *s, const struct semaphores_params *params)
{
	struct node_params p = {.type = DCU_NODE_AWAIT};

	p.semaphores = *params;
	return add(s, &p);
}

int dcu_capture_graph(struct stream *s, struct graph *graph)
{
	struct node_params p = {.type = DCU_NODE_GRAPH};

	p.graph = graph;
	return add(s, &p);
}

int dcu_capture_alloc(struct stream *s, size_t bytes, uint64_t *ret)
{
	struct node_params p = {.type = DCU_NODE_ALLOC};
	int r;

	p.alloc.bytes = bytes;
	p.alloc.pool.location.type = DCU_AT_DEVICE;
	p.alloc.pool.location.id = (int)(s->ctx->device - dcu_devices);
	r = add(s, &p);
	if (!r)
		*ret = p.alloc.address;
	return r;
}

int dcu_capture_free(struct stream *s, uint64_t address)
{
	struct node_params p = {.type = DCU_NODE_FREE};

	p.freed = address;
	return add(s, &p);
}

/* --- Events --- */

int dcu_capture_record(struct stream *s, struct event *e, bool is_external)
{
	struct node_params p = {.type = DCU_NODE_RECORD_EVENT};

	p.event = e;
	if (is_external)
		return add(s, &p);
	if (s->capture->is_invalid)
		return DCU_CAPTURE_INVALIDATED;
	e->capture = s->capture;
	e->tips = realloc(e->tips, (s->n_tips + 1) * sizeof(struct node *));
	memcpy(e->tips, s->tips, s->n_tips * sizeof(struct node *));
	e->n_tips = s->n_tips;
	return 0;
}

static int join(struct stream *s, const struct event *e)
{
	struct node **both;

	if (!s->capture) {
		s->capture = e->capture;
		stand_on(s, e->tips, e->n_tips);
		return 0;
	}
	if (s->capture != e->capture) {
		invalidate(s->capture, 0);
		return invalidate(e->capture, DCU_CAPTURE_MERGE);
	}
	both = calloc(s->n_tips + e->n_tips + 1, sizeof(*both));
	memcpy(both, s->tips, s->n_tips * sizeof(*both));
	memcpy(both + s->n_tips, e->tips, e->n_tips * sizeof(*both));
	stand_on(s, both, s->n_tips + e->n_tips);
	free(both);
	return 0;
}

int dcu_capture_wait(struct stream *s, struct event *e, bool is_external)
{
	struct node_params p = {.type = DCU_NODE_WAIT_EVENT};

	p.event = e;
	if (is_external && s->capture)
		return add(s, &p);
	if (e->capture && !e->capture->is_over)
		return s == &s->ctx->legacy ? invalidate(e->capture, DCU_CAPTURE_IMPLICIT)
					    : join(s, e);
	if (s->capture && e->recorded)
		return invalidate(s->capture, DCU_CAPTURE_ISOLATION);
	return e->capture ? DCU_CAPTURED_EVENT : 0;
}

int dcu_capture_event_forbids(struct event *e)
{
	if (!e->capture)
		return dcu_capture_is_unsafe();
	if (!e->capture->is_over)
		invalidate(e->capture, 0);
	return DCU_CAPTURED_EVENT;
}

/* --- From begin to end --- */

static int begin(struct stream *handle, int mode, struct graph *graph,
	struct node *const *tips, size_t n)
{
	struct capture *c;
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (mode < 0 || mode > 2)
		return DCU_INVALID_VALUE;
	if (s == &s->ctx->legacy)
		return DCU_CAPTURE_UNSUPPORTED;
	if (s->capture)
		return DCU_ILLEGAL_STATE;
	c = calloc(1, sizeof(*c));
	*c = (struct capture){.graph = graph ? graph : dcu_graph_new(),
		.origin = s,
		.mode = mode,
		.thread = pthread_self(),
		.id = dcu_new_id()};
	atomic_fetch_add(&n_all, 1);
	s->capture = c;
	stand_on(s, tips, n);
	return 0;
}

int dcu_cuStreamBeginCapture_v2(struct stream *stream, int mode)
{
	return begin(stream, mode, NULL, NULL, 0);
}

int dcu_cuStreamBeginCapture(struct stream *stream)
{
	return begin(stream, 0, NULL, NULL, 0);
}

int dcu_cuStreamBeginCaptureToGraph(struct stream *stream, struct graph *graph,
	struct node *const *after, const struct edge *edges, size_t n, int mode)
{
	if (!dcu_is_graph(graph) || (n && !after))
		return DCU_INVALID_VALUE;
	return begin(stream, mode, graph, after, n);
}

static bool reaches(const struct stream *s, const struct node *node)
{
	for (size_t i = 0; i < s->n_tips; i++)
		if (dcu_node_comes_after(s->tips[i], node))
			return true;
	return false;
}

/* Whether all work of the other streams comes before the last work of the origin. */
static bool is_joined(const struct capture *c)
{
	for (const struct stream *s = c->origin->ctx->streams; s; s = s->next)
		for (size_t i = 0; s->capture == c && i < s->n_tips; i++)
			if (!reaches(c->origin, s->tips[i]))
				return false;
	return true;
}

static int end(struct capture *c)
{
	int r = c->is_invalid ? DCU_CAPTURE_INVALIDATED : 0;

	if (!r && !is_joined(c))
		r = DCU_CAPTURE_UNJOINED;
	for (struct stream *s = c->origin->ctx->streams; s; s = s->next)
		if (s->capture == c)
			s->capture = NULL;
	c->is_over = true;
	atomic_fetch_sub(&n_all, 1);
	return r;
}

int dcu_cuStreamEndCapture(struct stream *handle, struct graph **ret)
{
	struct capture *c;
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!ret)
		return DCU_INVALID_VALUE;
	*ret = NULL;
	c = s->capture;
	if (!c)
		return DCU_ILLEGAL_STATE;
	if (c->origin != s)
		return invalidate(c, DCU_CAPTURE_UNMATCHED);
	if (c->mode != 2 && !pthread_equal(c->thread, pthread_self()))
		return DCU_CAPTURE_WRONG_THREAD;
	pthread_mutex_lock(&s->ctx->lock);
	r = end(c);
	pthread_mutex_unlock(&s->ctx->lock);
	if (!r)
		*ret = c->graph;
	return r;
}

/* --- Questions --- */

static int status_of(const struct stream *s)
{
	if (!s->capture)
		return NONE;
	return s->capture->is_invalid ? INVALIDATED : ACTIVE;
}

int dcu_cuStreamIsCapturing(struct stream *handle, int *ret)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!ret)
		return DCU_INVALID_VALUE;
	r = dcu_capture_forbids_legacy(s);
	if (!r)
		*ret = status_of(s);
	return r;
}

int dcu_cuStreamGetCaptureInfo_v2(struct stream *handle, int *ret_status,
	uint64_t *ret_id, struct graph **ret_graph, struct node *const **ret_tips,
	size_t *ret_n)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!ret_status)
		return DCU_INVALID_VALUE;
	*ret_status = status_of(s);
	if (*ret_status != ACTIVE)
		return 0;
	if (ret_id)
		*ret_id = s->capture->id;
	if (ret_graph)
		*ret_graph = s->capture->graph;
	if (ret_tips)
		*ret_tips = s->tips;
	if (ret_n)
		*ret_n = s->n_tips;
	return 0;
}
