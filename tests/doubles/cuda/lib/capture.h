/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "objects.h"

struct transfer;
struct launch;
struct host_task;
struct graph;

/* A capture: work submitted to its streams becomes nodes of a graph. Other streams join
 * by waiting for one of its events. */
struct capture {
	struct graph *graph;
	struct stream *origin;
	int mode; /* 0: global, 1: per thread, 2: relaxed */
	pthread_t thread;
	uint64_t id;
	bool is_invalid, is_over;
};

/* 0, or the error of a call that is forbidden while the stream is captured; the call
 * invalidates the capture. */
int dcu_capture_forbids(struct stream *stream);

/* The same for calls that concern all streams of a context, in any thread. */
int dcu_capture_forbids_ctx(struct ctx *ctx);

/* The same for calls that name no stream but might wait for one: the result depends on
 * the capturing thread and the mode. */
int dcu_capture_is_unsafe(void);

/* The same for the default stream, which would have to wait for the captured ones. */
int dcu_capture_forbids_legacy(struct stream *stream);

/* Add the work for a captured stream to the graph as a node. */
int dcu_capture_transfer(struct stream *stream, struct transfer *t, bool is_async);
int dcu_capture_launch(struct stream *stream, const struct launch *launch);
int dcu_capture_host(struct stream *stream, const struct host_task *task);
int dcu_capture_semaphores(struct stream *stream, const struct semaphores_params *params);
int dcu_capture_graph(struct stream *stream, struct graph *graph);
int dcu_capture_alloc(struct stream *stream, size_t bytes, uint64_t *ret);
int dcu_capture_free(struct stream *stream, uint64_t address);
int dcu_capture_record(struct stream *stream, struct event *event, bool is_external);
/* Called if the stream or the event is part of a capture. */
int dcu_capture_wait(struct stream *stream, struct event *event, bool is_external);
/* The error of a query for an event of a capture. */
int dcu_capture_event_forbids(struct event *event);
