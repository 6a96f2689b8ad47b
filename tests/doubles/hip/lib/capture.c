/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

/* Capture: work submitted to streams becomes the nodes of a graph. A stream joins a
 * capture by waiting for an event that was recorded in it. */

enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED };
enum { STATUS_NONE, STATUS_ACTIVE, STATUS_INVALIDATED };

struct capture {
	struct graph *graph;
	struct stream *origin, *streams; /* streams: all that are part of it */
	int mode;
	pthread_t thread;
	bool is_spoilt;
	unsigned long long id;
	struct capture *next;
};

static struct capture *captures;
static _Atomic int n_captures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct graph *dhi_capture_graph(struct stream *s)
{
	return s->capture->graph;
}

static void join(struct stream *s, struct capture *c)
{
	s->capture = c;
	s->n_frontier = 0;
	s->next_captured = c->streams;
	c->streams = s;
}

static void set_frontier(struct stream *s, struct node *node)
{
	s->frontier[0] = node;
	s->n_frontier = 1;
}

static void add_to_frontier(struct stream *s, struct node *node)
{
	for (int i = 0; i < s->n_frontier; i++)
		if (s->frontier[i] == node)
			return;
	if (s->n_frontier < FRONTIER_MAX)
		s->frontier[s->n_frontier++] = node;
}

int dhi_capture_add(struct stream *s, const struct op *op)
{
	struct capture *c = s->capture;

	if (c->is_spoilt)
		return HIP_CAPTURE_INVALIDATED;
	if (op->kind == OP_AWAIT || op->kind == OP_WRITE)
		return HIP_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&lock);
	set_frontier(s, dhi_graph_add(c->graph, s->frontier, (size_t)s->n_frontier, op));
	if (op->kind == OP_GRAPH)
		op->graph->owner = c->graph;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* --- Calls that are forbidden during a capture --- */

static bool is_blocking(const struct stream *s)
{
	return !(s->flags & STREAM_NON_BLOCKING);
}

int dhi_capture_check(const struct stream *s)
{
	int r = 0;

	if (!n_captures || s != s->device->null)
		return 0;
	pthread_mutex_lock(&lock);
	for (struct capture *c = captures; c; c = c->next) {
		if (!is_blocking(c->origin) || c->origin->device != s->device)
			continue;
		c->is_spoilt = true;
		r = HIP_CAPTURE_IMPLICIT;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

static bool forbids(const struct capture *c)
{
	bool is_mine = pthread_equal(c->thread, pthread_self());

	if (dhi_thread.capture_mode == MODE_RELAXED || c->mode == MODE_RELAXED)
		return false;
	return is_mine ||
	       (c->mode == MODE_GLOBAL && dhi_thread.capture_mode == MODE_GLOBAL);
}

int dhi_capture_is_unsafe(void)
{
	int r = 0;

	if (!n_captures)
		return 0;
	pthread_mutex_lock(&lock);
	for (struct capture *c = captures; c; c = c->next) {
		if (!forbids(c))
			continue;
		c->is_spoilt = true;
		r = HIP_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* --- Events --- */

bool dhi_capture_record(struct stream *s, struct event *event)
{
	if (!s->capture)
		return false;
	pthread_mutex_lock(&lock);
	event->capture = s->capture;
	memcpy(event->captured, s->frontier, sizeof(s->frontier));
	event->n_captured = s->n_frontier;
	pthread_mutex_unlock(&lock);
	return true;
}

static int wait_captured(struct stream *s, const struct event *event)
{
	struct capture *c = event->capture;

	if (s->capture && s->capture != c)
		return HIP_CAPTURE_ISOLATION;
	if (!s->capture)
		join(s, c);
	for (int i = 0; i < event->n_captured; i++)
		add_to_frontier(s, event->captured[i]);
	return 0;
}

static bool is_running(const struct capture *wanted)
{
	for (const struct capture *c = captures; c; c = c->next)
		if (c == wanted)
			return true;
	return false;
}

bool dhi_capture_wait(struct stream *s, struct event *event, int *ret)
{
	bool mine = false;

	if (!n_captures)
		return false;
	pthread_mutex_lock(&lock);
	if (event->capture && is_running(event->capture)) {
		*ret = wait_captured(s, event);
		mine = true;
	} else if (s->capture) {
		s->capture->is_spoilt = true;
		*ret = HIP_CAPTURE_ISOLATION;
		mine = true;
	}
	pthread_mutex_unlock(&lock);
	return mine;
}

/* --- Beginning and end --- */

int dhi_hipStreamBeginCapture(struct stream *handle, int mode)
{
	static unsigned long long last_id;
	struct stream *s = dhi_stream(handle);
	struct capture *c;

	if (!s || mode < 0 || mode > 2)
		return HIP_INVALID_VALUE;
	if (s == s->device->null)
		return HIP_CAPTURE_UNSUPPORTED;
	if (s->capture)
		return HIP_ILLEGAL_STATE;
	c = calloc(1, sizeof(*c));
	c->graph = dhi_graph_new();
	c->origin = s;
	c->mode = mode;
	c->thread = pthread_self();
	pthread_mutex_lock(&lock);
	c->id = ++last_id;
	c->next = captures;
	captures = c;
	n_captures++;
	join(s, c);
	pthread_mutex_unlock(&lock);
	return 0;
}

static bool is_depended_on(const struct graph *graph, const struct node *node)
{
	for (const struct node *o = graph->nodes; o; o = o->next)
		for (size_t i = 0; i < o->n_deps; i++)
			if (o->deps[i] == node)
				return true;
	return false;
}

/* Whether all work of the other streams comes before the last work of the origin. */
static bool is_joined(const struct capture *c)
{
	for (const struct node *node = c->graph->nodes; node; node = node->next) {
		bool found = is_depended_on(c->graph, node);

		for (int i = 0; i < c->origin->n_frontier && !found; i++)
			found = c->origin->frontier[i] == node;
		if (!found)
			return false;
	}
	return true;
}

static void end(struct capture *c)
{
	for (struct stream *s = c->streams; s; s = s->next_captured)
		s->capture = NULL;
	for (struct capture **at = &captures; *at; at = &(*at)->next) {
		if (*at != c)
			continue;
		*at = c->next;
		break;
	}
	n_captures--;
}

int dhi_hipStreamEndCapture(struct stream *handle, struct graph **ret)
{
	struct stream *s = dhi_stream(handle);
	struct capture *c = s ? s->capture : NULL;
	int r = 0;

	if (!s || !ret)
		return HIP_INVALID_VALUE;
	if (!c)
		return HIP_ILLEGAL_STATE;
	if (c->origin != s)
		return HIP_CAPTURE_UNMATCHED;
	if (c->mode != MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
		return HIP_CAPTURE_WRONG_THREAD;
	pthread_mutex_lock(&lock);
	if (c->is_spoilt)
		r = HIP_CAPTURE_INVALIDATED;
	else if (!is_joined(c))
		r = HIP_CAPTURE_UNJOINED;
	end(c);
	pthread_mutex_unlock(&lock);
	*ret = r ? NULL : c->graph;
	if (r)
		dhi_graph_free(c->graph);
	free(c);
	return r;
}

static int status_of(const struct stream *s)
{
	if (!s->capture)
		return STATUS_NONE;
	return s->capture->is_spoilt ? STATUS_INVALIDATED : STATUS_ACTIVE;
}

int dhi_hipStreamIsCapturing(struct stream *handle, int *ret)
{
	const struct stream *s = dhi_stream(handle);

	if (!s || !ret)
		return HIP_INVALID_VALUE;
	*ret = status_of(s);
	return 0;
}

int dhi_hipThreadExchangeStreamCaptureMode(int *mode)
{
	int before = dhi_thread.capture_mode;

	if (!mode || *mode < 0 || *mode > 2)
		return HIP_INVALID_VALUE;
	dhi_thread.capture_mode = *mode;
	*mode = before;
	return 0;
}
