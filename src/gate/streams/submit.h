/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/queue/custody.h"
#include "gate/streams/copies.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_queue;
struct clv_view;

/* One call that submits work to a stream: begin, the driver's call, end. */
struct clv_stream_submission {
	struct clv_view *view; /* NULL: the call is passed on uncounted */
	struct clv_queue *queue;
	struct clv_custody custody;
	uint64_t packed;
	uint64_t kind;
	struct clv_copy *copy; /* not NULL: an uncounted copy, without a turn */
	void *stream;
	bool is_blocking; /* complete when the call returns */
};

/* Waits for the turn.  Returns CLV_STREAM_SUCCESS, or the error that the program gets in
 * place of its call.  stream is the program's argument. */
int clv_stream_submission_begin(struct clv_stream_submission *submission, void *stream,
	bool is_per_thread, uint64_t kind, bool is_blocking);

/* The same for kernels. */
int clv_stream_launch_begin(struct clv_stream_submission *submission, void *stream,
	bool is_per_thread, uint64_t kind, bool is_blocking);

/* The same for copies that may be between the host and a device, and are not complete
 * when the call returns. */
int clv_stream_copy_begin(struct clv_stream_submission *submission, void *stream,
	bool is_per_thread, uint64_t kind, const struct clv_stream_copy *copy);

/* Books the outcome and returns it. */
int clv_stream_submission_end(struct clv_stream_submission *submission, int result);
