/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The gate's green context beside the primary one, which is current (part.h); made at the
 * first call.  NULL: there is no limit, or no such context. */
void *clv_cuda_green(void);

/* The context of a stream, as the program knows it. */
void *clv_cuda_context_of(void *stream);

/* Whether the stream is in it; and one of these is gone: whether that was the last. */
bool clv_cuda_green_has(void *stream);
bool clv_cuda_green_left(void);

/* Whether there is any such stream. */
bool clv_cuda_green_is_used(void);

/* The primary context is about to end, which it would keep. */
void clv_cuda_green_end(void);

/* A kernel is launched in a stream that does not keep to the limit. */
void clv_cuda_green_past(void *stream);

void clv_cuda_green_forget_parent(void);
