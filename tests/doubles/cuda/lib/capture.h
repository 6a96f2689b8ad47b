/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "objects.h"

struct transfer;
struct launch;
struct host_task;
struct graph;

/* What would go into these streams becomes nodes of a graph.  Other streams join by
 * waiting for an event of it. */
struct capture {
	struct graph *graph;
	struct stream *origin;
	int mode; /* 0: global, 1: of the thread, 2: relaxed */
	pthread_t thread;
	uint64_t id;
	bool is_invalid, is_over;
};

/* 0, or what a call gets that must not be made while the stream is captured: the capture
 * is of no use any more. */
int dcu_capture_forbids(struct stream *stream);

/* The same for calls that look at all of a context's streams, whoever captures. */
int dcu_capture_forbids_ctx(struct ctx *ctx);

/* The same for calls that name no stream but might wait for one: it depends on who
 * captures and how. */
int dcu_capture_is_unsafe(void);

/* The same for the default stream, which would have to wait for those that are captured.
 */
int dcu_capture_forbids_legacy(struct stream *stream);

/* Make a node of what was about to go into a captured stream. */
int dcu_capture_transfer(struct stream *stream, struct transfer *t, bool is_async);
int dcu_capture_launch(struct stream *stream, const struct launch *launch);
int dcu_capture_host(struct stream *stream, const struct host_task *task);
int dcu_capture_semaphores(struct stream *stream, const struct semaphores_params *params);
int dcu_capture_graph(struct stream *stream, struct graph *graph);
int dcu_capture_alloc(struct stream *stream, size_t bytes, uint64_t *ret);
int dcu_capture_free(struct stream *stream, uint64_t address);
int dcu_capture_record(struct stream *stream, struct event *event, bool is_external);
/* Called if either is of a capture. */
int dcu_capture_wait(struct stream *stream, struct event *event, bool is_external);
/* What questions about an event of a capture get. */
int dcu_capture_event_forbids(struct event *event);
