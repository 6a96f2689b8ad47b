/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/cuda/context/abi.h"

#include <stdbool.h>
#include <stdint.h>

/* The lease's multiprocessors, where it has a limit in space (gate/attach/sm.h); it has
 * one device then.  An MPS server holds a process to them if there is one.  Without it
 * they are those of a green context, in whose streams the program's non-blocking ones are
 * made; what it launches elsewhere nothing holds, and the agent is told. */

#define CLV_CUDA_PART_DEVICE 0 /* the only one */

/* Before the driver is begun: it reads the environment then. */
void clv_cuda_part_begin(void);

/* They as a resource.  False: the driver hands out none. */
bool clv_cuda_part_take(struct clv_cuda_resource *ret);

/* Whether an MPS server holds the context that is current. */
bool clv_cuda_part_is_of_mps(void);

/* Whether kernels in the stream keep to them. */
bool clv_cuda_part_has(void *stream);

/* A kernel became a node of a graph. */
void clv_cuda_part_node(void);
