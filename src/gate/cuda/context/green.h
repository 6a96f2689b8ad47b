/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The gate's green context beside the current primary one (part.h), created at the first
 * call.  NULL: there is no limit, or the driver creates no green context. */
void *clv_cuda_green(void);

/* The context that has a stream's events: the primary one for streams in any green
 * context. */
void *clv_cuda_context_of(void *stream);

/* Whether the stream is in the green context. */
bool clv_cuda_green_contains(void *stream);
/* To be called when a stream of it is gone.  True: it was the last one. */
bool clv_cuda_green_stream_removed(void);

/* Whether any stream is in the green context. */
bool clv_cuda_green_is_used(void);

/* Destroys the green context, which would keep the primary one alive.  To be called
 * before the primary context ends.  False: streams are in it, and with_streams is not
 * set. */
bool clv_cuda_green_end(bool with_streams);

/* Tells the agent of a kernel launch in a stream to which the limit does not apply. */
void clv_cuda_green_report_outside(void *stream);

void clv_cuda_green_forget_parent(void);
