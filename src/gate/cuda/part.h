/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/cuda/abi.h"

#include <stdbool.h>
#include <stdint.h>

/* The lease's multiprocessors, where it has a limit in space (gate/sm.h); it has one
 * device then.  An MPS server holds a process to them if there is one.  Without it they
 * are those of a green context, in whose streams the program's non-blocking ones are
 * made; what it launches elsewhere nothing holds, and the agent is told. */

#define CLV_CUDA_PART_DEVICE 0 /* the only one */

/* Before the driver is begun: it reads the environment then. */
void clv_cuda_part_begin(void);

/* They as a resource.  False: the driver hands out none. */
bool clv_cuda_part_take(struct clv_cuda_resource *ret);

/* Whether an MPS server holds the context that is current. */
bool clv_cuda_part_is_of_mps(void);

/* Of streams/driver.h. */
bool clv_cuda_part_has(void *stream);
void clv_cuda_part_past(void *stream);

/* A kernel became a node of a graph. */
void clv_cuda_part_node(void);

/* The device's primary context; NULL: it has none now. */
void *clv_cuda_primary(int device);

/* The gate's green context beside the primary one, which is current; made at the first
 * call.  NULL: there is no limit, or no such context. */
void *clv_cuda_green(void);

/* The context of a stream, as the program knows it. */
void *clv_cuda_context_of(void *stream);

/* Whether the stream is in it; and that one of these is gone. */
bool clv_cuda_green_has(void *stream);
void clv_cuda_green_left(void);

/* Whether there is any such stream. */
bool clv_cuda_green_is_used(void);

/* The primary context is about to end, which it would keep. */
void clv_cuda_green_end(void);

/* It has no streams any more: the primary context ends now if it was kept by it alone. */
void clv_cuda_primary_release_kept(void);
void clv_cuda_green_forget_parent(void);

/* Of events that processes share (stand.c). */
void clv_cuda_stand_forget_parent(void);
